//! The Responses API, tested with the documented events.

use serde_json::{Value, json};
use zot_host::{
    message::{Block, Role},
    provider::{Delta, OpenAi, Provider, Responses, Tokens},
};
use zot_protocol::{Content, Reasoning, StopReason};
use zot_test_support::http::Request;

use super::{
    broken, catalogue, decode_in_any_chunks, endpoint, events, joined, message, received_request,
    request_to, responses, stop, text, user, whole,
};
use crate::support::{
    args,
    replies::{Reply, Server},
};

const MODEL: &str = "gpt-6.1-sol";

/// The events of a response with these output items.
fn response(items: &[Value], status: &str) -> String {
    let mut all = vec![json!({"type": "response.created", "response": {"status": "in_progress"}})];
    for (index, item) in items.iter().enumerate() {
        let mut begun = item.clone();
        begun["status"] = "in_progress".into();
        all.push(
            json!({"type": "response.output_item.added", "output_index": index, "item": begun}),
        );
        all.extend(pieces(item, index));
        all.push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
    }
    let reason = (status == "incomplete").then(|| json!({"reason": "max_output_tokens"}));
    all.push(json!({"type": format!("response.{status}"), "response": {
        "status": status, "output": items, "incomplete_details": reason,
        "usage": {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120,
            "input_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 10},
            "output_tokens_details": {"reasoning_tokens": 5}},
    }}));
    events(&all)
}

/// The delta events of an item.
fn pieces(item: &Value, index: usize) -> Vec<Value> {
    let delta = |kind: &str, text: &Value| json!({"type": kind, "output_index": index, "summary_index": 0, "delta": text});
    match item["type"].as_str() {
        Some("reasoning") => item["summary"]
            .as_array()
            .unwrap()
            .iter()
            .map(|part| delta("response.reasoning_summary_text.delta", &part["text"]))
            .collect(),
        Some("message") => vec![delta(
            "response.output_text.delta",
            &item["content"][0]["text"],
        )],
        _ => vec![delta(
            "response.function_call_arguments.delta",
            &item["arguments"],
        )],
    }
}

fn reasoning(id: &str, summary: &str) -> Value {
    json!({"type": "reasoning", "id": id, "encrypted_content": format!("sealed {id}"),
        "summary": [{"type": "summary_text", "text": summary}]})
}

fn said(text: &str) -> Value {
    json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}]})
}

fn call(id: &str) -> Value {
    json!({"type": "function_call", "id": "fc_1", "call_id": id, "name": "read", "arguments": "{\"path\":\"ä\"}"})
}

fn text_answer(words: &str) -> String {
    response(&[said(words)], "completed")
}

#[tokio::test]
async fn reasoning_text_and_calls_are_decoded_in_any_chunks() {
    let items = [reasoning("rs_1", "Hm, ä."), said("Grüße 👋"), call("c1")];
    let deltas = decode_in_any_chunks(responses, MODEL, &response(&items, "completed")).await;
    let sealed = format!("{MODEL} reasoning {}", items[0]);
    assert_eq!(
        joined(deltas),
        [
            Delta::Thinking("Hm, ä.".into()),
            Delta::ThinkingEnd(Some(sealed)),
            Delta::Text("Grüße 👋".into()),
            Delta::ToolStart {
                id: "c1".into(),
                name: "read".into()
            },
            Delta::ToolArgs {
                id: "c1".into(),
                delta: "{\"path\":\"ä\"}".into()
            },
            Delta::ToolEnd { id: "c1".into() },
            Delta::Usage(Tokens {
                input: 26,
                output: 20,
                cache_read: 64,
                cache_write: 10
            }),
            stop(StopReason::ToolUse),
        ]
    );
}

#[tokio::test]
async fn an_answer_at_the_output_limit_is_reported() {
    let server = Server::with(vec![Reply::events(response(
        &[said("and th")],
        "incomplete",
    ))]);
    let deltas = whole(responses(&server.url).stream(request_to(MODEL, vec![user("hi")]))).await;
    assert_eq!(deltas.last(), Some(&stop(StopReason::Length)));
}

#[tokio::test]
async fn a_failed_response_is_an_error_and_transient_if_the_server_failed() {
    let failed = |code: &str| {
        let error = json!({"code": code, "message": "oops"});
        events(&[
            json!({"type": "response.failed", "response": {"status": "failed", "error": error}}),
        ])
    };
    let event = |code: &str| events(&[json!({"type": "error", "code": code, "message": "oops"})]);
    for (body, is_transient) in [
        (failed("server_error"), true),
        (failed("rate_limit_exceeded"), true),
        (failed("invalid_prompt"), false),
        (event("server_error"), true),
        (event("invalid_prompt"), false),
    ] {
        let server = Server::with(vec![Reply::events(body)]);
        let request = request_to(MODEL, vec![user("hi")]);
        let (_, error) = broken(responses(&server.url).stream(request)).await;
        assert_eq!(error.to_string(), "openai: oops");
        assert_eq!(error.is_transient(), is_transient);
    }
}

#[tokio::test]
async fn a_transcript_becomes_a_request_with_unchanged_reasoning() {
    let image = || Block::Image {
        mime_type: "image/png".into(),
        data: "aGk=".into(),
    };
    let (first, second) = (reasoning("rs_1", "hm"), reasoning("rs_2", "so"));
    let sealed = |model: &str, item: &Value| Block::Thinking {
        text: "hm".into(),
        signature: Some(format!("{model} reasoning {item}")),
    };
    let called = |id: &str| Block::ToolCall {
        id: id.into(),
        name: "read".into(),
        args: args(json!({"b": 1, "a": 2})),
    };
    let result = |id: &str, is_error, content| Block::ToolResult {
        call_id: id.into(),
        is_error,
        content,
    };
    let results = vec![
        result("a", false, vec![Content::image("image/png", "aGk=")]),
        result("b", true, vec![Content::text("x")]),
    ];
    let mut request = request_to(
        MODEL,
        vec![
            message(Role::User, vec![text("look"), image()]),
            message(
                Role::Assistant,
                vec![
                    sealed(MODEL, &first),
                    sealed(MODEL, &second),
                    sealed("another-model", &first),
                    text("ok"),
                    called("a"),
                    called("b"),
                ],
            ),
            message(Role::Tool, results),
        ],
    );
    request.reasoning = Some(Reasoning::High);
    let got = received_request(responses, &text_answer("ok"), request).await;
    assert!(got.head.starts_with("POST /v1/responses HTTP/1.1\r\n"));
    let png =
        json!({"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,aGk="});
    let called = |id: &str| json!({"type": "function_call", "call_id": id, "name": "read", "arguments": "{\"b\":1,\"a\":2}"});
    let output = |id: &str, output: Value| json!({"type": "function_call_output", "call_id": id, "output": output});
    assert_eq!(
        got.json(),
        json!({
            "model": MODEL,
            "stream": true,
            "store": false,
            "instructions": "Be brief.",
            "tools": [{"type": "function", "name": "read", "description": "reads a file", "strict": false,
                "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}],
            "include": ["reasoning.encrypted_content"],
            "reasoning": {"effort": "high", "summary": "auto"},
            "input": [
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "look"}, png]},
                first,
                second,
                {"type": "message", "role": "assistant", "content": "ok"},
                called("a"),
                called("b"),
                output("a", json!([png])),
                output("b", "error: x".into()),
            ],
        })
    );
}

#[tokio::test]
async fn summaries_are_not_requested_from_accounts_that_may_not_read_them() {
    let refused = json!({"error": {"message": "Your organization must be verified to generate reasoning summaries.",
        "type": "invalid_request_error", "param": "reasoning.summary", "code": "unsupported_value"}});
    let server = Server::with(vec![
        Reply::error(400, &refused),
        Reply::events(text_answer("ok")),
    ]);
    let provider = responses(&server.url);
    for _ in 0..2 {
        whole(provider.stream(request_to(MODEL, vec![user("hi")]))).await;
    }
    let got = server.got();
    let summaries: Vec<Value> = got
        .iter()
        .map(|it| it.json()["reasoning"]["summary"].clone())
        .collect();
    assert_eq!(summaries, [json!("auto"), Value::Null, Value::Null]);
}

#[tokio::test]
async fn a_server_without_the_responses_api_gets_chat_completions() {
    let missing = Reply::error(404, &json!({"error": {"message": "Not Found"}}));
    let server = Server::with(vec![
        missing,
        Reply::events(super::openai::text_answer(&["ok"])),
    ]);
    let provider = |responses| {
        let endpoint = endpoint(&format!("{}/v1", server.url));
        OpenAi::new("openai", endpoint, catalogue(), responses)
    };
    let known = provider(Responses::KnownModels);
    for _ in 0..2 {
        whole(known.stream(request_to(MODEL, vec![user("hi")]))).await;
    }
    whole(
        provider(Responses::KnownModels).stream(request_to("model-of-the-proxy", vec![user("hi")])),
    )
    .await;
    let got = server.got();
    let targets: Vec<&str> = got.iter().map(Request::target).collect();
    assert_eq!(
        targets,
        [
            "/v1/responses",
            "/v1/chat/completions",
            "/v1/chat/completions",
            "/v1/chat/completions"
        ]
    );
}

#[tokio::test]
async fn a_model_that_rejects_reasoning_is_asked_without_it() {
    let refused = |param: &str, message: &str| {
        Reply::error(
            400,
            &json!({"error": {"message": message, "type": "invalid_request_error", "param": param}}),
        )
    };
    for (param, message) in [
        (
            "include",
            "Encrypted content is not supported with this model.",
        ),
        (
            "reasoning.effort",
            "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
        ),
    ] {
        let server = Server::with(vec![
            refused(param, message),
            Reply::events(text_answer("ok")),
            Reply::events(text_answer("ok")),
            Reply::events(text_answer("ok")),
        ]);
        let provider = responses(&server.url);
        for model in ["my-deployment", "my-deployment", MODEL] {
            whole(provider.stream(request_to(model, vec![user("hi")]))).await;
        }
        let got = server.got();
        let has_reasoning: Vec<bool> = got
            .iter()
            .map(|it| it.json().get("reasoning").is_some() && it.json().get("include").is_some())
            .collect();
        assert_eq!(has_reasoning, [true, false, false, true], "{param}");
    }
    // The user has asked for reasoning, so leaving it out silently would be wrong.
    let server = Server::with(vec![refused("reasoning.effort", "not supported")]);
    let mut request = request_to("my-deployment", vec![user("hi")]);
    request.reasoning = Some(Reasoning::High);
    let (_, error) = broken(responses(&server.url).stream(request)).await;
    assert!(error.to_string().contains("not supported"), "{error}");
}
