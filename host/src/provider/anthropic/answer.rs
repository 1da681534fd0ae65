//! Decodes the event stream of the Messages API.

use std::collections::VecDeque;

use serde::Deserialize;
use zot_protocol::{Object, StopReason, ToolId};

use crate::provider::{
    Delta, Tokens,
    exchange::{Decode, DecodeError},
    retry::can_retry_kind,
    surrogates::{PieceJoiner, RawText},
};

/// Decodes the events of one answer.
pub(super) struct Answer {
    model: String,
    /// Blocks that have started but not ended, by index.
    open: Vec<(u64, Open)>,
    /// Joins pieces of text and reasoning.
    joiner: PieceJoiner,
    tokens: Tokens,
    stop: Option<StopReason>,
}

enum Open {
    Tool {
        id: ToolId,
        has_args: bool,
        joiner: PieceJoiner,
    },
    Thinking {
        signature: String,
    },
}

/// The signature of a reasoning block, stored with the model's name.
pub(super) enum Signature<'a> {
    /// The signature of readable reasoning.
    Open(&'a str),
    /// Redacted reasoning.
    Redacted(&'a str),
}

impl<'a> Signature<'a> {
    /// Parses a stored signature, if it belongs to this model.
    pub(super) fn parse(text: &'a str, model: &str) -> Option<Self> {
        let (kind, value) = text
            .strip_prefix(model)?
            .strip_prefix(' ')?
            .split_once(' ')?;
        match kind {
            "thinking" => Some(Self::Open(value)),
            "redacted" => Some(Self::Redacted(value)),
            _ => None,
        }
    }

    fn write(&self, model: &str) -> String {
        match self {
            Self::Open(value) => format!("{model} thinking {value}"),
            Self::Redacted(value) => format!("{model} redacted {value}"),
        }
    }
}

/// Any event, flattened into one struct. Unknown fields are ignored.
#[derive(Deserialize)]
struct Event {
    r#type: EventType,
    #[serde(default)]
    index: u64,
    message: Option<Start>,
    content_block: Option<Block>,
    delta: Option<Piece>,
    usage: Option<Usage>,
    error: Option<Failure>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum EventType {
    MessageStart,
    ContentBlockStart,
    ContentBlockDelta,
    ContentBlockStop,
    MessageDelta,
    MessageStop,
    Error,
    /// A ping, or an event type from a later API version.
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Start {
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Block {
    r#type: String,
    #[serde(default)]
    id: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    input: Object,
    #[serde(default)]
    text: String,
    #[serde(default)]
    thinking: String,
    #[serde(default)]
    data: String,
}

#[derive(Deserialize)]
struct Piece {
    text: Option<RawText>,
    partial_json: Option<RawText>,
    thinking: Option<RawText>,
    signature: Option<String>,
    stop_reason: Option<String>,
}

/// Token counts. A missing count keeps its previous value.
#[derive(Deserialize)]
struct Usage {
    #[serde(rename = "input_tokens")]
    input: Option<u64>,
    #[serde(rename = "output_tokens")]
    output: Option<u64>,
    #[serde(rename = "cache_read_input_tokens")]
    cache_read: Option<u64>,
    #[serde(rename = "cache_creation_input_tokens")]
    cache_write: Option<u64>,
}

#[derive(Deserialize)]
struct Failure {
    #[serde(default)]
    r#type: String,
    #[serde(default)]
    message: String,
}

impl Answer {
    pub(super) fn new(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            open: Vec::new(),
            joiner: PieceJoiner::default(),
            tokens: Tokens::default(),
            stop: None,
        }
    }

    fn used(&mut self, usage: Option<Usage>, deltas: &mut VecDeque<Delta>) {
        let Some(usage) = usage else { return };
        let tokens = &mut self.tokens;
        for (count, new) in [
            (&mut tokens.input, usage.input),
            (&mut tokens.output, usage.output),
            (&mut tokens.cache_read, usage.cache_read),
            (&mut tokens.cache_write, usage.cache_write),
        ] {
            *count = new.unwrap_or(*count);
        }
        deltas.push_back(Delta::Usage(*tokens));
    }

    fn begin(&mut self, index: u64, block: Block, deltas: &mut VecDeque<Delta>) {
        match block.r#type.as_str() {
            "tool_use" => {
                let id = ToolId::from(block.id);
                deltas.push_back(Delta::ToolStart {
                    id: id.clone(),
                    name: block.name,
                });
                // Some compatible servers send the whole input here.
                let has_args = !block.input.is_empty();
                if has_args {
                    let delta = serde_json::Value::Object(block.input).to_string();
                    let id = id.clone();
                    deltas.push_back(Delta::ToolArgs { id, delta });
                }
                let joiner = PieceJoiner::default();
                self.open.push((
                    index,
                    Open::Tool {
                        id,
                        has_args,
                        joiner,
                    },
                ));
            }
            "thinking" => {
                // Begin the block even if its text is empty: some models withhold their reasoning.
                deltas.push_back(Delta::Thinking(block.thinking));
                let signature = String::new();
                self.open.push((index, Open::Thinking { signature }));
            }
            "redacted_thinking" => {
                let signature = Signature::Redacted(&block.data).write(&self.model);
                deltas.push_back(Delta::Thinking(String::new()));
                deltas.push_back(Delta::ThinkingEnd(Some(signature)));
            }
            "text" if !block.text.is_empty() => deltas.push_back(Delta::Text(block.text)),
            _ => {}
        }
    }

    fn open(&mut self, index: u64) -> Option<&mut Open> {
        let open = self.open.iter_mut().find(|(number, _)| *number == index);
        open.map(|(_, open)| open)
    }

    fn piece(
        &mut self,
        index: u64,
        piece: Piece,
        deltas: &mut VecDeque<Delta>,
    ) -> Result<(), DecodeError> {
        let text = piece.text.and_then(|text| self.joiner.join(text));
        deltas.extend(text.map(Delta::Text));
        let thinking = piece.thinking.and_then(|text| self.joiner.join(text));
        deltas.extend(thinking.map(Delta::Thinking));
        if let (Some(more), Some(Open::Thinking { signature })) =
            (piece.signature, self.open(index))
        {
            signature.push_str(&more);
        }
        if let Some(args) = piece.partial_json.filter(|args| !args.is_empty()) {
            let Some(Open::Tool {
                id,
                has_args,
                joiner,
            }) = self.open(index)
            else {
                let message = format!("arguments for block {index}, which is not a tool call");
                return Err(DecodeError::Malformed(message));
            };
            *has_args = true;
            let id = id.clone();
            let delta = joiner.join(args);
            deltas.extend(delta.map(|delta| Delta::ToolArgs { id, delta }));
        }
        Ok(())
    }

    fn end_block(&mut self, index: u64, deltas: &mut VecDeque<Delta>) {
        let Some(at) = self.open.iter().position(|(number, _)| *number == index) else {
            return;
        };
        match self.open.remove(at).1 {
            Open::Tool { id, has_args, .. } => {
                if !has_args {
                    deltas.push_back(Delta::ToolArgs {
                        id: id.clone(),
                        delta: "{}".to_owned(),
                    });
                }
                deltas.push_back(Delta::ToolEnd { id });
            }
            Open::Thinking { signature } => {
                let is_signed = !signature.is_empty();
                let signature = is_signed.then(|| Signature::Open(&signature).write(&self.model));
                deltas.push_back(Delta::ThinkingEnd(signature));
            }
        }
    }
}

impl Decode for Answer {
    fn event(&mut self, data: &str, deltas: &mut VecDeque<Delta>) -> Result<(), DecodeError> {
        let event: Event = serde_json::from_str(data).map_err(|error| DecodeError::json(&error))?;
        match event.r#type {
            EventType::MessageStart => {
                self.used(event.message.and_then(|start| start.usage), deltas);
            }
            EventType::ContentBlockStart => {
                if let Some(block) = event.content_block {
                    self.begin(event.index, block, deltas);
                }
            }
            EventType::ContentBlockDelta => {
                if let Some(piece) = event.delta {
                    self.piece(event.index, piece, deltas)?;
                }
            }
            EventType::ContentBlockStop => self.end_block(event.index, deltas),
            EventType::MessageDelta => {
                self.used(event.usage, deltas);
                if let Some(reason) = event.delta.and_then(|piece| piece.stop_reason) {
                    self.stop = Some(stop(&reason)?);
                }
            }
            EventType::MessageStop => {
                let unknown = || DecodeError::Malformed("missing stop reason".to_owned());
                let stop = self.stop.take().ok_or_else(unknown)?;
                deltas.push_back(Delta::Stop(stop));
            }
            EventType::Error => {
                let failure = event.error.unwrap_or(Failure {
                    r#type: String::new(),
                    message: "unknown error".to_owned(),
                });
                return Err(DecodeError::Failed {
                    is_transient: can_retry_kind(&failure.r#type),
                    message: failure.message,
                });
            }
            EventType::Other => {}
        }
        Ok(())
    }
}

fn stop(reason: &str) -> Result<StopReason, DecodeError> {
    Ok(match reason {
        "end_turn" | "stop_sequence" | "pause_turn" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" | "model_context_window_exceeded" => StopReason::Length,
        "refusal" => {
            let message = "the model declined to answer (refusal)";
            return Err(DecodeError::permanent(message));
        }
        other => StopReason::from(other),
    })
}
