//! Key handling, by focus.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use zot_protocol::PanelClose;

use super::{command, dialog};
use crate::tui::{
    editor::{Outcome, files::Files},
    message::Effect,
    state::{Focus, Item, Level, PanelInput, PopupRow, Queued, State},
};

pub(super) fn key(state: &mut State, key: KeyEvent, effects: &mut Vec<Effect>) {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        // Ctrl+c must stop prompts submitted by extensions, whatever has the focus.
        KeyCode::Char('c') if control => state.stop_submits(),
        KeyCode::Char('z') if control => return effects.push(Effect::Suspend),
        KeyCode::Char('l') if control => return effects.push(Effect::Redraw),
        KeyCode::Char('o') if control => return unfold(state),
        _ => {}
    }
    match state.focus() {
        Focus::Question => dialog::question_key(state, key, effects),
        Focus::Dialog => dialog::key(state, key, effects),
        Focus::Panel => panel_key(state, key, effects),
        Focus::Editor => editor_key(state, key, effects),
    }
}

pub(super) fn paste(state: &mut State, text: &str, effects: &mut Vec<Effect>) {
    match state.focus() {
        Focus::Question => {}
        Focus::Dialog => dialog::paste(state, text),
        Focus::Panel => {
            let Some(panel) = state.panels.last() else {
                return;
            };
            if let PanelInput::Key(key) = panel.typed(text) {
                effects.push(Effect::PanelKey(panel.extension.clone(), key));
            }
        }
        Focus::Editor => {
            state.editor.paste(text);
            changed(state);
        }
    }
}

/// Prints the last folded result in full. If called again, prints the one before it.
fn unfold(state: &mut State) {
    match state.folded.pop() {
        Some(call) => state.output.push(Item::ToolUnfolded(call)),
        None => state.notify(Level::Muted, "nothing to unfold"),
    }
}

fn panel_key(state: &mut State, key: KeyEvent, effects: &mut Vec<Effect>) {
    let now = state.now;
    let Some(panel) = state.panels.last_mut() else {
        return;
    };
    let extension = panel.extension.clone();
    match panel.key(key, now) {
        PanelInput::Key(key) => effects.push(Effect::PanelKey(extension, key)),
        PanelInput::Close => {
            let close = PanelClose::new(panel.id.clone());
            state.panels.pop();
            effects.push(Effect::PanelClose(extension, close));
        }
        PanelInput::None => {}
    }
}

fn editor_key(state: &mut State, key: KeyEvent, effects: &mut Vec<Effect>) {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    if key.code == KeyCode::Char('c') && control {
        return interrupt(state, effects);
    }
    state.interrupted = None;
    if state.popup.is_open() && popup_key(state, key, effects) {
        return;
    }
    match key.code {
        KeyCode::Char('d') if control && state.editor.is_empty() => effects.push(Effect::Exit),
        KeyCode::Esc => escape(state, effects),
        _ => match state.editor.key(key) {
            Outcome::Submit(text) => {
                state.popup.rows.clear();
                command::submit(state, &text, effects);
            }
            Outcome::Done => changed(state),
            Outcome::Ignored => {}
        },
    }
}

/// Updates the completions after the text has changed.
fn changed(state: &mut State) {
    if state.editor.file_token().is_some() {
        if state.popup.token().is_none()
            && let Some(files) = &mut state.files
        {
            files.refresh();
        }
        let root = &state.root;
        state.files.get_or_insert_with(|| Files::of(root));
    }
    state.refresh_popup();
}

/// Handles a key while the popup is open, and reports whether the popup handled it.
fn popup_key(state: &mut State, key: KeyEvent, effects: &mut Vec<Effect>) -> bool {
    let plain = key.modifiers.is_empty();
    match key.code {
        KeyCode::Up if plain => state.popup.step(-1),
        KeyCode::Down if plain => state.popup.step(1),
        KeyCode::Esc => {
            let text = state.editor.text();
            state.popup.dismiss(text);
        }
        KeyCode::Tab if plain => complete(state),
        KeyCode::Enter if plain => return choose(state, effects),
        _ => return false,
    }
    true
}

/// Inserts the selected entry into the editor without running it.
fn complete(state: &mut State) {
    match state.popup.chosen().cloned() {
        Some(PopupRow::Builtin(builtin)) => state.editor.set(&format!("/{} ", builtin.name())),
        Some(PopupRow::Command { name, .. }) => state.editor.set(&format!("/{name} ")),
        Some(PopupRow::File(file)) => {
            if let Some(token) = state.popup.token().cloned() {
                state.editor.complete_file(&token, &file.path);
            }
        }
        Some(PopupRow::Divider(_)) | None => return,
    }
    changed(state);
}

/// Runs the selected entry. Returns `false` if the editor should handle the key.
fn choose(state: &mut State, effects: &mut Vec<Effect>) -> bool {
    let line = match state.popup.chosen() {
        Some(PopupRow::Builtin(builtin)) if builtin.needs_args() => {
            complete(state);
            return true;
        }
        Some(PopupRow::Builtin(builtin)) => format!("/{}", builtin.name()),
        Some(PopupRow::Command { name, .. }) => format!("/{name}"),
        Some(PopupRow::File(_)) if state.popup.is_path_complete() => return false,
        Some(PopupRow::File(_)) => {
            complete(state);
            return true;
        }
        Some(PopupRow::Divider(_)) | None => return false,
    };
    state.editor.set(&line);
    if let Outcome::Submit(text) = state.editor.key(KeyCode::Enter.into()) {
        state.popup.rows.clear();
        command::submit(state, &text, effects);
    }
    true
}

/// Clears the notes and cancels the running command. If no command is running, cancels the turn and
/// clears the queue.
fn escape(state: &mut State, effects: &mut Vec<Effect>) {
    state.notes.clear();
    if state.command.take().is_some() {
        effects.push(Effect::CancelCommand);
        state.notify(Level::Muted, "cancelled");
        return;
    }
    cancel(state, effects);
}

/// Cancels the turn and clears the queue. Prompts that the user queued return to the editor.
fn cancel(state: &mut State, effects: &mut Vec<Effect>) {
    state.stop_submits();
    let waiting: Vec<String> = state.queue.drain(..).map(|it: Queued| it.text()).collect();
    if !waiting.is_empty() && state.editor.is_empty() {
        state.editor.set(&waiting.join("\n"));
        state.refresh_popup();
    }
    if let Some(turn) = &mut state.turn {
        turn.cancelled = true;
        effects.push(Effect::Cancel);
    }
}

/// Handles ctrl+c, which clears the editor or cancels the turn. A second ctrl+c exits.
fn interrupt(state: &mut State, effects: &mut Vec<Effect>) {
    if state.is_exit_armed() {
        return effects.push(Effect::Exit);
    }
    state.interrupted = Some(state.now);
    if state.editor.is_empty() {
        escape(state, effects);
    } else {
        state.editor.clear();
        state.refresh_popup();
    }
}
