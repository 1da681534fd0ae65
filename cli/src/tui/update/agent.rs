//! Applies the events from a running prompt.

use zot_protocol::{StopReason, ToolStatus, rpc};

use crate::{
    clean, output,
    tui::{
        state::{Call, FinishedCall, Item, Level, State, Turn},
        widget::item::inner,
    },
};

/// Maximum number of bytes of a result to show.
const MAX_RESULT_BYTES: usize = 256 * 1024;

/// Applies one event from the running prompt.
pub(super) fn event(state: &mut State, event: rpc::Event) {
    match event {
        rpc::Event::UserMessage(message) => {
            if let Some(turn) = &mut state.turn {
                turn.prompt = None;
            }
            let (text, images) = block_text(&message.content);
            let lines: Vec<String> = Some(text)
                .into_iter()
                .filter(|text| !text.is_empty())
                .chain(images)
                .collect();
            state.output.push(Item::User(lines.join("\n")));
        }
        rpc::Event::TurnStart(start) => now(state, |turn| {
            turn.step = start.step;
            turn.label = "thinking";
        }),
        rpc::Event::TextDelta(delta) => now(state, |turn| {
            turn.label = "answering";
            turn.stream.push(&clean::text(&delta.delta));
        }),
        rpc::Event::ToolUseStart(start) => now(state, |turn| {
            turn.label = "calling";
            turn.calls
                .push(Call::new(start.id, clean::line(&start.name)));
        }),
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

fn now(state: &mut State, change: impl FnOnce(&mut Turn)) {
    if let Some(turn) = &mut state.turn {
        change(turn);
    }
}

/// Ends the streaming text and prints the rest of it.
fn end_text(state: &mut State) {
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
    if call.is_folded() {
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
    if end.stop == StopReason::Length {
        state.notify(
            Level::Warning,
            "the answer was truncated at the model's output limit",
        );
    }
}

/// Handles the end of a prompt.
pub(super) fn ended(state: &mut State) {
    end_text(state);
    let Some(turn) = state.turn.take() else {
        return;
    };
    state.submits.running = false;
    if turn.cancelled {
        state.notify(Level::Muted, "cancelled");
    }
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
