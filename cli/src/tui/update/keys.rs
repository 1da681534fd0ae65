//! Keys, by who has them.

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
        // Whoever has the keys: what extensions submit must not go on after it.
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

/// Shows all of the last result that was shown in part; of the one before when it is asked again.
fn unfold(state: &mut State) {
    match state.folded.pop() {
        Some(ran) => state.output.push(Item::Whole(ran)),
        None => state.tell(Level::Muted, "there is nothing to unfold"),
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
        KeyCode::Char('d') if control && state.editor.is_empty() => effects.push(Effect::Leave),
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

/// Something else is written.
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

/// Whether the key was the popup's.
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

/// Writes what is chosen, to be gone on with.
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

/// Does what is chosen. False where that is for the editor to do.
fn choose(state: &mut State, effects: &mut Vec<Effect>) -> bool {
    let line = match state.popup.chosen() {
        Some(PopupRow::Builtin(builtin)) if builtin.needs_args() => {
            complete(state);
            return true;
        }
        Some(PopupRow::Builtin(builtin)) => format!("/{}", builtin.name()),
        Some(PopupRow::Command { name, .. }) => format!("/{name}"),
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

/// Ends what is being done, what waits, and what is said about it, one Esc for all.
fn escape(state: &mut State, effects: &mut Vec<Effect>) {
    state.notes.clear();
    if state.command.take().is_some() {
        effects.push(Effect::CancelCommand);
        state.tell(Level::Muted, "cancelled");
        return;
    }
    cancel(state, effects);
}

/// Ends the turn and the queue. What the user queued is not lost: it is back in the editor.
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

/// Once: empties the editor, or ends the turn. Twice: leaves.
fn interrupt(state: &mut State, effects: &mut Vec<Effect>) {
    if state.is_leaving() {
        return effects.push(Effect::Leave);
    }
    state.interrupted = Some(state.now);
    if state.editor.is_empty() {
        escape(state, effects);
    } else {
        state.editor.clear();
        state.refresh_popup();
    }
}
