//! The Anthropic Messages API, tested with the documented requests and events.

use serde_json::{Value, json};
use zot_host::{
    message::{Block, Role},
    provider::{Delta, Tokens},
};
use zot_protocol::{Content, Reasoning, StopReason};

use super::{
    Provider, Reply, Server, anthropic, decode_in_any_chunks, events, joined, message,
    received_request, request_to, stop, text, user, whole,
};
use crate::support::args;

const MODEL: &str = "claude-haiku-4-5";

fn start() -> Value {
    json!({"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "content": [],
        "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": 25, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 7, "output_tokens": 1},
    }})
}

fn piece(index: u64, delta: &Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn block(index: u64, block: &Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn block_end(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn end(reason: &str) -> [Value; 2] {
    [
        json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": {"output_tokens": 15}}),
        json!({"type": "message_stop"}),
    ]
}

/// A streamed answer with one text block.
pub(super) fn text_answer(words: &[&str]) -> String {
    let mut all = vec![start(), block(0, &json!({"type": "text", "text": ""}))];
    all.extend(
        words
            .iter()
            .map(|word| piece(0, &json!({"type": "text_delta", "text": word}))),
    );
    all.push(block_end(0));
    all.extend(end("end_turn"));
    events(&all)
}

#[tokio::test]
async fn text_is_decoded_in_any_chunks() {
    let mut body = text_answer(&["Grüße", " an ", "👋 alle"]);
    body.insert_str(
        0,
        "event: ping\ndata: {\"type\": \"ping\"}\n\n: a comment\n\n",
    );
    let deltas = decode_in_any_chunks(anthropic, MODEL, &body).await;
    assert_eq!(
        deltas,
        [
            Delta::Usage(Tokens {
                input: 25,
                output: 1,
                cache_read: 7,
                cache_write: 100
            }),
            Delta::Text("Grüße".into()),
            Delta::Text(" an ".into()),
            Delta::Text("👋 alle".into()),
            Delta::Usage(Tokens {
                input: 25,
                output: 15,
                cache_read: 7,
                cache_write: 100
            }),
            stop(StopReason::EndTurn),
        ]
    );
}

#[tokio::test]
async fn thinking_and_tool_calls_are_decoded_in_any_chunks() {
    let mut all = vec![
        start(),
        block(
            0,
            &json!({"type": "thinking", "thinking": "", "signature": ""}),
        ),
    ];
    all.push(piece(
        0,
        &json!({"type": "thinking_delta", "thinking": "Let me "}),
    ));
    all.push(piece(
        0,
        &json!({"type": "thinking_delta", "thinking": "see."}),
    ));
    all.push(piece(
        0,
        &json!({"type": "signature_delta", "signature": "EqQB"}),
    ));
    all.push(block_end(0));
    all.push(block(
        1,
        &json!({"type": "redacted_thinking", "data": "Emw="}),
    ));
    all.push(block_end(1));
    all.push(block(
        2,
        &json!({"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}}),
    ));
    for part in ["", "{\"path\"", ": \"ä", ".txt\"}"] {
        all.push(piece(
            2,
            &json!({"type": "input_json_delta", "partial_json": part}),
        ));
    }
    all.push(block_end(2));
    all.push(block(
        3,
        &json!({"type": "tool_use", "id": "toolu_2", "name": "list", "input": {}}),
    ));
    all.push(block_end(3));
    all.extend(end("tool_use"));
    let deltas = joined(decode_in_any_chunks(anthropic, MODEL, &events(&all)).await);
    let (one, two) = (|| "toolu_1".into(), || "toolu_2".into());
    assert_eq!(
        deltas[1..deltas.len() - 2],
        [
            Delta::Thinking("Let me see.".into()),
            Delta::ThinkingEnd(Some(format!("{MODEL} thinking EqQB"))),
            Delta::Thinking(String::new()),
            Delta::ThinkingEnd(Some(format!("{MODEL} redacted Emw="))),
            Delta::ToolStart {
                id: one(),
                name: "read".into()
            },
            Delta::ToolArgs {
                id: one(),
                delta: "{\"path\": \"ä.txt\"}".into()
            },
            Delta::ToolEnd { id: one() },
            Delta::ToolStart {
                id: two(),
                name: "list".into()
            },
            Delta::ToolArgs {
                id: two(),
                delta: "{}".into()
            },
            Delta::ToolEnd { id: two() },
        ]
    );
    assert_eq!(deltas.last(), Some(&stop(StopReason::ToolUse)));
}

#[tokio::test]
async fn every_stop_reason_is_mapped() {
    for (reason, expected) in [
        ("end_turn", StopReason::EndTurn),
        ("stop_sequence", StopReason::EndTurn),
        ("max_tokens", StopReason::Length),
        ("model_context_window_exceeded", StopReason::Length),
        ("tool_use", StopReason::ToolUse),
    ] {
        let mut all = vec![start()];
        all.extend(end(reason));
        let server = Server::with(vec![Reply::events(events(&all))]);
        let request = request_to(MODEL, vec![user("hi")]);
        let deltas = whole(anthropic(&server.url).stream(request)).await;
        assert_eq!(deltas.last(), Some(&stop(expected)), "{reason}");
    }
}

#[tokio::test]
async fn a_transcript_becomes_a_messages_request() {
    let image = || Block::Image {
        mime_type: "image/png".into(),
        data: "aGk=".into(),
    };
    let thought = |signature: &str| Block::Thinking {
        text: "hm".into(),
        signature: Some(signature.into()),
    };
    let call = Block::ToolCall {
        id: "functions.read:0".into(),
        name: "read".into(),
        args: args(json!({"path": "a"})),
    };
    let result = Block::ToolResult {
        call_id: "functions.read:0".into(),
        is_error: true,
        content: vec![
            Content::text("no such file"),
            Content::image("image/png", "aGk="),
            Content::text(""),
        ],
    };
    let request = request_to(
        MODEL,
        vec![
            message(Role::User, vec![text("look"), image()]),
            message(
                Role::Assistant,
                vec![
                    thought("claude-opus-5 thinking other"),
                    Block::Thinking {
                        text: "unsealed".into(),
                        signature: None,
                    },
                    thought("claude-haiku-4-5 thinking c2ln"),
                    thought("claude-haiku-4-5 redacted ZGF0YQ=="),
                    text(""),
                    call,
                ],
            ),
            message(Role::Tool, vec![result]),
            user("go on"),
        ],
    );
    let got = received_request(anthropic, &text_answer(&["ok"]), request).await;
    assert!(
        got.head.starts_with("POST /v1/messages HTTP/1.1\r\n"),
        "{}",
        got.head
    );
    assert_eq!(got.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(got.header("x-api-key"), Some(super::CANARY));
    let cache = json!({"type": "ephemeral"});
    let png = json!({"type": "base64", "media_type": "image/png", "data": "aGk="});
    assert_eq!(
        got.json(),
        json!({
            "model": MODEL,
            "max_tokens": 64000,
            "stream": true,
            "tools": [{
                "name": "read", "description": "reads a file", "cache_control": cache,
                "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}},
            }],
            "system": [{"type": "text", "text": "Be brief.", "cache_control": cache}],
            "messages": [
                {"role": "user", "content": [
                    {"type": "text", "text": "look"},
                    {"type": "image", "source": png, "cache_control": cache},
                ]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                    {"type": "redacted_thinking", "data": "ZGF0YQ=="},
                    {"type": "tool_use", "id": "functions_read_0", "name": "read", "input": {"path": "a"}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "functions_read_0", "is_error": true, "content": [
                        {"type": "text", "text": "no such file"}, {"type": "image", "source": png},
                    ]},
                    {"type": "text", "text": "go on", "cache_control": cache},
                ]},
            ],
        })
    );
}

#[tokio::test]
async fn reasoning_is_requested_in_the_form_each_model_supports() {
    use Reasoning::{High, Low, Off};
    let adaptive = json!({"type": "adaptive", "display": "summarized"});
    for (model, reasoning, thinking, effort) in [
        (MODEL, None, Value::Null, Value::Null),
        (MODEL, Some(Off), Value::Null, Value::Null),
        (
            MODEL,
            Some(High),
            json!({"type": "enabled", "budget_tokens": 32000}),
            Value::Null,
        ),
        ("claude-opus-4-6", None, Value::Null, Value::Null),
        ("claude-opus-4-6", Some(Low), adaptive.clone(), json!("low")),
        ("claude-opus-5", None, adaptive.clone(), Value::Null),
        (
            "claude-opus-5",
            Some(Off),
            json!({"type": "disabled"}),
            Value::Null,
        ),
        ("claude-opus-5-5", Some(Off), adaptive.clone(), json!("low")),
        (
            "claude-opus-5-5",
            Some(High),
            adaptive.clone(),
            json!("high"),
        ),
        // An unknown model is treated like the newest known one.
        (
            "claude-of-tomorrow",
            Some(High),
            adaptive.clone(),
            json!("high"),
        ),
    ] {
        let mut request = request_to(model, vec![user("hi")]);
        request.reasoning = reasoning;
        let got = received_request(anthropic, &text_answer(&["ok"]), request).await;
        assert_eq!(got.json()["thinking"], thinking, "{model} {reasoning:?}");
        assert_eq!(
            got.json()["output_config"]["effort"],
            effort,
            "{model} {reasoning:?}"
        );
    }
}

#[tokio::test]
async fn tool_results_without_prior_thinking_disable_thinking() {
    let call = Block::ToolCall {
        id: "c".into(),
        name: "read".into(),
        args: args(json!({})),
    };
    let result = Block::ToolResult {
        call_id: "c".into(),
        is_error: false,
        content: vec![],
    };
    let mut request = request_to(
        MODEL,
        vec![
            user("hi"),
            message(Role::Assistant, vec![call]),
            message(Role::Tool, vec![result]),
        ],
    );
    request.reasoning = Some(Reasoning::High);
    request.max_output = Some(10_000);
    let got = received_request(anthropic, &text_answer(&["ok"]), request).await;
    assert_eq!(got.json().get("thinking"), None);
    assert_eq!(got.json()["max_tokens"], 10_000);
}

#[tokio::test]
async fn a_base_url_may_include_the_version() {
    let with_version = |url: &str| anthropic(&format!("{url}/proxy/v1/"));
    let request = request_to(MODEL, vec![user("hi")]);
    let got = received_request(with_version, &text_answer(&["ok"]), request).await;
    assert!(
        got.head.starts_with("POST /proxy/v1/messages "),
        "{}",
        got.head
    );
}
