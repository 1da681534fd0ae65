//! Recorded turns for the demo, as JSON Lines.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::Value;
use zot_protocol::{StopReason, ToolId};

use super::{Delta, Request, Tokens, estimate, pieces, tool_call};

/// The size limit of a script.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// A script of model turns, one per line: an object, or an array of objects to play in sequence.
/// Empty lines are skipped. All fields are optional, and play in this order:
///
/// | field | what happens |
/// |---|---|
/// | `delay_ms` | waits this many milliseconds |
/// | `thinking` | reasoning, signed with `signature` |
/// | `text` | text: a string streams word by word, an array of strings in exactly these pieces |
/// | `tool_call` | a tool call: `name`, `args` (an object, or a string that is sent unchanged, even if it is not JSON), `id` |
/// | `tool_calls` | an array of tool calls |
/// | `usage` | tokens: `input`, `output`, `cache_read`, `cache_write`; without it they are estimated |
/// | `error` | the provider fails with this message, and the turn is over |
/// | `cut_off` | `true`: the answer stops in the middle, and the turn is over |
/// | `stop` | why the turn ends; without it `tool_use` after a call, else `end_turn` |
///
/// ```
/// use zot_host::provider::demo::Script;
///
/// let script = Script::parse(concat!(
///     r#"{"text": "Let me look.", "tool_call": {"name": "read", "args": {"path": "a.txt"}}}"#, "\n",
///     r#"[{"text": ["It ", "says "]}, {"delay_ms": 5}, {"text": "hi.", "usage": {"input": 9, "output": 4}}]"#, "\n",
///     r#"{"error": "overloaded"}"#, "\n",
/// ))?;
/// assert_eq!(script.len(), 3);
/// # Ok::<(), zot_host::provider::demo::ScriptError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Script {
    turns: Vec<Vec<Part>>,
}

/// Error returned for an invalid script.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("cannot read script `{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
    /// A line is invalid.
    #[error("invalid line {line} in script: {reason}")]
    Line {
        /// The line number, from 1.
        line: usize,
        /// What is invalid.
        reason: String,
    },
}

/// A step of a turn.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    Delta(Delta),
    Wait(Duration),
    Fail(String),
    CutOff,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    delay_ms: Option<u64>,
    #[serde(default, deserialize_with = "texts")]
    thinking: Vec<String>,
    signature: Option<String>,
    #[serde(default, deserialize_with = "texts")]
    text: Vec<String>,
    tool_call: Option<Call>,
    #[serde(default)]
    tool_calls: Vec<Call>,
    usage: Option<Tokens>,
    error: Option<String>,
    #[serde(default)]
    cut_off: bool,
    stop: Option<StopReason>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    id: Option<String>,
    name: String,
    #[serde(default = "nothing", deserialize_with = "args")]
    args: String,
}

fn nothing() -> String {
    "{}".to_owned()
}

/// Deserialises a string, which is split into words, or an array of pieces.
fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let wrong = || D::Error::custom("text must be a string or an array of strings");
    match Value::deserialize(deserializer)? {
        Value::String(text) => Ok(pieces(&text).collect()),
        Value::Array(texts) => texts
            .into_iter()
            .map(|text| match text {
                Value::String(text) => Ok(text),
                _ => Err(wrong()),
            })
            .collect(),
        _ => Err(wrong()),
    }
}

fn args<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(text) => Ok(text),
        args @ Value::Object(_) => Ok(args.to_string()),
        _ => Err(D::Error::custom("`args` must be an object or a string")),
    }
}

impl Script {
    /// Reads a script from a file.
    pub fn read(path: &Path) -> Result<Self, ScriptError> {
        let io = |source| ScriptError::Io {
            path: path.to_owned(),
            source,
        };
        if fs::metadata(path).map_err(io)?.len() > MAX_BYTES {
            return Err(io(io::Error::other("file is too large")));
        }
        Self::parse(&fs::read_to_string(path).map_err(io)?)
    }

    /// Parses a script.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        let lines = text.strip_prefix('\u{feff}').unwrap_or(text).lines();
        let turns = lines
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty())
            .map(|(number, line)| {
                turn(line).map_err(|error| ScriptError::Line {
                    line: number + 1,
                    // Each line is parsed on its own, so `serde_json` always reports line 1.
                    reason: error.to_string().replace(" at line 1 column", " at column"),
                })
            });
        Ok(Self {
            turns: turns.collect::<Result<_, _>>()?,
        })
    }

    /// Returns the number of turns.
    pub fn len(&self) -> usize {
        self.turns.len()
    }

    /// Reports whether it has no turns.
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Returns the steps of turn `number`, counted from 0.
    pub(super) fn turn(&self, number: usize, request: &Request) -> Vec<Step> {
        let Some(parts) = self.turns.get(number) else {
            let count = self.turns.len();
            let s = if count == 1 { "" } else { "s" };
            return vec![Step::Fail(format!(
                "the script has {count} turn{s}, but the agent asked for turn {}",
                number + 1
            ))];
        };
        let mut steps = Vec::new();
        let mut deltas = Vec::new();
        let mut calls = 0;
        let mut has_usage = false;
        let mut stop = None;
        let mut received = Vec::new();
        for part in parts {
            steps.extend(
                part.delay_ms
                    .map(|ms| Step::Wait(Duration::from_millis(ms))),
            );
            deltas.extend(part.thinking.iter().cloned().map(Delta::Thinking));
            deltas.extend(
                part.signature
                    .iter()
                    .cloned()
                    .map(Some)
                    .map(Delta::ThinkingEnd),
            );
            deltas.extend(part.text.iter().cloned().map(Delta::Text));
            for call in part.tool_call.iter().chain(&part.tool_calls) {
                calls += 1;
                let default_id = || format!("demo_{}_{calls}", request.messages.len());
                let id = ToolId(call.id.clone().unwrap_or_else(default_id));
                tool_call(&id, &call.name, &call.args, &mut deltas);
            }
            if let Some(usage) = part.usage {
                has_usage = true;
                deltas.push(Delta::Usage(usage));
            }
            received.extend_from_slice(&deltas);
            steps.extend(deltas.drain(..).map(Step::Delta));
            if let Some(message) = &part.error {
                steps.push(Step::Fail(message.clone()));
                return steps;
            }
            if part.cut_off {
                steps.push(Step::CutOff);
                return steps;
            }
            stop = part.stop.clone().or(stop);
        }
        if !has_usage {
            steps.push(Step::Delta(Delta::Usage(estimate(request, &received))));
        }
        let usual = if calls > 0 {
            StopReason::ToolUse
        } else {
            StopReason::EndTurn
        };
        steps.push(Step::Delta(Delta::Stop(stop.unwrap_or(usual))));
        steps
    }
}

fn turn(line: &str) -> Result<Vec<Part>, serde_json::Error> {
    if line.trim_start().starts_with('[') {
        serde_json::from_str(line)
    } else {
        serde_json::from_str(line).map(|part| vec![part])
    }
}
