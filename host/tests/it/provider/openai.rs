//! The Chat Completions API, tested with the documented events and with those of compatible
//! servers.

use serde_json::{Value, json};
use zot_host::{
    message::{Block, Role},
    provider::{Delta, Provider, Tokens},
};
use zot_protocol::{Content, Reasoning, StopReason, ToolId};

use super::{
    decode_in_any_chunks, events, joined, message, openai, received_request, request_to, stop,
    text, user, whole,
};
use crate::support::{
    args,
    replies::{Reply, Server},
};

const MODEL: &str = "gpt-5.2";

fn chunk(delta: &Value, finish: Option<&str>) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": MODEL, "usage": null,
        "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}],
    })
}

fn usage() -> Value {
    json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [], "usage": {
        "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120,
        "prompt_tokens_details": {"cached_tokens": 64, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 5},
    }})
}

fn done(chunks: &[Value]) -> String {
    events(chunks) + "data: [DONE]\n\n"
}

/// A streamed answer that contains only text.
pub(super) fn text_answer(words: &[&str]) -> String {
    let mut all = vec![chunk(
        &json!({"role": "assistant", "content": "", "refusal": null}),
        None,
    )];
    all.extend(
        words
            .iter()
            .map(|word| chunk(&json!({"content": word}), None)),
    );
    all.extend([chunk(&json!({}), Some("stop")), usage()]);
    done(&all)
}

/// Returns the merged deltas of an answer.
async fn decode(body: String) -> Vec<Delta> {
    let server = Server::with(vec![Reply::events(body)]);
    let request = request_to(MODEL, vec![user("hi")]);
    joined(whole(openai(&server.url).stream(request)).await)
}

fn called(id: &str, name: &str, args: &str) -> [Delta; 2] {
    [
        Delta::ToolStart {
            id: id.into(),
            name: name.into(),
        },
        Delta::ToolArgs {
            id: id.into(),
            delta: args.into(),
        },
    ]
}

#[tokio::test]
async fn text_is_decoded_in_any_chunks() {
    let deltas = decode_in_any_chunks(openai, MODEL, &text_answer(&["Grüße", " 👋"])).await;
    assert_eq!(
        deltas,
        [
            Delta::Text("Grüße".into()),
            Delta::Text(" 👋".into()),
            Delta::Usage(Tokens {
                input: 36,
                output: 20,
                cache_read: 64,
                cache_write: 0
            }),
            stop(StopReason::EndTurn),
        ]
    );
}

#[tokio::test]
async fn tool_calls_are_decoded_in_any_chunks() {
    let call = |call: Value| chunk(&json!({"tool_calls": [call]}), None);
    let body = done(&[
        call(
            json!({"index": 0, "id": "call_a", "type": "function", "function": {"name": "read", "arguments": ""}}),
        ),
        call(json!({"index": 0, "function": {"arguments": "{\"path\":"}})),
        call(json!({"index": 0, "function": {"arguments": "\"ä\"}"}})),
        call(
            json!({"index": 1, "id": "call_b", "type": "function", "function": {"name": "list", "arguments": ""}}),
        ),
        chunk(&json!({}), Some("tool_calls")),
        usage(),
    ]);
    let deltas = joined(decode_in_any_chunks(openai, MODEL, &body).await);
    let mut expected = called("call_a", "read", "{\"path\":\"ä\"}").to_vec();
    expected.push(Delta::ToolStart {
        id: "call_b".into(),
        name: "list".into(),
    });
    expected.push(Delta::Usage(Tokens {
        input: 36,
        output: 20,
        cache_read: 64,
        cache_write: 0,
    }));
    expected.push(Delta::ToolEnd {
        id: "call_a".into(),
    });
    expected.push(Delta::ToolArgs {
        id: "call_b".into(),
        delta: "{}".into(),
    });
    expected.push(Delta::ToolEnd {
        id: "call_b".into(),
    });
    expected.push(stop(StopReason::ToolUse));
    assert_eq!(deltas, expected);
}

/// The ids, names and arguments of all tool calls in an answer.
fn calls(deltas: &[Delta]) -> Vec<(ToolId, String, String)> {
    let starts = deltas.iter().filter_map(|delta| match delta {
        Delta::ToolStart { id, name } => Some((id.clone(), name.clone())),
        _ => None,
    });
    starts
        .map(|(id, name)| {
            let args = deltas.iter().filter_map(|delta| match delta {
                Delta::ToolArgs { id: of, delta } if *of == id => Some(delta.as_str()),
                _ => None,
            });
            let args = args.collect();
            (id, name, args)
        })
        .collect()
}

#[tokio::test]
async fn complete_tool_calls_without_ids_get_unique_ids() {
    let call = |name: &str, args: Value| json!({"type": "function", "function": {"name": name, "arguments": args}});
    let both = json!({"tool_calls": [call("read", json!({"path": "a"})), call("read", json!("{\"path\":\"b\"}"))]});
    // This server finishes with `stop` despite the calls, and never sends `[DONE]`.
    let deltas = decode(events(&[chunk(&both, Some("stop"))])).await;
    let calls = calls(&deltas);
    let [(one, _, first), (two, _, second)] = &calls[..] else {
        panic!("{deltas:?}");
    };
    assert_ne!(one, two);
    assert_eq!(
        (first.as_str(), second.as_str()),
        ("{\"path\":\"a\"}", "{\"path\":\"b\"}")
    );
    assert_eq!(deltas.last(), Some(&stop(StopReason::ToolUse)));
}

#[tokio::test]
async fn tool_calls_with_the_same_index_are_distinguished_by_id() {
    let call = |id: &str| json!({"tool_calls": [{"index": 0, "id": id, "function": {"name": "read", "arguments": "{}"}}]});
    let deltas = decode(done(&[
        chunk(&call("a"), None),
        chunk(&call("b"), None),
        chunk(&json!({}), Some("tool_calls")),
    ]))
    .await;
    let ids: Vec<_> = calls(&deltas).into_iter().map(|(id, ..)| id.0).collect();
    assert_eq!(ids, ["a", "b"]);
}

#[tokio::test]
async fn a_tool_name_may_arrive_late_or_repeatedly() {
    let deltas = decode(done(&[
        chunk(&json!({"tool_calls": [{"index": 0, "id": "a", "function": {"arguments": "{\"x\""}}]}), None),
        chunk(&json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "read", "arguments": ":1"}}]}), None),
        chunk(&json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "read", "arguments": "}"}}]}), None),
        chunk(&json!({}), Some("tool_calls")),
    ]))
    .await;
    assert_eq!(
        calls(&deltas),
        [("a".into(), "read".into(), "{\"x\":1}".into())]
    );
}

#[tokio::test]
async fn missing_optional_fields_are_tolerated() {
    // The answer has reasoning fields, but no usage, role or finish reason.
    let deltas = decode(done(&[
        json!({"choices": [{"delta": {"reasoning_content": "Hm", "content": null}}]}),
        json!({"choices": [{"delta": {"reasoning": ", well"}}]}),
        json!({"choices": [{"delta": {"content": "yes"}}]}),
    ]))
    .await;
    assert_eq!(
        deltas,
        [
            Delta::Thinking("Hm, well".into()),
            Delta::ThinkingEnd(Some(format!("{MODEL} reasoning"))),
            Delta::Text("yes".into()),
            stop(StopReason::EndTurn)
        ]
    );
    // Usage repeated in every chunk is reported only when it changes.
    let counted = |output: u64| json!({"choices": [{"delta": {"content": "x"}}], "usage": {"prompt_tokens": 3, "completion_tokens": output}});
    let deltas = decode(done(&[counted(1), counted(1), counted(2)])).await;
    assert_eq!(
        deltas
            .iter()
            .filter(|delta| matches!(delta, Delta::Usage(_)))
            .count(),
        2
    );
}

#[tokio::test]
async fn finish_reason_length_is_reported() {
    let deltas = decode(done(&[chunk(
        &json!({"content": "and th"}),
        Some("length"),
    )]))
    .await;
    assert_eq!(deltas.last(), Some(&stop(StopReason::Length)));
}

#[tokio::test]
async fn a_transcript_becomes_a_chat_completions_request() {
    let image = || Block::Image {
        mime_type: "image/png".into(),
        data: "aGk=".into(),
    };
    let call = |id: &str| Block::ToolCall {
        id: id.into(),
        name: "read".into(),
        args: args(json!({"b": 1, "a": 2})),
    };
    let result = |id: &str, is_error, content| Block::ToolResult {
        call_id: id.into(),
        is_error,
        content,
    };
    let request = request_to(
        MODEL,
        vec![
            message(Role::User, vec![text("look"), image()]),
            message(
                Role::Assistant,
                vec![
                    Block::Thinking {
                        text: "hm".into(),
                        signature: Some("s".into()),
                    },
                    call("a"),
                    call("b"),
                ],
            ),
            message(
                Role::Tool,
                vec![result(
                    "a",
                    false,
                    vec![Content::image("image/png", "aGk=")],
                )],
            ),
            message(
                Role::Tool,
                vec![result(
                    "b",
                    true,
                    vec![Content::text("x"), Content::text("y")],
                )],
            ),
            user("go on"),
        ],
    );
    let got = received_request(openai, &text_answer(&["ok"]), request).await;
    assert!(
        got.head
            .starts_with("POST /v1/chat/completions HTTP/1.1\r\n"),
        "{}",
        got.head
    );
    assert_eq!(
        got.header("authorization"),
        Some(&*format!("Bearer {}", super::CANARY))
    );
    let png = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}});
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "read", "arguments": "{\"b\":1,\"a\":2}"}});
    assert_eq!(
        got.json(),
        json!({
            "model": MODEL,
            "stream": true,
            "stream_options": {"include_usage": true},
            "tools": [{"type": "function", "function": {
                "name": "read", "description": "reads a file",
                "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
            }}],
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": [{"type": "text", "text": "look"}, png]},
                {"role": "assistant", "content": null, "tool_calls": [call("a"), call("b")]},
                {"role": "tool", "tool_call_id": "a", "content": "(an image, below)"},
                {"role": "tool", "tool_call_id": "b", "content": "error: x\ny"},
                {"role": "user", "content": [{"type": "text", "text": "(images from the tool results above)"}, png]},
                {"role": "user", "content": "go on"},
            ],
        })
    );
}

#[tokio::test]
async fn reasoning_effort_is_sent_only_to_models_that_support_it() {
    use Reasoning::{High, Off};
    for (model, reasoning, effort) in [
        ("gpt-5.2", None, Value::Null),
        ("gpt-5.2", Some(High), json!("high")),
        ("gpt-5.2", Some(Off), json!("none")),
        ("gpt-5", Some(Off), json!("minimal")),
        ("o3", Some(Off), json!("low")),
        ("gpt-6-sol", Some(High), json!("high")),
        ("gpt-4o", Some(High), Value::Null),
        // The effort is sent to unknown models too: only the server knows what they support.
        ("anything", Some(High), json!("high")),
        ("anything", None, Value::Null),
    ] {
        let mut request = request_to(model, vec![user("hi")]);
        request.reasoning = reasoning;
        let got = received_request(openai, &text_answer(&["ok"]), request).await;
        assert_eq!(
            got.json()["reasoning_effort"],
            effort,
            "{model} {reasoning:?}"
        );
    }
}

#[tokio::test]
async fn the_output_limit_has_the_name_that_the_server_accepts() {
    let wrong_name = |name: &str| {
        let message = format!("Unsupported parameter: '{name}' is not supported with this model.");
        Reply::error(
            400,
            &json!({"error": {"message": message, "param": name, "code": "unsupported_parameter"}}),
        )
    };
    for (model, first, second) in [
        ("gpt-4o", "max_tokens", "max_completion_tokens"),
        ("gpt-5.2", "max_completion_tokens", "max_tokens"),
    ] {
        let answer = Reply::events(text_answer(&["ok"]));
        let server = Server::with(vec![wrong_name(first), answer]);
        let provider = openai(&server.url);
        let mut request = request_to(model, vec![user("hi")]);
        request.max_output = Some(9);
        for _ in 0..2 {
            whole(provider.stream(request.clone())).await;
        }
        let got = server.got();
        let names = |n: usize| {
            let body = got[n].json();
            [first, second].map(|name| body[name].as_u64())
        };
        assert_eq!(names(0), [Some(9), None], "{model}");
        assert_eq!(names(1), [None, Some(9)], "{model}");
        assert_eq!(
            names(2),
            [None, Some(9)],
            "the server's answer is remembered"
        );
        assert_eq!(got.len(), 3);
    }
}

#[tokio::test]
async fn a_remark_from_zot_reaches_the_model_with_the_users_message() {
    let remark = Block::Remark {
        text: "Today is Friday.".into(),
    };
    let request = request_to(MODEL, vec![message(Role::User, vec![remark, text("hi")])]);
    let got = received_request(openai, &text_answer(&["ok"]), request).await;
    assert_eq!(
        got.json()["messages"][1],
        json!({"role": "user", "content": "Today is Friday.\n\nhi"})
    );
}

/// `DeepSeek` and Gemini reject a continued tool call without the data that came with it.
#[tokio::test]
async fn reasoning_and_signatures_are_sent_back_to_the_server_that_wrote_them() {
    let body = done(&[
        chunk(&json!({"reasoning_content": "I need "}), None),
        chunk(&json!({"reasoning_content": "the file."}), None),
        chunk(
            &json!({"tool_calls": [{
                "index": 0, "id": "call_a", "type": "function",
                "function": {"name": "read", "arguments": "{}"},
                "extra_content": {"google": {"thought_signature": "sealed"}},
            }]}),
            None,
        ),
        chunk(&json!({}), Some("tool_calls")),
    ]);
    let mut content = Vec::new();
    let mut thinking = String::new();
    for delta in decode(body).await {
        match delta {
            Delta::Thinking(text) => thinking += &text,
            Delta::ThinkingEnd(signature) => content.push(Block::Thinking {
                text: std::mem::take(&mut thinking),
                signature,
            }),
            Delta::ToolEnd { id } => content.push(Block::ToolCall {
                id,
                name: "read".to_owned(),
                args: args(json!({})),
            }),
            _ => {}
        }
    }
    let result = Block::ToolResult {
        call_id: "call_a".into(),
        is_error: false,
        content: vec![Content::text("x")],
    };
    let messages = vec![
        user("go"),
        message(Role::Assistant, content),
        message(Role::Tool, vec![result]),
    ];
    let sent = |model: &'static str| {
        let request = request_to(model, messages.clone());
        async move {
            let got = received_request(openai, &text_answer(&["ok"]), request).await;
            got.json()["messages"][2].clone()
        }
    };
    let same = sent(MODEL).await;
    assert_eq!(same["reasoning_content"], "I need the file.");
    let call = &same["tool_calls"][0];
    assert_eq!(
        call["extra_content"]["google"]["thought_signature"],
        "sealed"
    );
    let other = sent("gpt-4o").await;
    assert_eq!(
        other.get("reasoning_content"),
        None,
        "another model's reasoning"
    );
    assert_eq!(other["tool_calls"][0].get("extra_content"), None);
}
