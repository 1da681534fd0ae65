//! Key handling, by focus.

use std::path::PathBuf;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use zot_protocol::PanelClose;

use super::{command, dialog, history, question, shell, steering};
use crate::clean;
use crate::tui::{
    editor::{Outcome, files::Files},
    message::Effect,
    state::{Focus, Item, Level, PanelInput, PopupRow, Queued, State, UserPrompt},
};

pub(super) fn key(state: &mut State, key: KeyEvent, effects: &mut Vec<Effect>) {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        // Ctrl+c must stop prompts submitted by extensions, whatever has the focus.
        KeyCode::Char('c') if control => state.stop_submits(),
        KeyCode::Char('z') if control => return effects.push(Effect::Suspend),
        KeyCode::Char('l') if control => return effects.push(Effect::Redraw),
        KeyCode::Char('o') if control => return unfold(state),
        KeyCode::Char('t') if control => return toggle_thoughts(state),
        _ => {}
    }
    match state.focus() {
        Focus::Question => question::key(state, key, effects),
        Focus::Dialog => dialog::key(state, key, effects),
        Focus::Panel => panel_key(state, key, effects),
        Focus::Editor => editor_key(state, key, effects),
    }
}

pub(super) fn paste(state: &mut State, text: &str, effects: &mut Vec<Effect>) {
    match state.focus() {
        Focus::Question => question::paste(state),
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
            state.mark_edited();
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

/// Toggles between showing the model's reasoning in full and folding it. Showing it starts with
/// the thoughts since the last prompt.
fn toggle_thoughts(state: &mut State) {
    let are_shown = !state.thoughts.are_shown;
    state.thoughts.are_shown = are_shown;
    if !are_shown {
        return state.notify(Level::Muted, "thinking is folded · ctrl+t to show");
    }
    let thoughts = state.thoughts.unfold();
    if thoughts.is_empty() {
        return state.notify(Level::Muted, "thinking is shown · ctrl+t to fold");
    }
    let items = thoughts.into_iter();
    let items = items.map(|(thought, place)| Item::ThoughtUnfolded(thought, place));
    state.output.extend(items);
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
    if key.code == KeyCode::Enter && key.modifiers.is_empty() && refuses_to_run(state) {
        return;
    }
    if state.popup.is_open() && popup_key(state, key, effects) {
        return;
    }
    match key.code {
        KeyCode::Tab if key.modifiers.is_empty() && state.turn.is_some() => queue(state),
        KeyCode::Char('d') if control && state.editor.is_empty() => effects.push(Effect::Exit),
        KeyCode::Char('r') if control => history::search(state),
        KeyCode::Char('g') if control => effects.push(Effect::Edit(state.editor.text())),
        KeyCode::Esc => escape(state, effects),
        _ => {
            let before = state.editor.written().to_owned();
            let is_literal = state.editor.begins_with_chip();
            let images = Images::of(state);
            match state.editor.key(key) {
                Outcome::Submit(text) => {
                    state.popup.rows.clear();
                    state.mark_edited();
                    let images = images.attached(state);
                    if is_literal {
                        command::submit_literally(state, &text, images, effects);
                    } else {
                        command::submit(state, &text, images, effects);
                    }
                }
                Outcome::Done => {
                    if state.editor.written() != before {
                        state.mark_edited();
                    }
                    changed(state);
                }
                Outcome::Ignored => {}
            }
        }
    }
}

/// Queues the editor's text as a prompt to send after the turn.
fn queue(state: &mut State) {
    let images = Images::of(state);
    let text = state.editor.text();
    if command::would_run(state, &text) {
        let text = "a command cannot be queued with tab\nhint: press enter to run it; it is queued if it must wait";
        return state.notify(Level::Muted, text);
    }
    if let Outcome::Submit(text) = state.editor.key(KeyCode::Enter.into())
        && !text.trim().is_empty()
    {
        state.mark_edited();
        let text = text.trim_end().to_owned();
        let images = images.attached(state);
        state.queue_prompt(UserPrompt {
            text,
            images,
            is_users: true,
        });
    }
}

/// The images that belong to the text in the editor.
struct Images {
    attached: Vec<PathBuf>,
    /// Images that inserted text refers to. An extension must not choose which of the user's files
    /// are sent to the model.
    left_out: Vec<PathBuf>,
}

impl Images {
    fn of(state: &State) -> Self {
        let mut attached = state.editor.pasted_images();
        let mut left_out = state.editor.mentioned_images();
        if !state.is_inserted() {
            attached.append(&mut left_out);
        }
        Self { attached, left_out }
    }

    /// Returns the images to attach, and warns the user about an image that is left out.
    fn attached(self, state: &mut State) -> Vec<PathBuf> {
        let mut left_out = self.left_out.iter();
        if let Some(image) = left_out.find(|it| state.root.join(it).is_file()) {
            let image = clean::line(&image.display().to_string());
            let text = format!(
                "`{image}` was not attached: an extension may have written this text\nhint: to attach it, edit the inserted text before sending"
            );
            state.notify(Level::Warning, text);
        }
        self.attached
    }
}

/// Refuses to run a command that the user has not written or does not see in full: text that an
/// extension has inserted, and a shell command with a folded paste in it.
fn refuses_to_run(state: &mut State) -> bool {
    if state.editor.begins_with_chip() {
        return false;
    }
    let text = state.editor.text();
    let is_command = |row: &PopupRow| !matches!(row, PopupRow::File(_));
    let runs = command::would_run(state, &text) || state.popup.chosen().is_some_and(is_command);
    if runs && state.is_inserted() {
        let text = "an extension may have written this command\nhint: check it, then make an edit to run it";
        state.notify(Level::Warning, text);
        return true;
    }
    if state.editor.has_chips() && command::shell_command(state.editor.written()).is_some() {
        let text = "a shell command cannot contain folded text that you cannot see";
        state.notify(Level::Warning, text);
        return true;
    }
    false
}

/// Replaces the draft with the text from the user's text editor. If that editor failed, keeps the
/// draft.
pub(super) fn draft_edited(state: &mut State, edited: Result<String, String>) {
    match edited {
        Ok(text) => {
            // Most editors end the last line with a line break.
            let text = text.strip_suffix('\n').unwrap_or(&text);
            if text != state.editor.text() {
                state.editor.set(text);
                state.mark_replaced();
                changed(state);
            }
        }
        Err(why) => {
            let text = format!("the draft is unchanged: {}", clean::text(&why));
            state.notify(Level::Error, text);
        }
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
        KeyCode::PageUp if plain => state.popup.step(-5),
        KeyCode::PageDown if plain => state.popup.step(5),
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
        command::submit(state, &text, Vec::new(), effects);
    }
    true
}

/// Clears the notes and cancels the running command. If no command is running, cancels the turn and
/// clears the queue. If nothing is running, drops the outputs for the next message.
fn escape(state: &mut State, effects: &mut Vec<Effect>) {
    state.notes.clear();
    if state.command.take().is_some() {
        effects.push(Effect::CancelCommand);
        state.notify(Level::Muted, "cancelled");
        return;
    }
    if shell::cancel(state, effects) {
        return;
    }
    if state.can_drop_outputs() {
        state.outputs.clear();
        return state.notify(Level::Muted, "the output will not be sent");
    }
    cancel(state, effects);
}

/// Cancels the turn and clears the queue. The user's messages, prompts and commands that have not
/// reached the agent return to the editor, before the draft.
fn cancel(state: &mut State, effects: &mut Vec<Effect>) {
    state.stop_submits();
    let turn = state.turn.as_mut();
    let steered = turn.map(|it| std::mem::take(&mut it.steered));
    let mut waiting = steering::take_back(state, steered.into_iter().flatten().collect());
    let is_inserted = |it: &Queued| matches!(it, Queued::Prompt(prompt) if !prompt.is_users);
    let has_inserted = state.queue.iter().any(is_inserted);
    waiting.extend(state.queue.drain(..).map(|it: Queued| it.text()));
    if !waiting.is_empty() {
        let has_inserted = has_inserted || waiting.iter().any(|it| state.was_inserted(it));
        state.editor.prepend(&waiting.join("\n"));
        if has_inserted {
            state.mark_inserted();
        }
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
        state.mark_edited();
        state.refresh_popup();
    }
}
