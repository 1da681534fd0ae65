//! Applies the events from a running prompt.

use std::time::{Duration, Instant};

use zot_protocol::{StopReason, ToolStatus, rpc};

use super::steering;
use crate::{
    clean, output,
    tui::{
        state::{Call, FinishedCall, Item, Level, Outputs, Retry, State, Turn},
        text::Stream,
        widget::{item::inner, tool},
    },
};

/// Maximum number of bytes of a result to show.
const MAX_RESULT_BYTES: usize = 256 * 1024;

/// Applies one event from the running prompt.
pub(super) fn event(state: &mut State, event: rpc::Event) {
    match event {
        rpc::Event::UserMessage(message) => user_message(state, &message),
        rpc::Event::SteerBlocked(blocked) => {
            end_text(state);
            steering::blocked(state, &blocked.reason);
        }
        rpc::Event::TurnStart(start) => now(state, |turn| {
            turn.step = start.step;
            turn.retry = None;
            turn.quiet_since = Instant::now();
            turn.label = "thinking";
        }),
        rpc::Event::Retry(retry) => now(state, |turn| {
            // Drop the reasoning of the failed call. The next answer begins with its own.
            turn.thought = None;
            turn.quiet_since = Instant::now() + Duration::from_millis(retry.wait_ms);
            turn.retry = Some(Retry {
                at: Instant::now() + Duration::from_millis(retry.wait_ms),
                why: clean::line(&retry.message),
            });
        }),
        rpc::Event::AssistantStart(_) => begin_answer(state),
        rpc::Event::ThinkingDelta(delta) => now(state, |turn| {
            turn.label = "thinking";
            turn.retry = None;
            turn.thought().add(&clean::text(&delta.delta));
        }),
        rpc::Event::ThinkingEnd(end) => now(state, |turn| {
            turn.thought().end_block(end.redacted, Instant::now());
        }),
        rpc::Event::TextDelta(delta) => {
            end_thought(state);
            now(state, |turn| {
                turn.label = "answering";
                turn.retry = None;
                turn.quiet_since = Instant::now();
                turn.stream.push(&clean::text(&delta.delta));
            });
        }
        rpc::Event::ToolUseStart(start) => {
            end_thought(state);
            now(state, |turn| {
                turn.label = "calling";
                turn.retry = None;
                turn.calls
                    .push(Call::new(start.id, clean::line(&start.name)));
            });
        }
        rpc::Event::ToolUseArgs(args) => now(state, |turn| {
            if let Some(call) = turn.call(&args.id) {
                call.write(&args.delta);
            }
        }),
        rpc::Event::AssistantMessage(_) => end_text(state),
        rpc::Event::ToolCall(call) => now(state, |turn| {
            turn.label = "working";
            if turn.call(&call.id).is_none() {
                let new = Call::new(call.id.clone(), clean::line(&call.name));
                turn.calls.push(new);
            }
            if let Some(known) = turn.call(&call.id) {
                known.args = Some(call.args);
            }
        }),
        rpc::Event::ToolProgress(progress) => now(state, |turn| {
            if let Some(call) = turn.call(&progress.id) {
                call.add_progress(&clean::text(&progress.text));
            }
        }),
        rpc::Event::ToolResult(result) => self::result(state, result),
        rpc::Event::Usage(usage) => {
            let turn = usage.turn;
            state.status.used = turn.input + turn.cache_read + turn.cache_write + turn.output;
            state.status.cost = usage.cumulative.cost_usd;
        }
        rpc::Event::TurnEnd(end) => turn_end(state, &end),
        rpc::Event::Error(error) => {
            end_text(state);
            state.notify(Level::Error, clean::text(&error.message));
        }
        rpc::Event::CompactDone(done) => {
            end_text(state);
            state.status.used = done.summary.len() as u64 / 4;
            state.output.push(Item::Summary(clean::text(&done.summary)));
        }
        _ => {}
    }
}

/// Prints a user message: the prompt, or one that was sent while the agent was working.
fn user_message(state: &mut State, message: &rpc::UserMessage) {
    let (text, images) = block_text(&message.content);
    let turn = state.turn.as_mut();
    let is_prompt = turn.is_some_and(|turn| turn.prompt.take().is_some());
    let text = if is_prompt {
        state.thoughts.clear();
        let sent = state.turn.as_mut().and_then(|turn| turn.sent.take());
        // If an extension has changed the text, show all of it.
        match sent {
            Some((sent, shown)) if sent == text => shown,
            _ => text,
        }
    } else {
        end_text(state);
        steering::delivered(state, text)
    };
    let lines: Vec<String> = Some(text)
        .into_iter()
        .filter(|text| !text.is_empty())
        .chain(images)
        .collect();
    state.output.push(Item::User(lines.join("\n")));
}

/// Prepares for an answer. After a retry, it can be a second answer to the same request.
fn begin_answer(state: &mut State) {
    let mut was_shown = false;
    now(state, |turn| {
        turn.retry = None;
        was_shown = std::mem::take(&mut turn.has_shown);
        turn.stream = Stream::default();
        turn.calls.clear();
    });
    if was_shown {
        state.notify(Level::Muted, "the answer was cut off; starting over");
    }
}

fn now(state: &mut State, change: impl FnOnce(&mut Turn)) {
    if let Some(turn) = &mut state.turn {
        change(turn);
    }
}

/// Prints the reasoning that precedes what the model writes next.
fn end_thought(state: &mut State) {
    let Some(mut thought) = state.turn.as_mut().and_then(|turn| turn.thought.take()) else {
        return;
    };
    // An answer that was cancelled or cut off can end within a block.
    if thought.duration().is_none() {
        thought.end_block(false, Instant::now());
    }
    end_streamed(state);
    if state.thoughts.are_shown {
        state.output.push(Item::ThoughtUnfolded(thought, None));
    } else {
        state.output.push(Item::Thought(thought.clone()));
        state.thoughts.fold(thought);
    }
}

/// Ends the reasoning and the streaming text, and prints the rest of both.
fn end_text(state: &mut State) {
    end_thought(state);
    end_streamed(state);
}

fn end_streamed(state: &mut State) {
    let Some(turn) = &mut state.turn else {
        return;
    };
    let lines = turn.stream.finish(inner(state.size.width), &state.theme);
    if !lines.is_empty() {
        let first = !turn.has_shown;
        state.output.push(Item::Streamed { lines, first });
    }
    turn.has_shown = false;
}

fn result(state: &mut State, result: rpc::ToolResult) {
    let Some(turn) = &mut state.turn else {
        return;
    };
    let Some(at) = turn.calls.iter().position(|call| call.id == result.id) else {
        return;
    };
    let call = turn.calls.remove(at);
    let (text, images) = block_text(&result.content);
    let status = result.status.unwrap_or(if result.is_error {
        ToolStatus::Failed
    } else {
        ToolStatus::Completed
    });
    let call = FinishedCall {
        name: call.name,
        args: call.args.unwrap_or_default(),
        extension: result.extension.map(|name| clean::line(&name)),
        status,
        text,
        images,
    };
    if tool::is_folded(&call, state.size.width, &state.theme) {
        state.fold(call.clone());
    }
    state.output.push(Item::Tool(call));
}

fn turn_end(state: &mut State, end: &rpc::TurnEnd) {
    end_text(state);
    // The model started to write these calls, but its answer was cut off, so they never ran.
    if end.stop != StopReason::ToolUse {
        now(state, |turn| turn.calls.clear());
    }
}

/// Handles the end of a prompt.
pub(super) fn ended(state: &mut State) {
    end_text(state);
    let Some(turn) = state.turn.take() else {
        return;
    };
    state.submits.running = false;
    if !turn.cancelled {
        steering::requeue(state, turn.steered);
    }
    if turn.cancelled {
        // The agent has not accepted the prompt, so give it back to the user.
        if let Some(prompt) = turn.prompt.filter(|_| turn.is_users) {
            let sent = turn.sent.map_or(prompt, |(sent, _)| sent);
            let (text, _) = Outputs::split(&sent);
            state.outputs.restore(&sent, text);
            return_to_editor(state, text);
        }
        state.notify(Level::Muted, "cancelled");
    }
}

/// Puts a prompt that the agent has not accepted back into the editor, before the draft.
fn return_to_editor(state: &mut State, text: &str) {
    let is_inserted = state.is_inserted() || state.was_inserted(text);
    state.editor.prepend(text);
    if is_inserted {
        state.mark_inserted();
    }
    state.refresh_popup();
}

/// Returns the text of the blocks and one line per image.
pub(crate) fn block_text(blocks: &[rpc::Block]) -> (String, Vec<String>) {
    let mut text = String::new();
    let mut images = Vec::new();
    for block in blocks {
        match block {
            rpc::Block::Text(block) => {
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(&block.text);
                if text.len() > MAX_RESULT_BYTES {
                    text.truncate(text.floor_char_boundary(MAX_RESULT_BYTES));
                    text.push_str("\n…");
                }
            }
            rpc::Block::Image(image) => {
                let mime = clean::line(&image.mime_type);
                images.push(format!("image · {mime} · {}", output::bytes(image.bytes)));
            }
            _ => {}
        }
    }
    (clean::text(&text), images)
}
