//! What the Messages API streams.

use std::collections::VecDeque;

use serde::Deserialize;
use zot_protocol::{Object, StopReason, ToolId};

use crate::provider::{
    Delta, Tokens,
    exchange::{Decode, Wrong},
    seam::{Raw, Seam},
    sse,
};

/// Makes deltas of the events of one answer.
pub(super) struct Answer {
    model: String,
    /// The blocks that have begun and not ended, by their number.
    open: Vec<(u64, Open)>,
    /// Of texts and of thoughts.
    seam: Seam,
    tokens: Tokens,
    stop: Option<StopReason>,
}

enum Open {
    Tool {
        id: ToolId,
        has_args: bool,
        seam: Seam,
    },
    Thinking {
        signature: String,
    },
}

/// The seal on what a model has thought: whose it is, and what the API wants back.
pub(super) enum Seal<'a> {
    /// The signature of a thought.
    Open(&'a str),
    /// A thought that nobody may read.
    Redacted(&'a str),
}

impl<'a> Seal<'a> {
    /// The seal, where it is one of this model's.
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

/// Any event, flat: one pass over its text, and open to what later versions add.
#[derive(Deserialize)]
struct Event {
    r#type: Kind,
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
enum Kind {
    MessageStart,
    ContentBlockStart,
    ContentBlockDelta,
    ContentBlockStop,
    MessageDelta,
    MessageStop,
    Error,
    /// A ping, or what later versions add.
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
    text: Option<Raw>,
    partial_json: Option<Raw>,
    thinking: Option<Raw>,
    signature: Option<String>,
    stop_reason: Option<String>,
}

/// Tokens; absent: as before.
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
    /// The answer of a model.
    pub(super) fn new(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            open: Vec::new(),
            seam: Seam::default(),
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
                // Compatible servers are known to send the whole input here.
                let has_args = !block.input.is_empty();
                if has_args {
                    let delta = serde_json::Value::Object(block.input).to_string();
                    let id = id.clone();
                    deltas.push_back(Delta::ToolArgs { id, delta });
                }
                let seam = Seam::default();
                self.open.push((index, Open::Tool { id, has_args, seam }));
            }
            "thinking" => {
                if !block.thinking.is_empty() {
                    deltas.push_back(Delta::Thinking(block.thinking));
                }
                let signature = String::new();
                self.open.push((index, Open::Thinking { signature }));
            }
            "redacted_thinking" => {
                let seal = Seal::Redacted(&block.data).write(&self.model);
                deltas.push_back(Delta::ThinkingSignature(seal));
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
    ) -> Result<(), Wrong> {
        let given = |text: String| (!text.is_empty()).then_some(text);
        if let Some(text) = piece.text.and_then(|text| given(self.seam.join(text))) {
            deltas.push_back(Delta::Text(text));
        }
        if let Some(text) = piece.thinking.and_then(|text| given(self.seam.join(text))) {
            deltas.push_back(Delta::Thinking(text));
        }
        if let (Some(more), Some(Open::Thinking { signature })) =
            (piece.signature, self.open(index))
        {
            signature.push_str(&more);
        }
        if let Some(args) = piece.partial_json.filter(|args| !args.is_empty()) {
            let Some(Open::Tool { id, has_args, seam }) = self.open(index) else {
                let message = format!("arguments for block {index}, which is no tool call");
                return Err(Wrong::Malformed(message));
            };
            *has_args = true;
            let id = id.clone();
            if let Some(delta) = given(seam.join(args)) {
                deltas.push_back(Delta::ToolArgs { id, delta });
            }
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
            Open::Thinking { signature } if !signature.is_empty() => {
                let seal = Seal::Open(&signature).write(&self.model);
                deltas.push_back(Delta::ThinkingSignature(seal));
            }
            Open::Thinking { .. } => {}
        }
    }
}

impl Decode for Answer {
    fn event(&mut self, event: sse::Event<'_>, deltas: &mut VecDeque<Delta>) -> Result<(), Wrong> {
        let event: Event = serde_json::from_str(event.data).map_err(|error| Wrong::json(&error))?;
        match event.r#type {
            Kind::MessageStart => self.used(event.message.and_then(|start| start.usage), deltas),
            Kind::ContentBlockStart => {
                if let Some(block) = event.content_block {
                    self.begin(event.index, block, deltas);
                }
            }
            Kind::ContentBlockDelta => {
                if let Some(piece) = event.delta {
                    self.piece(event.index, piece, deltas)?;
                }
            }
            Kind::ContentBlockStop => self.end_block(event.index, deltas),
            Kind::MessageDelta => {
                self.used(event.usage, deltas);
                if let Some(reason) = event.delta.and_then(|piece| piece.stop_reason) {
                    self.stop = Some(stop(&reason)?);
                }
            }
            Kind::MessageStop => {
                let unknown = || Wrong::Malformed("an end without a reason".to_owned());
                let stop = self.stop.take().ok_or_else(unknown)?;
                deltas.push_back(Delta::Stop(stop));
            }
            Kind::Error => {
                let failure = event.error.unwrap_or(Failure {
                    r#type: String::new(),
                    message: "an error without a reason".to_owned(),
                });
                let passes = matches!(&*failure.r#type, "overloaded_error" | "rate_limit_error");
                return Err(Wrong::Failed {
                    message: failure.message,
                    passes,
                });
            }
            Kind::Other => {}
        }
        Ok(())
    }

    fn end(&mut self, _: &mut VecDeque<Delta>) {
        // An answer of this API says its end; without it, it is cut off.
    }
}

fn stop(reason: &str) -> Result<StopReason, Wrong> {
    Ok(match reason {
        "end_turn" | "stop_sequence" | "pause_turn" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" | "model_context_window_exceeded" => StopReason::Length,
        "refusal" => {
            return Err(Wrong::Failed {
                message: "the model declined to answer (refusal)".to_owned(),
                passes: false,
            });
        }
        other => StopReason::from(other),
    })
}
