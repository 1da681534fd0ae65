//! The demo provider: no key, no network, and the same answer every time.

mod script;

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use futures_util::{StreamExt, stream};
use serde::de::IgnoredAny;
use zot_protocol::{Content, StopReason, ToolId};

use super::{Delta, Deltas, Provider, ProviderError, Request, Tokens};
use crate::message::{Block, Message, Role};

use script::Step;
pub use script::{Script, ScriptError};

/// The name of the provider and of its model.
pub const NAME: &str = "demo";

/// The demo provider.
///
/// A line `/call NAME {json}` in the prompt makes it call that tool; several lines call several
/// tools, and it answers with their results. It answers anything else with fixed text. With a
/// [`Script`] it plays recorded turns, one per request, and fails after the last one.
#[derive(Debug, Default)]
pub struct Demo {
    script: Option<Arc<Script>>,
    /// How many turns have been played.
    played: Arc<AtomicUsize>,
}

const SENTENCE: &str = "I am the demo model: I need no key and no network, and I know nothing. Type \
    `/call NAME {json}` on a line of its own to call the tool NAME; for a real model, set ANTHROPIC_API_KEY or OPENAI_API_KEY, or run \
    `zot auth set anthropic`.";

impl Demo {
    /// Creates a demo without a script.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a demo that plays a script.
    pub fn with_script(script: Script) -> Self {
        Self {
            script: Some(Arc::new(script)),
            ..Self::default()
        }
    }
}

impl Provider for Demo {
    fn name(&self) -> &str {
        NAME
    }

    fn stream(&self, request: Request) -> Deltas {
        let script = self.script.clone();
        let played = Arc::clone(&self.played);
        // Play a turn when the stream is polled, so that an unused stream does not skip a turn.
        let steps = stream::once(async move {
            let steps = match script {
                Some(script) => script.turn(played.fetch_add(1, Ordering::SeqCst), &request),
                None => answer(&request).into_iter().map(Step::Delta).collect(),
            };
            stream::iter(steps)
        });
        let deltas = steps.flatten().filter_map(|step| async {
            match step {
                Step::Delta(delta) => Some(Ok(delta)),
                Step::Wait(time) => {
                    tokio::time::sleep(time).await;
                    None
                }
                Step::CutOff => Some(Err(ProviderError::CutOff {
                    provider: NAME.to_owned(),
                })),
                Step::Fail(message) => Some(Err(ProviderError::Failed {
                    provider: NAME.to_owned(),
                    message,
                    is_transient: false,
                })),
            }
        });
        deltas.boxed()
    }
}

fn answer(request: &Request) -> Vec<Delta> {
    let last = request.messages.last();
    let mut deltas = Vec::new();
    let mut text = String::new();
    let mut stop = StopReason::EndTurn;
    match last {
        Some(message) if message.role == Role::Tool => text = results(&request.messages),
        Some(message) if message.role == Role::User => {
            let prompt = message.text();
            match prompt
                .lines()
                .filter_map(call)
                .collect::<Result<Vec<_>, _>>()
            {
                Err(mistake) => text = mistake,
                Ok(calls) if calls.is_empty() => SENTENCE.clone_into(&mut text),
                Ok(calls) => {
                    stop = StopReason::ToolUse;
                    for (number, (name, args)) in calls.into_iter().enumerate() {
                        // The position in the transcript makes the id unique.
                        let id = format!("demo_{}_{}", request.messages.len(), number + 1);
                        tool_call(&ToolId(id), &name, &args, &mut deltas);
                    }
                }
            }
        }
        _ => SENTENCE.clone_into(&mut text),
    }
    deltas.extend(pieces(&text).map(Delta::Text));
    deltas.push(Delta::Usage(estimate(request, &deltas)));
    deltas.push(Delta::Stop(stop));
    deltas
}

/// Streams a call in pieces, like a real model.
fn tool_call(id: &ToolId, name: &str, args: &str, deltas: &mut Vec<Delta>) {
    deltas.push(Delta::ToolStart {
        id: id.clone(),
        name: name.to_owned(),
    });
    let middle = args.floor_char_boundary(args.len() / 2);
    for delta in [&args[..middle], &args[middle..]] {
        if !delta.is_empty() {
            deltas.push(Delta::ToolArgs {
                id: id.clone(),
                delta: delta.to_owned(),
            });
        }
    }
    deltas.push(Delta::ToolEnd { id: id.clone() });
}

/// Parses a line `/call NAME {json}`. Returns the tool and arguments, or an error; `None` for any
/// other line.
fn call(line: &str) -> Option<Result<(String, String), String>> {
    let rest = line.trim().strip_prefix("/call")?;
    if !rest.is_empty() && !rest.starts_with(char::is_whitespace) {
        return None;
    }
    let rest = rest.trim();
    let (name, args) = rest.split_once(char::is_whitespace).unwrap_or((rest, "{}"));
    if name.is_empty() {
        return Some(Err("Missing tool name: /call NAME {json}".to_owned()));
    }
    let args = args.trim();
    // Only check the arguments here. The agent parses them, with its own limits.
    Some(match serde_json::from_str::<IgnoredAny>(args) {
        Ok(_) if args.starts_with('{') => Ok((name.to_owned(), args.to_owned())),
        Ok(_) => Err(format!("The arguments of {name} must be a JSON object.")),
        Err(error) => Err(format!("The arguments of {name} are not JSON: {error}.")),
    })
}

/// Returns the results of the latest tool calls.
fn results(messages: &[Arc<Message>]) -> String {
    let is_tools = |message: &Arc<Message>| message.role == Role::Tool;
    let first = messages.iter().rposition(|message| !is_tools(message));
    let blocks = messages[first.map_or(0, |at| at + 1)..]
        .iter()
        .flat_map(|message| &message.content);
    let mut texts = Vec::new();
    for block in blocks {
        let Block::ToolResult { content, .. } = block else {
            continue;
        };
        texts.extend(content.iter().map(|content| match content {
            Content::Text(text) => text.text.clone(),
            Content::Image(image) => format!("({})", image.mime_type),
            _ => String::new(),
        }));
    }
    texts.join("\n")
}

/// Splits text into words, the way a model would stream it.
fn pieces(text: &str) -> impl Iterator<Item = String> {
    text.split_inclusive(char::is_whitespace).map(str::to_owned)
}

/// Estimates the number of tokens, at four bytes per token.
fn estimate(request: &Request, deltas: &[Delta]) -> Tokens {
    let sent: usize = request
        .messages
        .iter()
        .map(|message| message.text().len())
        .sum();
    let received: usize = deltas
        .iter()
        .map(|delta| match delta {
            Delta::Text(text) | Delta::ToolArgs { delta: text, .. } => text.len(),
            _ => 0,
        })
        .sum();
    Tokens {
        input: ((request.system.len() + sent) / 4) as u64,
        output: (received / 4) as u64,
        ..Tokens::default()
    }
}
