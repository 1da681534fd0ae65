//! Decodes the event stream of the Responses API.

use std::collections::VecDeque;

use serde::Deserialize;
use serde_json::Value;
use zot_protocol::{StopReason, ToolId};

use crate::provider::{
    Delta, Tokens,
    exchange::{Decode, DecodeError},
    retry::{can_retry_kind, can_retry_status},
    surrogates::{PieceJoiner, RawText},
};

/// The server's data, which is stored in place of a signature, with the model's name.
pub(super) enum Sealed {
    /// An item with encrypted reasoning, unchanged.
    Reasoning(Value),
    /// The phase of the message that follows: commentary, or the final answer.
    Phase(String),
}

impl Sealed {
    /// Parses a stored signature, if it belongs to this model.
    pub(super) fn parse(text: &str, model: &str) -> Option<Self> {
        let (kind, value) = text
            .strip_prefix(model)?
            .strip_prefix(' ')?
            .split_once(' ')?;
        match kind {
            "reasoning" => serde_json::from_str(value).ok().map(Self::Reasoning),
            "phase" => Some(Self::Phase(value.to_owned())),
            _ => None,
        }
    }

    fn write(&self, model: &str) -> String {
        match self {
            Self::Reasoning(item) => format!("{model} reasoning {item}"),
            Self::Phase(phase) => format!("{model} phase {phase}"),
        }
    }
}

/// Decodes the events of one answer.
pub(in super::super) struct Answer {
    model: String,
    calls: Vec<Call>,
    joiner: PieceJoiner,
    /// Whether a summary of the current reasoning has been sent.
    has_summary: bool,
    has_calls: bool,
}

struct Call {
    index: u64,
    id: ToolId,
    has_args: bool,
    joiner: PieceJoiner,
}

/// Any event, flattened into one struct. Unknown fields are ignored.
#[derive(Deserialize)]
struct Event {
    r#type: String,
    #[serde(default)]
    output_index: u64,
    #[serde(default)]
    summary_index: u64,
    delta: Option<RawText>,
    item: Option<Value>,
    response: Option<Response>,
    /// The code of an `error` event.
    code: Option<String>,
    message: Option<String>,
    error: Option<Failure>,
}

#[derive(Deserialize)]
struct Response {
    status: Option<String>,
    usage: Option<Usage>,
    incomplete_details: Option<Incomplete>,
    error: Option<Failure>,
}

#[derive(Deserialize)]
struct Incomplete {
    reason: Option<String>,
}

#[derive(Deserialize)]
struct Failure {
    code: Option<Value>,
    r#type: Option<String>,
    message: Option<String>,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
    input_tokens_details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

impl Answer {
    pub(in super::super) fn new(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            calls: Vec::new(),
            joiner: PieceJoiner::default(),
            has_summary: false,
            has_calls: false,
        }
    }

    fn begin(&mut self, index: u64, item: &Value, deltas: &mut VecDeque<Delta>) {
        match item["type"].as_str() {
            Some("function_call") => {
                self.has_calls = true;
                let id = ToolId::from(item["call_id"].as_str().unwrap_or_default());
                deltas.push_back(Delta::ToolStart {
                    id: id.clone(),
                    name: item["name"].as_str().unwrap_or_default().to_owned(),
                });
                self.calls.push(Call {
                    index,
                    id,
                    has_args: false,
                    joiner: PieceJoiner::default(),
                });
            }
            Some("message") => {
                if let Some(phase) = item["phase"].as_str() {
                    let sealed = Sealed::Phase(phase.to_owned()).write(&self.model);
                    deltas.push_back(Delta::ThinkingEnd(Some(sealed)));
                }
            }
            Some("reasoning") => self.has_summary = false,
            _ => {}
        }
    }

    fn end(&mut self, index: u64, item: Value, deltas: &mut VecDeque<Delta>) {
        match item["type"].as_str() {
            Some("function_call") => {
                let Some(at) = self.calls.iter().position(|call| call.index == index) else {
                    return;
                };
                let Call { id, has_args, .. } = self.calls.remove(at);
                if !has_args {
                    let args = item["arguments"].as_str().filter(|args| !args.is_empty());
                    let delta = args.unwrap_or("{}").to_owned();
                    let id = id.clone();
                    deltas.push_back(Delta::ToolArgs { id, delta });
                }
                deltas.push_back(Delta::ToolEnd { id });
            }
            Some("reasoning") => {
                if !std::mem::take(&mut self.has_summary) {
                    let parts = item["summary"].as_array().into_iter().flatten();
                    let parts = parts.filter_map(|part| part["text"].as_str());
                    let text = parts.collect::<Vec<_>>().join("\n\n");
                    // Begin the block even if its text is empty: the server may withhold the
                    // reasoning.
                    deltas.push_back(Delta::Thinking(text));
                }
                // The server cannot read an item without its encrypted content, so do not store it.
                let sealed = item["encrypted_content"]
                    .is_string()
                    .then(|| Sealed::Reasoning(item).write(&self.model));
                deltas.push_back(Delta::ThinkingEnd(sealed));
            }
            _ => {}
        }
    }

    fn args(&mut self, index: u64, piece: RawText, deltas: &mut VecDeque<Delta>) {
        let Some(call) = self.calls.iter_mut().find(|call| call.index == index) else {
            return;
        };
        if let Some(delta) = call.joiner.join(piece) {
            call.has_args = true;
            let id = call.id.clone();
            deltas.push_back(Delta::ToolArgs { id, delta });
        }
    }

    fn finish(
        &self,
        response: Option<Response>,
        deltas: &mut VecDeque<Delta>,
    ) -> Result<(), DecodeError> {
        let missing = || DecodeError::Malformed("missing response".to_owned());
        let response = response.ok_or_else(missing)?;
        if let Some(usage) = response.usage {
            let details = usage.input_tokens_details;
            let cached =
                |of: fn(&Details) -> Option<u64>| details.as_ref().and_then(of).unwrap_or(0);
            let cache_read = cached(|details| details.cached_tokens);
            let cache_write = cached(|details| details.cache_write_tokens);
            deltas.push_back(Delta::Usage(Tokens {
                input: usage.input_tokens.saturating_sub(cache_read + cache_write),
                output: usage.output_tokens,
                cache_read,
                cache_write,
            }));
        }
        let reason = response.incomplete_details.and_then(|it| it.reason);
        let stop = match (response.status.as_deref(), reason.as_deref()) {
            (Some("incomplete"), Some("content_filter")) => {
                return Err(DecodeError::permanent(
                    "the answer was withheld by a content filter",
                ));
            }
            (Some("incomplete"), _) => StopReason::Length,
            _ if self.has_calls => StopReason::ToolUse,
            _ => StopReason::EndTurn,
        };
        deltas.push_back(Delta::Stop(stop));
        Ok(())
    }
}

impl Decode for Answer {
    fn event(&mut self, data: &str, deltas: &mut VecDeque<Delta>) -> Result<(), DecodeError> {
        let event: Event = serde_json::from_str(data).map_err(|error| DecodeError::json(&error))?;
        match &*event.r#type {
            "response.output_item.added" => {
                if let Some(item) = event.item {
                    self.begin(event.output_index, &item, deltas);
                }
            }
            "response.output_text.delta" | "response.refusal.delta" => {
                let text = event.delta.and_then(|text| self.joiner.join(text));
                deltas.extend(text.map(Delta::Text));
            }
            "response.reasoning_summary_part.added" if event.summary_index > 0 => {
                deltas.push_back(Delta::Thinking("\n\n".to_owned()));
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.has_summary = true;
                let text = event.delta.and_then(|text| self.joiner.join(text));
                deltas.extend(text.map(Delta::Thinking));
            }
            "response.function_call_arguments.delta" => {
                if let Some(piece) = event.delta {
                    self.args(event.output_index, piece, deltas);
                }
            }
            "response.output_item.done" => {
                if let Some(item) = event.item {
                    self.end(event.output_index, item, deltas);
                }
            }
            "response.completed" | "response.incomplete" => {
                return self.finish(event.response, deltas);
            }
            "response.failed" => {
                let failure = event.response.and_then(|response| response.error);
                return Err(failed(failure, None, None));
            }
            "error" => return Err(failed(event.error, event.code, event.message)),
            _ => {}
        }
        Ok(())
    }
}

/// Creates the error for a failure in the stream, whose details are in an object or at the top
/// level.
fn failed(failure: Option<Failure>, code: Option<String>, message: Option<String>) -> DecodeError {
    let (nested, kind, text) =
        failure.map_or((None, None, None), |it| (it.code, it.r#type, it.message));
    let number = nested.as_ref().and_then(Value::as_u64);
    let number = number.and_then(|number| u16::try_from(number).ok());
    let code = nested
        .as_ref()
        .and_then(Value::as_str)
        .map(str::to_owned)
        .or(code);
    let is_transient = number.is_some_and(can_retry_status)
        || [code.as_deref(), kind.as_deref()]
            .into_iter()
            .flatten()
            .any(can_retry_kind);
    let message = text.or(message).or(code);
    DecodeError::Failed {
        message: message.unwrap_or_else(|| "unknown error".to_owned()),
        is_transient,
    }
}
