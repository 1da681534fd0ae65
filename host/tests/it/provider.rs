//! Providers against a real server on loopback: requests, decoding and failures.

mod aimock;
mod anthropic;
mod credentials;
mod demo;
mod faults;
mod openai;
mod output_schema;
mod resolve;
mod responses;
mod secrets;
mod throughput;

use std::sync::Arc;

use futures_util::StreamExt;
use serde_json::{Value, json};
use zot_host::{
    message::{Block, Message, Role},
    provider::{
        Anthropic, ApiKey, Catalogue, Delta, Deltas, Endpoint, OpenAi, Provider, ProviderError,
        Request, Responses, ToolSpec,
    },
};
use zot_protocol::StopReason;
use zot_test_support::http;

use crate::support::{
    args,
    replies::{Cut, Reply, Server},
    within,
};

const CANARY: &str = "sk-canary-5f1d9b";

fn endpoint(url: &str) -> Endpoint {
    Endpoint::new(url, ApiKey::new(CANARY).ok()).unwrap()
}

fn catalogue() -> Arc<Catalogue> {
    Arc::new(Catalogue::built_in())
}

fn anthropic(url: &str) -> Anthropic {
    Anthropic::new("anthropic", endpoint(url), catalogue())
}

/// A provider for a server that supports only Chat Completions.
fn openai(url: &str) -> OpenAi {
    let endpoint = endpoint(&format!("{url}/v1"));
    OpenAi::new("openai", endpoint, catalogue(), Responses::Never)
}

/// A provider for a server that supports the Responses API.
fn responses(url: &str) -> OpenAi {
    let endpoint = endpoint(&format!("{url}/v1"));
    OpenAi::new("openai", endpoint, catalogue(), Responses::Always)
}

fn message(role: Role, content: Vec<Block>) -> Message {
    Message {
        role,
        content,
        time: "2026-11-16T00:00:00Z".into(),
    }
}

fn text(text: &str) -> Block {
    Block::Text { text: text.into() }
}

fn user(prompt: &str) -> Message {
    message(Role::User, vec![text(prompt)])
}

fn request_to(model: &str, messages: Vec<Message>) -> Request {
    Request {
        model: model.into(),
        system: "Be brief.".into(),
        messages: Arc::new(messages.into_iter().map(Arc::new).collect()),
        tools: Arc::new([ToolSpec {
            name: "read".into(),
            description: "reads a file".into(),
            schema: args(json!({"type": "object", "properties": {"path": {"type": "string"}}})),
        }]),
        may_call: true,
        reasoning: None,
        max_output: None,
        output_schema: None,
    }
}

/// Collects everything up to the end of the stream.
async fn all(deltas: Deltas) -> Vec<Result<Delta, ProviderError>> {
    within("the answer", deltas.collect()).await
}

/// Collects an answer that must be complete.
async fn whole(deltas: Deltas) -> Vec<Delta> {
    let all = all(deltas).await;
    all.into_iter()
        .collect::<Result<_, _>>()
        .expect("a whole answer")
}

/// Returns the deltas and the final error of a failed answer.
async fn broken(deltas: Deltas) -> (Vec<Delta>, ProviderError) {
    let mut all = all(deltas).await;
    let error = all.pop().unwrap().expect_err("an error");
    let deltas = all.into_iter().collect::<Result<_, _>>();
    (deltas.expect("one error, at the end"), error)
}

/// Merges consecutive deltas of the same kind.
fn joined(deltas: Vec<Delta>) -> Vec<Delta> {
    let mut joined: Vec<Delta> = Vec::new();
    for delta in deltas {
        match (joined.last_mut(), &delta) {
            (Some(Delta::Text(whole)), Delta::Text(more))
            | (Some(Delta::Thinking(whole)), Delta::Thinking(more)) => whole.push_str(more),
            (
                Some(Delta::ToolArgs { id, delta: whole }),
                Delta::ToolArgs {
                    id: of,
                    delta: more,
                },
            ) if id == of => {
                whole.push_str(more);
            }
            _ => joined.push(delta),
        }
    }
    joined
}

/// Checks that an answer is the same however its bytes are chunked, and returns it.
async fn decode_in_any_chunks<P: Provider>(
    provider: impl Fn(&str) -> P,
    model: &str,
    body: &str,
) -> Vec<Delta> {
    let length = body.len();
    let bytes = body.to_owned();
    let server = Server::new(move |n| {
        let cut = match n {
            0 => Cut::Whole,
            1 => Cut::Everywhere,
            n => Cut::At(n - 1),
        };
        Reply::events(bytes.clone()).cut(cut)
    });
    let provider = provider(&server.url);
    let request = request_to(model, vec![user("hi")]);
    let expected = whole(provider.stream(request.clone())).await;
    for n in 1..=length {
        let deltas = whole(provider.stream(request.clone())).await;
        assert_eq!(deltas, expected, "reply {n}");
    }
    assert_eq!(server.got().len(), length + 1, "no request is repeated");
    expected
}

/// Returns one request as the server received it.
async fn received_request<P: Provider>(
    provider: impl Fn(&str) -> P,
    end: &str,
    request: Request,
) -> http::Request {
    let server = Server::with(vec![Reply::events(end)]);
    whole(provider(&server.url).stream(request)).await;
    server.got().remove(0)
}

/// Formats server-sent events.
fn events(data: &[Value]) -> String {
    let event = |data: &Value| match data["type"].as_str() {
        Some(name) => format!("event: {name}\ndata: {data}\n\n"),
        None => format!("data: {data}\n\n"),
    };
    data.iter().map(event).collect()
}

fn stop(reason: StopReason) -> Delta {
    Delta::Stop(reason)
}
