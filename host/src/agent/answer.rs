//! Collects a streamed answer: turns deltas into blocks, and into events for drivers.

use serde_json::Value;
use zot_protocol::{Object, StopReason, ToolId, limits, rpc, validate};

use crate::{
    message::{Block, text_of},
    provider::{Delta, Tokens},
};

/// The answer so far.
#[derive(Debug, Default)]
pub(super) struct Answer {
    blocks: Vec<Block>,
    /// Whether the last block is reasoning that has not ended.
    thinking: bool,
    /// Tool calls that have started but are not complete yet.
    open: Vec<OpenCall>,
    /// Tool calls with invalid arguments, each with the reason.
    pub(super) malformed: Vec<(ToolId, String)>,
    pub(super) tokens: Tokens,
    pub(super) stop: Option<StopReason>,
}

/// The result of a tool call that was cut off.
const INCOMPLETE: &str = "this call is incomplete, so it did not run";

#[derive(Debug)]
struct OpenCall {
    id: ToolId,
    name: String,
    args: String,
    /// Whether the arguments exceed the size limit, in which case further pieces are dropped.
    too_large: bool,
}

impl Answer {
    /// Adds a delta and returns the event for drivers, if any.
    pub(super) fn take_in(&mut self, delta: Delta) -> Option<rpc::Event> {
        match delta {
            Delta::Text(text) => {
                match self.blocks.last_mut() {
                    Some(Block::Text { text: before }) => before.push_str(&text),
                    _ => self.blocks.push(Block::Text { text: text.clone() }),
                }
                Some(rpc::TextDelta::new(text).into())
            }
            Delta::Thinking(text) => {
                self.open_thinking().push_str(&text);
                (!text.is_empty()).then(|| rpc::ThinkingDelta::new(text).into())
            }
            Delta::ThinkingEnd(signature) => self.end_thinking(signature),
            Delta::ToolStart { id, name } => {
                let event = rpc::ToolUseStart::new(id.clone(), &name);
                self.open.push(OpenCall {
                    id,
                    name,
                    args: String::new(),
                    too_large: false,
                });
                Some(event.into())
            }
            Delta::ToolArgs { id, delta } => {
                let call = self.open.iter_mut().find(|call| call.id == id)?;
                call.too_large |= call.args.len() + delta.len() > limits::TOOL_ARGUMENT_BYTES;
                if call.too_large {
                    return None;
                }
                call.args.push_str(&delta);
                Some(rpc::ToolUseArgs::new(id, delta).into())
            }
            Delta::ToolEnd { id } => {
                let at = self.open.iter().position(|call| call.id == id)?;
                let call = self.open.remove(at);
                self.complete(call);
                Some(rpc::ToolUseEnd::new(id).into())
            }
            Delta::Usage(tokens) => {
                self.tokens = tokens;
                None
            }
            Delta::Stop(stop) => {
                self.stop = Some(stop);
                // The answer was cut off within these calls, so they cannot run.
                for OpenCall { id, name, .. } in std::mem::take(&mut self.open) {
                    self.malformed.push((id.clone(), INCOMPLETE.to_owned()));
                    let args = Object::new();
                    self.blocks.push(Block::ToolCall { id, name, args });
                }
                None
            }
        }
    }

    /// Returns the block of reasoning that is streaming, or begins one.
    fn open_thinking(&mut self) -> &mut String {
        let is_open = std::mem::replace(&mut self.thinking, true)
            && matches!(self.blocks.last(), Some(Block::Thinking { .. }));
        if !is_open {
            self.blocks.push(Block::Thinking {
                text: String::new(),
                signature: None,
            });
        }
        match self.blocks.last_mut() {
            Some(Block::Thinking { text, .. }) => text,
            _ => unreachable!("pushed above"),
        }
    }

    /// Ends the block of reasoning that is streaming. If there is none, the signature is data about
    /// the block that follows: it is stored, but drivers get no event.
    fn end_thinking(&mut self, new: Option<String>) -> Option<rpc::Event> {
        let is_open = std::mem::take(&mut self.thinking);
        match self.blocks.last_mut() {
            Some(Block::Thinking { text, signature }) if is_open => {
                *signature = new;
                Some(rpc::ThinkingEnd::new(text.is_empty()).into())
            }
            _ => {
                self.blocks.extend(new.map(|signature| Block::Thinking {
                    text: String::new(),
                    signature: Some(signature),
                }));
                None
            }
        }
    }

    fn complete(&mut self, call: OpenCall) {
        let OpenCall { id, name, .. } = call;
        let args = if call.too_large {
            let most = limits::TOOL_ARGUMENT_BYTES;
            Err(format!("arguments are larger than {most} bytes"))
        } else {
            read_args(&call.args)
        };
        let args = match args {
            Ok(args) => args,
            Err(why) => {
                self.malformed.push((id.clone(), why));
                Object::new()
            }
        };
        self.blocks.push(Block::ToolCall { id, name, args });
    }

    /// Returns the text of all text blocks.
    pub(super) fn text(&self) -> String {
        text_of(&self.blocks)
    }

    /// Returns the tool calls. A malformed call has no arguments.
    pub(super) fn tool_calls(&self) -> impl Iterator<Item = rpc::ToolCall> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolCall { id, name, args } => {
                Some(rpc::ToolCall::new(id.clone(), name, args.clone()))
            }
            _ => None,
        })
    }

    /// Returns the part of an incomplete answer that can be kept: its text. A tool call would have
    /// no result, and a provider rejects reasoning without its signature.
    pub(super) fn into_partial(mut self) -> Self {
        self.blocks
            .retain(|block| matches!(block, Block::Text { .. }));
        Self {
            blocks: self.blocks,
            tokens: self.tokens,
            ..Self::default()
        }
    }

    /// Replaces all blocks with this text, which the user has seen.
    pub(super) fn with_text(self, text: String) -> Self {
        let text = (!text.is_empty()).then_some(Block::Text { text });
        Self {
            blocks: text.into_iter().collect(),
            tokens: self.tokens,
            ..Self::default()
        }
    }

    /// Reports whether the text is empty or only whitespace. Providers reject such messages.
    pub(super) fn is_blank(&self) -> bool {
        self.text().trim().is_empty()
    }

    /// Returns the blocks for the transcript. Drops reasoning at the end: the block that it belongs
    /// to is missing, so providers would reject it.
    pub(super) fn into_blocks(mut self) -> Vec<Block> {
        while let Some(Block::Thinking { .. }) = self.blocks.last() {
            self.blocks.pop();
        }
        self.blocks
    }

    /// Returns the blocks so far.
    pub(super) fn blocks(&self) -> &[Block] {
        &self.blocks
    }
}

/// Parses the arguments of a tool call. Empty text means no arguments.
fn read_args(text: &str) -> Result<Object, String> {
    if text.trim().is_empty() {
        return Ok(Object::new());
    }
    if validate::weight(text.as_bytes()) > limits::FRAME_VALUES {
        return Err(format!(
            "arguments have more than {} values and keys (each object or list counts as 8)",
            limits::FRAME_VALUES
        ));
    }
    match validate::strict_json(text.as_bytes()) {
        Ok(Value::Object(args)) => Ok(args),
        Ok(_) => Err("arguments must be a JSON object".to_owned()),
        Err(mut refusal) => {
            // Arguments are not a frame, even if they have a `type` field, so the error must not
            // name a frame type.
            refusal.frame_type = None;
            Err(format!("invalid arguments: {refusal}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_is_cut_off_is_kept_as_malformed() {
        let mut deltas: Vec<Delta> = call([r#"{"pa"#]).collect();
        deltas.pop();
        deltas.push(Delta::Stop(StopReason::Length));
        let (answer, _) = answer(deltas);
        assert_eq!(answer.tool_calls().count(), 1);
        assert_eq!(
            answer.malformed,
            [(ToolId::from("t1"), INCOMPLETE.to_owned())]
        );
    }

    #[test]
    fn reasoning_without_a_following_block_is_dropped() {
        let deltas = [
            Delta::Text("a".into()),
            Delta::Thinking("hm".into()),
            Delta::ThinkingEnd(Some("sig".into())),
        ];
        let (answer, _) = answer(deltas);
        assert_eq!(answer.into_blocks(), [Block::Text { text: "a".into() }]);
    }

    fn answer(deltas: impl IntoIterator<Item = Delta>) -> (Answer, Vec<String>) {
        let mut answer = Answer::default();
        let events = deltas
            .into_iter()
            .filter_map(|delta| answer.take_in(delta))
            .map(|event| zot_protocol::Tagged::name(&event).to_owned())
            .collect();
        (answer, events)
    }

    /// Returns the deltas of a `read` call whose arguments arrive in these pieces.
    fn call<'p>(pieces: impl IntoIterator<Item = &'p str>) -> impl Iterator<Item = Delta> {
        let id = || ToolId::from("t1");
        let start = Delta::ToolStart {
            id: id(),
            name: "read".into(),
        };
        let args = pieces.into_iter().map(move |piece| Delta::ToolArgs {
            id: id(),
            delta: piece.to_owned(),
        });
        let end = Delta::ToolEnd { id: id() };
        std::iter::once(start).chain(args).chain([end])
    }

    #[test]
    fn deltas_become_blocks_in_order() {
        let before = [
            Delta::Thinking("h".into()),
            Delta::Thinking("m".into()),
            Delta::ThinkingEnd(Some("sig".into())),
            Delta::Text("Hel".into()),
            Delta::Text("lo".into()),
        ];
        let call = call([r#"{"path":"#, r#""x"}"#]);
        let stop = Delta::Stop(StopReason::ToolUse);
        let (answer, events) = answer(before.into_iter().chain(call).chain([stop]));
        assert_eq!(
            events,
            [
                "thinking_delta",
                "thinking_delta",
                "thinking_end",
                "text_delta",
                "text_delta",
                "tool_use_start",
                "tool_use_args",
                "tool_use_args",
                "tool_use_end"
            ]
        );
        assert_eq!(answer.text(), "Hello");
        assert!(answer.malformed.is_empty());
        let mut args = Object::new();
        args.insert("path".into(), "x".into());
        assert_eq!(
            answer.into_blocks(),
            [
                Block::Thinking {
                    text: "hm".into(),
                    signature: Some("sig".into())
                },
                Block::Text {
                    text: "Hello".into()
                },
                Block::ToolCall {
                    id: "t1".into(),
                    name: "read".into(),
                    args
                },
            ]
        );
    }

    #[test]
    fn each_block_of_reasoning_keeps_its_own_signature() {
        let end = |signature: &str| Delta::ThinkingEnd(Some(signature.into()));
        let (answer, _) = answer([
            Delta::Thinking("a".into()),
            end("one"),
            end("redacted"),
            end("redacted too"),
            Delta::Thinking("b".into()),
            Delta::ThinkingEnd(None),
            Delta::Thinking("c".into()),
            end("two"),
            Delta::Text("x".into()),
            Delta::Thinking("d".into()),
            Delta::ThinkingEnd(None),
            Delta::Text("y".into()),
        ]);
        let block = |text: &str, signature: Option<&str>| Block::Thinking {
            text: text.into(),
            signature: signature.map(str::to_owned),
        };
        assert_eq!(
            answer.into_blocks(),
            [
                block("a", Some("one")),
                block("", Some("redacted")),
                block("", Some("redacted too")),
                block("b", None),
                block("c", Some("two")),
                Block::Text { text: "x".into() },
                block("d", None),
                Block::Text { text: "y".into() },
            ]
        );
    }

    #[test]
    fn drivers_are_notified_of_redacted_reasoning_but_not_of_other_data() {
        let mut answer = Answer::default();
        let sealed = || Delta::ThinkingEnd(Some("sealed".into()));
        assert_eq!(answer.take_in(Delta::Thinking(String::new())), None);
        let redacted = rpc::ThinkingEnd::new(true).into();
        assert_eq!(answer.take_in(sealed()), Some(redacted));
        assert_eq!(answer.take_in(sealed()), None);
        assert_eq!(answer.blocks().len(), 2);
    }

    #[test]
    fn reports_arguments_that_are_not_an_object() {
        let reserved = r#"{"a":{"$serde_json::private::RawValue":"[1]"}}"#;
        for (args, fine) in [
            ("", true),
            ("{}", true),
            ("[1]", false),
            ("{\"a\":", false),
            ("{\"a\":1,\"a\":2}", false),
            (reserved, false),
        ] {
            let (answer, _) = answer(call([args]));
            assert_eq!(answer.malformed.is_empty(), fine, "{args}");
            assert_eq!(answer.blocks().len(), 1, "the call is kept");
        }
    }

    #[test]
    fn arguments_with_too_many_bytes_or_values_are_rejected() {
        let piece = "x".repeat(100_000);
        let (large, events) = answer(call(std::iter::repeat_n(&*piece, 100)));
        assert_eq!(
            events.len(),
            12,
            "dropped arguments are not sent to drivers"
        );
        let nested = format!(r#"{{"a":[[]{}]}}"#, ",[]".repeat(20_000));
        let (nested, _) = answer(call([&*nested]));
        for (answer, why) in [(large, "1048576 bytes"), (nested, "100000 values")] {
            let (_, reason) = &answer.malformed[0];
            assert!(reason.contains(why), "{reason}");
            let empty =
                matches!(&answer.blocks[0], Block::ToolCall { args, .. } if args.is_empty());
            assert!(empty);
        }
    }
}
