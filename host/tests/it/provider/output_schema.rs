//! The JSON Schema of an answer, for providers with structured output.

use std::sync::Arc;

use serde_json::{Value, json};
use zot_host::provider::{Provider, Request};
use zot_protocol::Object;
use zot_test_support::http;

use super::{anthropic, openai, request_to, responses, user, whole};
use crate::support::{
    args,
    replies::{Reply, Server},
};

const MESSAGES_END: &str = "event: message_delta\ndata: {\"type\": \"message_delta\", \"delta\": {\"stop_reason\": \"end_turn\"}}\n\nevent: message_stop\ndata: {\"type\": \"message_stop\"}\n\n";
const CHAT_END: &str = "data: {\"choices\": [{\"delta\": {\"content\": \"{}\"}, \"finish_reason\": \"stop\"}]}\n\ndata: [DONE]\n\n";
const RESPONSES_END: &str = "event: response.completed\ndata: {\"type\": \"response.completed\", \"response\": {\"status\": \"completed\", \"output\": []}}\n\n";

fn schema() -> Object {
    args(json!({"type": "object", "properties": {"n": {"type": "integer"}}}))
}

fn request(model: &str) -> Request {
    let mut request = request_to(model, vec![user("how many?")]);
    request.output_schema = Some(Arc::new(schema()));
    request
}

/// Sends a request, and a second one after the server has rejected the schema of the first.
async fn bodies<P: Provider>(
    provider: impl Fn(&str) -> P,
    model: &str,
    end: &str,
    error: &str,
) -> Vec<Value> {
    let rejected = Reply::error(400, &json!({"error": {"message": error}}));
    let server = Server::with(vec![rejected, Reply::events(end), Reply::events(end)]);
    let provider = provider(&server.url);
    whole(provider.stream(request(model))).await;
    whole(provider.stream(request(model))).await;
    server.got().iter().map(http::Request::json).collect()
}

#[tokio::test]
async fn each_api_gets_the_schema_until_it_rejects_it() {
    let sent = bodies(
        anthropic,
        "claude-sonnet-5-5",
        MESSAGES_END,
        "output_config.format.schema: unsupported",
    )
    .await;
    let format = json!({"type": "json_schema", "schema": schema()});
    assert_eq!(sent[0]["output_config"]["format"], format);
    assert!(
        sent[1..]
            .iter()
            .all(|body| body["output_config"].get("format").is_none())
    );
    assert_eq!(sent.len(), 3);

    let sent = bodies(
        responses,
        "gpt-6.1-sol",
        RESPONSES_END,
        "Invalid schema for text.format",
    )
    .await;
    let format =
        json!({"type": "json_schema", "name": "answer", "schema": schema(), "strict": false});
    assert_eq!(sent[0]["text"], json!({"format": format}));
    assert!(sent[1..].iter().all(|body| body.get("text").is_none()));

    let sent = bodies(
        openai,
        "small",
        CHAT_END,
        "response_format is not supported by this model",
    )
    .await;
    let format = json!({"name": "answer", "schema": schema(), "strict": false});
    assert_eq!(
        sent[0]["response_format"],
        json!({"type": "json_schema", "json_schema": format})
    );
    assert!(
        sent[1..]
            .iter()
            .all(|body| body.get("response_format").is_none())
    );
}
