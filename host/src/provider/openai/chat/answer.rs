//! Decodes the event stream of Chat Completions.

use std::{
    collections::VecDeque,
    hash::{BuildHasher, Hasher, RandomState},
};

use serde::Deserialize;
use serde_json::Value;
use zot_protocol::{StopReason, ToolId};

use crate::provider::{
    Delta, Tokens,
    exchange::{Decode, DecodeError},
    http::error_text,
    retry::{can_retry_kind, can_retry_status},
    surrogates::{PieceJoiner, RawText},
};

/// The server's data, which is stored in place of a signature, with the model's name.
pub(super) enum Sealed<'a> {
    /// Readable reasoning: the field that it arrived in.
    Reasoning(&'static str),
    /// Gemini's signature of the tool call that follows.
    Google(&'a str),
}

const REASONING_FIELDS: [&str; 2] = ["reasoning_content", "reasoning"];

impl<'a> Sealed<'a> {
    /// Parses a stored signature, if it belongs to this model.
    pub(super) fn parse(text: &'a str, model: &str) -> Option<Self> {
        let text = text.strip_prefix(model)?.strip_prefix(' ')?;
        if let Some(field) = REASONING_FIELDS.into_iter().find(|field| *field == text) {
            return Some(Self::Reasoning(field));
        }
        text.strip_prefix("google ").map(Self::Google)
    }

    fn write(&self, model: &str) -> String {
        match self {
            Self::Reasoning(field) => format!("{model} {field}"),
            Self::Google(signature) => format!("{model} google {signature}"),
        }
    }
}

/// Decodes the chunks of one answer.
///
/// Tolerates servers that deviate from the API in these ways: no usage, or usage with every chunk;
/// no `[DONE]` after the finish reason, or no finish reason before `[DONE]`; tool calls sent whole
/// or in pieces, with arguments as text or as an object, all with the same index, or without ids,
/// which are then generated; reasoning as `reasoning_content` or `reasoning`.
#[derive(Default)]
pub(in super::super) struct Answer {
    model: String,
    calls: Vec<Call>,
    /// The field of the current block of reasoning.
    reasoning: Option<&'static str>,
    text: PieceJoiner,
    thinking: PieceJoiner,
    tokens: Tokens,
    finish: Option<String>,
    has_content: bool,
}

#[derive(Default)]
struct Call {
    index: Option<u64>,
    /// The server's id for the call.
    given: Option<String>,
    /// The id that zot uses; `None` until the call has started.
    id: Option<ToolId>,
    /// Arguments that arrived before the name.
    early: String,
    joiner: PieceJoiner,
    has_args: bool,
    /// Gemini's signature.
    signature: Option<String>,
}

/// A chunk of an answer. `A` is the type of the arguments: text, or an object from some servers.
#[derive(Deserialize)]
struct Chunk<A> {
    choices: Option<Vec<Choice<A>>>,
    usage: Option<Usage>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice<A> {
    #[serde(default)]
    index: u64,
    delta: Option<Piece<A>>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Piece<A> {
    content: Option<RawText>,
    refusal: Option<RawText>,
    reasoning_content: Option<RawText>,
    reasoning: Option<RawText>,
    tool_calls: Option<Vec<CallPiece<A>>>,
}

#[derive(Deserialize)]
struct CallPiece<A> {
    index: Option<u64>,
    id: Option<String>,
    function: Option<Function<A>>,
    extra_content: Option<ExtraContent>,
}

#[derive(Deserialize)]
struct ExtraContent {
    google: Option<GoogleContent>,
}

#[derive(Deserialize)]
struct GoogleContent {
    thought_signature: Option<String>,
}

#[derive(Deserialize)]
struct Function<A> {
    name: Option<String>,
    arguments: Option<A>,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
    prompt_tokens_details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    cached_tokens: Option<u64>,
}

impl Answer {
    pub(in super::super) fn new(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            ..Self::default()
        }
    }

    /// Ends the reasoning, if there is any.
    fn end_reasoning(&mut self, deltas: &mut VecDeque<Delta>) {
        if let Some(field) = self.reasoning.take() {
            let sealed = Sealed::Reasoning(field).write(&self.model);
            deltas.push_back(Delta::ThinkingEnd(Some(sealed)));
        }
    }

    fn used(&mut self, usage: &Usage, deltas: &mut VecDeque<Delta>) {
        let details = usage.prompt_tokens_details.as_ref();
        let cached = details
            .and_then(|details| details.cached_tokens)
            .unwrap_or(0);
        let tokens = Tokens {
            input: usage.prompt_tokens.saturating_sub(cached),
            output: usage.completion_tokens,
            cache_read: cached,
            cache_write: 0,
        };
        if tokens != self.tokens {
            self.tokens = tokens;
            deltas.push_back(Delta::Usage(tokens));
        }
    }

    fn piece<A: Into<RawText>>(
        &mut self,
        piece: Piece<A>,
        deltas: &mut VecDeque<Delta>,
    ) -> Result<(), DecodeError> {
        let given = |text: Option<RawText>| text.filter(|text| !text.is_empty());
        let fields = [piece.reasoning_content, piece.reasoning].map(given);
        let mut fields = REASONING_FIELDS.into_iter().zip(fields);
        if let Some((field, thinking)) = fields.find_map(|(field, text)| Some((field, text?))) {
            self.reasoning = Some(field);
            deltas.extend(self.thinking.join(thinking).map(Delta::Thinking));
        }
        for text in [given(piece.content), given(piece.refusal)]
            .into_iter()
            .flatten()
        {
            self.has_content = true;
            self.end_reasoning(deltas);
            deltas.extend(self.text.join(text).map(Delta::Text));
        }
        for call in piece.tool_calls.into_iter().flatten() {
            self.has_content = true;
            self.end_reasoning(deltas);
            self.call(call, deltas)?;
        }
        Ok(())
    }

    fn chunk<A: Into<RawText>>(
        &mut self,
        chunk: Chunk<A>,
        data: &str,
        deltas: &mut VecDeque<Delta>,
    ) -> Result<(), DecodeError> {
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            let message = error_text(data.as_bytes());
            return Err(DecodeError::Failed {
                message: message.unwrap_or_else(|| error.to_string()),
                is_transient: is_transient(&error),
            });
        }
        let choices = chunk.choices.into_iter().flatten();
        for choice in choices.filter(|choice| choice.index == 0) {
            if let Some(piece) = choice.delta {
                self.piece(piece, deltas)?;
            }
            if let Some(reason) = choice.finish_reason {
                self.finish = Some(reason);
            }
        }
        if let Some(usage) = chunk.usage {
            self.used(&usage, deltas);
        }
        Ok(())
    }

    /// Finds the call that a piece belongs to, or adds a new one.
    fn find(&mut self, index: Option<u64>, id: Option<&str>, has_name: bool) -> Option<&mut Call> {
        let is_same = |call: &Call| match (index, id) {
            // Gemini's endpoint, and older versions of Ollama, give every call the index 0, so only
            // the ids differ.
            (Some(_), Some(id)) if has_name => {
                call.index == index && call.given.as_deref().is_none_or(|given| given == id)
            }
            (Some(_), _) => call.index == index,
            (None, Some(id)) => call.given.as_deref() == Some(id),
            (None, None) => !has_name,
        };
        let known = self.calls.iter().rposition(is_same);
        if known.is_none() && (index.is_some() || id.is_some() || has_name) {
            self.calls.push(Call {
                index,
                ..Call::default()
            });
            return self.calls.last_mut();
        }
        self.calls.get_mut(known?)
    }

    fn call<A: Into<RawText>>(
        &mut self,
        piece: CallPiece<A>,
        deltas: &mut VecDeque<Delta>,
    ) -> Result<(), DecodeError> {
        let google = piece.extra_content.and_then(|extra| extra.google);
        let signature = google.and_then(|google| google.thought_signature);
        let function = piece.function;
        let (name, args) =
            function.map_or((None, None), |function| (function.name, function.arguments));
        let given = |text: Option<String>| text.filter(|text| !text.is_empty());
        let (id, name) = (given(piece.id), given(name));
        let Some(call) = self.find(piece.index, id.as_deref(), name.is_some()) else {
            return Err(DecodeError::Malformed(
                "chunk for an unknown tool call".to_owned(),
            ));
        };
        call.given = call.given.take().or(id);
        call.signature = call.signature.take().or(signature);
        let args = args.and_then(|args| call.joiner.join(args.into()));
        let args = args.unwrap_or_default();
        match (&call.id, name) {
            (Some(id), _) => {
                if !args.is_empty() {
                    call.has_args = true;
                    deltas.push_back(Delta::ToolArgs {
                        id: id.clone(),
                        delta: args,
                    });
                }
            }
            (None, Some(name)) => {
                let id = ToolId::from(call.given.clone().unwrap_or_else(generate_id));
                call.id = Some(id.clone());
                deltas.push_back(Delta::ToolStart {
                    id: id.clone(),
                    name,
                });
                let delta = std::mem::take(&mut call.early) + &args;
                if !delta.is_empty() {
                    call.has_args = true;
                    deltas.push_back(Delta::ToolArgs { id, delta });
                }
            }
            (None, None) => call.early.push_str(&args),
        }
        Ok(())
    }

    /// Ends the answer with the server's finish reason.
    fn finish(&mut self, deltas: &mut VecDeque<Delta>) -> Result<(), DecodeError> {
        let stop = match self.finish.as_deref() {
            Some("length" | "model_length") => StopReason::Length,
            Some("content_filter") => {
                return Err(DecodeError::permanent(
                    "the answer was withheld by a content filter",
                ));
            }
            Some("error") => return Err(DecodeError::permanent("the model ended with an error")),
            None if !self.has_content => {
                return Err(DecodeError::Malformed("empty answer".to_owned()));
            }
            // Some servers send `stop` even when the answer contains tool calls.
            _ if self.calls.is_empty() => StopReason::EndTurn,
            _ => StopReason::ToolUse,
        };
        self.end_reasoning(deltas);
        for call in self.calls.drain(..) {
            if let Some(signature) = &call.signature {
                let sealed = Sealed::Google(signature).write(&self.model);
                deltas.push_back(Delta::ThinkingEnd(Some(sealed)));
            }
            let Some(id) = call.id else {
                return Err(DecodeError::Malformed(
                    "tool call without a name".to_owned(),
                ));
            };
            if !call.has_args {
                deltas.push_back(Delta::ToolArgs {
                    id: id.clone(),
                    delta: "{}".to_owned(),
                });
            }
            deltas.push_back(Delta::ToolEnd { id });
        }
        deltas.push_back(Delta::Stop(stop));
        Ok(())
    }
}

impl Decode for Answer {
    fn event(&mut self, data: &str, deltas: &mut VecDeque<Delta>) -> Result<(), DecodeError> {
        if data.trim() == "[DONE]" {
            return self.finish(deltas);
        }
        // Arguments as objects are rare, so parsing twice is fine.
        match serde_json::from_str::<Chunk<RawText>>(data) {
            Ok(chunk) => self.chunk(chunk, data, deltas),
            Err(error) => match serde_json::from_str::<Chunk<Value>>(data) {
                Ok(chunk) => self.chunk(chunk, data, deltas),
                Err(_) => Err(DecodeError::json(&error)),
            },
        }
    }

    fn end(&mut self, deltas: &mut VecDeque<Delta>) {
        if self.finish.is_some() {
            // An error here leaves the answer without an end, which is reported as truncated.
            let _ = self.finish(deltas);
        }
    }
}

/// Reports whether an error in the stream is transient, by its code or type.
fn is_transient(error: &Value) -> bool {
    let code = &error["code"];
    let number = code.as_u64().or_else(|| code.as_str()?.parse().ok());
    let number = number.and_then(|number| u16::try_from(number).ok());
    let kinds = [code, &error["type"]].into_iter().filter_map(Value::as_str);
    number.is_some_and(can_retry_status) || kinds.into_iter().any(can_retry_kind)
}

/// Generates a unique id for a call without one.
fn generate_id() -> String {
    let random = RandomState::new().build_hasher().finish();
    format!("call_{random:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_ids_differ() {
        assert_ne!(generate_id(), generate_id());
    }
}
