//! A model server that is as strict as the real ones: it plays scripted turns, and rejects requests
//! that break a rule of its API.

mod events;
mod rules;

use std::{collections::VecDeque, sync::Arc};

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::support::replies::{End, Reply, Server};

/// The API that the server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Api {
    Anthropic,
    Responses,
    Chat,
}

impl Api {
    pub(crate) const ALL: [Self; 3] = [Self::Anthropic, Self::Responses, Self::Chat];

    /// The name in `check_requests.py`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Responses => "responses",
            Self::Chat => "chat",
        }
    }
}

/// A part of a scripted answer.
#[derive(Debug, Clone)]
pub(crate) enum Part {
    /// Reasoning. Chat Completions does not have it.
    Thinking(&'static str),
    /// Redacted reasoning from Anthropic; reasoning without a summary from `OpenAI`.
    Redacted,
    Text(&'static str),
    /// A call to this tool with these arguments as JSON text, which may be invalid.
    Call(&'static str, String),
}

pub(crate) fn call(tool: &'static str, args: &Value) -> Part {
    Part::Call(tool, args.to_string())
}

/// A scripted turn.
#[derive(Debug, Clone)]
pub(crate) enum Turn {
    Answer(Vec<Part>),
    /// An answer that reaches the output limit.
    Length(Vec<Part>),
    /// An answer whose connection breaks after this many events.
    CutAfter(usize, Vec<Part>),
    /// An answer whose connection stalls after this many events.
    Stalls(usize, Vec<Part>),
    /// An HTTP error with this body.
    Fails(u16, Value),
    /// A stream whose only event is an error of this type.
    FailsInStream(&'static str),
}

/// What the server knows about the conversation.
#[derive(Default)]
struct Record {
    turns: VecDeque<Turn>,
    issued: Vec<rules::Issued>,
    bodies: Vec<Value>,
    violations: Vec<String>,
    ids: usize,
    limits: Limits,
}

/// The limits of the model.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Limits {
    /// The maximum size of the messages in bytes.
    pub(crate) window: Option<usize>,
    /// The maximum number of output tokens.
    pub(crate) output: Option<u64>,
    /// Whether every image counts as unusable.
    pub(crate) rejects_images: bool,
    /// The maximum number of images in a request.
    pub(crate) images: Option<usize>,
}

/// The server.
pub(crate) struct ModelServer {
    api: Api,
    server: Server,
    record: Arc<Mutex<Record>>,
}

impl ModelServer {
    pub(crate) fn start(api: Api) -> Self {
        let record = Arc::new(Mutex::new(Record::default()));
        let shared = Arc::clone(&record);
        let server = Server::answering(move |request| {
            let body = request.json();
            let mut record = shared.lock();
            record.bodies.push(body.clone());
            reply(api, &body, &mut record)
        });
        Self {
            api,
            server,
            record,
        }
    }

    /// The base URL.
    pub(crate) fn url(&self) -> String {
        match self.api {
            Api::Anthropic => self.server.url.clone(),
            _ => format!("{}/v1", self.server.url),
        }
    }

    /// Adds turns to the script.
    pub(crate) fn plays(&self, turns: impl IntoIterator<Item = Turn>) {
        self.record.lock().turns.extend(turns);
    }

    /// Adds an answer to the script.
    pub(crate) fn answers(&self, parts: impl IntoIterator<Item = Part>) {
        self.plays([Turn::Answer(parts.into_iter().collect())]);
    }

    pub(crate) fn limit(&self, limits: Limits) {
        self.record.lock().limits = limits;
    }

    /// All request bodies so far.
    pub(crate) fn bodies(&self) -> Vec<Value> {
        self.record.lock().bodies.clone()
    }

    /// The rules that requests have broken, and the turns that were not requested.
    pub(crate) fn faults(&self) -> Vec<String> {
        let record = self.record.lock();
        let left = record.turns.iter().map(|turn| format!("left: {turn:?}"));
        record.violations.iter().cloned().chain(left).collect()
    }
}

fn reply(api: Api, body: &Value, record: &mut Record) -> Reply {
    if let Some(message) = rules::over_limit(api, body, record.limits) {
        return Reply::error(400, &error("invalid_request_error", &message));
    }
    if let Err(violation) = rules::check(api, body, &record.issued) {
        record.violations.push(format!("{violation}: {body}"));
        return Reply::error(400, &error("invalid_request_error", &violation));
    }
    let Some(turn) = record.turns.pop_front() else {
        record.violations.push(format!("unexpected: {body}"));
        return Reply::error(400, &error("invalid_request_error", "no more turns"));
    };
    let (Turn::Answer(parts)
    | Turn::Length(parts)
    | Turn::CutAfter(_, parts)
    | Turn::Stalls(_, parts)) = &turn
    else {
        return match turn {
            Turn::FailsInStream(kind) => Reply::events(events::failure(api, kind)),
            Turn::Fails(status, body) => Reply::error(status, &body),
            _ => unreachable!("the other variants have parts"),
        };
    };
    let is_cut = matches!(turn, Turn::Length(_));
    let items = rules::items(api, parts, &mut record.ids);
    let events = events::render(api, &items, is_cut);
    record.issued.push(rules::Issued {
        request: rules::canonical(api, body),
        items,
    });
    let first = |count: usize| events[..count.min(events.len())].concat();
    match turn {
        Turn::CutAfter(count, _) => Reply::events(first(count)).end(End::Close),
        Turn::Stalls(count, _) => Reply::events(first(count)).end(End::Stall),
        _ => Reply::events(events.concat()),
    }
}

/// An error body in a form that both providers use.
pub(crate) fn error(kind: &str, message: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": message}})
}
