//! Chat Completions: the shapes of its documentation, and of servers that only resemble it.

use serde_json::{Value, json};
use zot_host::{
    message::{Block, Role},
    provider::{Delta, Provider, Tokens},
};
use zot_protocol::{Content, Reasoning, StopReason, ToolId};

use super::{
    asking, events, in_any_pieces, joined, message, openai, sent, stop, text, user, whole,
};
use crate::support::{
    args,
    http::{Reply, Server},
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

/// An answer of one text.
pub(super) fn saying(words: &[&str]) -> String {
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

/// What an answer is decoded to.
async fn decoded(body: String) -> Vec<Delta> {
    let server = Server::with(vec![Reply::events(body)]).await;
    let request = asking(MODEL, vec![user("hi")]);
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
async fn a_text_in_any_pieces() {
    let deltas = in_any_pieces(openai, MODEL, &saying(&["Grüße", " 👋"])).await;
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
async fn tool_calls_in_any_pieces() {
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
    let deltas = joined(in_any_pieces(openai, MODEL, &body).await);
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

/// The ids, names and arguments of the calls in an answer.
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
async fn whole_calls_without_ids_or_numbers_get_an_id_each() {
    let call = |name: &str, args: Value| json!({"type": "function", "function": {"name": name, "arguments": args}});
    let both = json!({"tool_calls": [call("read", json!({"path": "a"})), call("read", json!("{\"path\":\"b\"}"))]});
    // It says `stop` though it calls, and never `[DONE]`.
    let deltas = decoded(events(&[chunk(&both, Some("stop"))])).await;
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
async fn calls_that_share_a_number_are_told_apart_by_their_ids() {
    let call = |id: &str| json!({"tool_calls": [{"index": 0, "id": id, "function": {"name": "read", "arguments": "{}"}}]});
    let deltas = decoded(done(&[
        chunk(&call("a"), None),
        chunk(&call("b"), None),
        chunk(&json!({}), Some("tool_calls")),
    ]))
    .await;
    let ids: Vec<_> = calls(&deltas).into_iter().map(|(id, ..)| id.0).collect();
    assert_eq!(ids, ["a", "b"]);
}

#[tokio::test]
async fn a_name_may_come_late_and_everything_twice() {
    let deltas = decoded(done(&[
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
async fn servers_that_say_less_are_understood() {
    // No usage, no role, thoughts beside the text, and no reason before the end.
    let deltas = decoded(done(&[
        json!({"choices": [{"delta": {"reasoning_content": "Hm", "content": null}}]}),
        json!({"choices": [{"delta": {"reasoning": ", well"}}]}),
        json!({"choices": [{"delta": {"content": "yes"}}]}),
    ]))
    .await;
    assert_eq!(
        deltas,
        [
            Delta::Thinking("Hm, well".into()),
            Delta::Text("yes".into()),
            stop(StopReason::EndTurn)
        ]
    );
    // Usage with every chunk is told when it changes.
    let counted = |output: u64| json!({"choices": [{"delta": {"content": "x"}}], "usage": {"prompt_tokens": 3, "completion_tokens": output}});
    let deltas = decoded(done(&[counted(1), counted(1), counted(2)])).await;
    assert_eq!(
        deltas
            .iter()
            .filter(|delta| matches!(delta, Delta::Usage(_)))
            .count(),
        2
    );
}

#[tokio::test]
async fn a_length_that_was_reached_is_said() {
    let deltas = decoded(done(&[chunk(
        &json!({"content": "and th"}),
        Some("length"),
    )]))
    .await;
    assert_eq!(deltas.last(), Some(&stop(StopReason::Length)));
}

#[tokio::test]
async fn a_transcript_is_sent_in_its_words() {
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
    let request = asking(
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
    let got = sent(openai, &saying(&["ok"]), request).await;
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
        got.body,
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
                {"role": "user", "content": [{"type": "text", "text": "(images of the tool results above)"}, png]},
                {"role": "user", "content": "go on"},
            ],
        })
    );
}

#[tokio::test]
async fn effort_is_asked_only_of_models_that_know_it() {
    use Reasoning::{High, Off};
    for (model, reasoning, effort) in [
        ("gpt-5.2", None, Value::Null),
        ("gpt-5.2", Some(High), json!("high")),
        ("gpt-5.2", Some(Off), json!("none")),
        ("gpt-5", Some(Off), json!("minimal")),
        ("o3", Some(Off), json!("low")),
        // It takes tools only without thinking.
        ("gpt-6-sol", Some(High), json!("none")),
        ("gpt-4o", Some(High), Value::Null),
        ("anything", Some(High), Value::Null),
    ] {
        let mut request = asking(model, vec![user("hi")]);
        request.reasoning = reasoning;
        request.max_output = Some(9);
        let got = sent(openai, &saying(&["ok"]), request).await;
        assert_eq!(
            got.body["reasoning_effort"], effort,
            "{model} {reasoning:?}"
        );
        assert_eq!(
            got.body["max_tokens"], 9,
            "a server that is not the original"
        );
    }
}
