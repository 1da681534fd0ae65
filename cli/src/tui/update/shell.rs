//! Shell commands that the user runs with `!`. Only text that the user has typed, or has seen and
//! edited, runs. A prompt from an extension never runs.

use zot_host::{ToolOutcome, message::shown_content};
use zot_protocol::ToolStatus;

use super::{agent::block_text, command::shell_command};
use crate::{
    clean,
    tui::{
        message::Effect,
        state::{FinishedCall, Item, Level, Queued, SHELL, ShellRun, State},
        widget::tool,
    },
};

/// Runs the command in a submitted text. Returns false if it is not a command.
pub(super) fn submit(state: &mut State, text: &str, effects: &mut Vec<Effect>) -> bool {
    let Some(command) = shell_command(text) else {
        return false;
    };
    if command.is_empty() {
        state.editor.set(text);
        state.notify(Level::Warning, "usage: !COMMAND");
    } else if state.ready {
        run(state, command, effects);
    } else {
        // The agent is still starting, so run the command when it is ready.
        state.queue.push_back(Queued::Shell(command.to_owned()));
    }
    true
}

/// Runs a command, unless another one is running.
pub(super) fn run(state: &mut State, command: &str, effects: &mut Vec<Effect>) {
    let text = format!("!{command}");
    if state.shell.is_some() {
        state.editor.set(&text);
        let text = "a command is still running; press esc to stop it";
        return state.notify(Level::Warning, text);
    }
    state.notes.clear();
    state.output.push(Item::User(text));
    state.shell = Some(ShellRun::new(command, state.now));
    effects.push(Effect::Shell(command.to_owned()));
}

pub(super) fn progress(state: &mut State, line: &str) {
    if let Some(shell) = &mut state.shell {
        shell.call.add_progress(&clean::text(line));
    }
}

/// Stops the running command. Returns false if there is none.
pub(super) fn cancel(state: &mut State, effects: &mut Vec<Effect>) -> bool {
    if let Some(shell) = &mut state.shell {
        shell.is_cancelled = true;
        effects.push(Effect::CancelShell);
    }
    state.shell.is_some()
}

/// Shows the result of a command, and keeps it for the user's next message.
pub(super) fn ended(state: &mut State, outcome: ToolOutcome) {
    let Some(shell) = state.shell.take() else {
        return;
    };
    let (text, images) = block_text(&shown_content(&outcome.content));
    let call = FinishedCall {
        name: SHELL.to_owned(),
        args: shell.call.args.unwrap_or_default(),
        extension: None,
        status: outcome.status,
        text,
        images,
    };
    if tool::is_folded(&call, state.size.width, &state.theme) {
        state.fold(call.clone());
    }
    if !state.outputs.add(&call) && call.status != ToolStatus::Cancelled {
        state.notify(Level::Muted, "the oldest output was dropped");
    }
    state.output.push(Item::Tool(call));
}
