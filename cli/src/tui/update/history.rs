//! Searches the prompt history.

use crate::{
    clean,
    tui::state::{Choice, Dialog, Level, Picked, Picker, State},
};

/// Maximum number of characters of a prompt to search and to show.
const MAX_CHARACTERS: usize = 300;

/// Opens the list of earlier prompts, newest first.
pub(super) fn search(state: &mut State) {
    let choices = state.editor.history.newest_first().into_iter().map(|text| {
        let start: String = text.chars().take(MAX_CHARACTERS).collect();
        Choice {
            label: clean::line(&start.trim().replace('\n', " ⏎ ")),
            detail: String::new(),
            picked: Picked::Prompt(text.to_owned()),
        }
    });
    let choices: Vec<Choice> = choices.collect();
    if choices.is_empty() {
        return state.notify(Level::Muted, "the prompt history is empty");
    }
    let mut picker = Picker::new("History", choices, 0);
    picker.needs_idle_agent = false;
    state.dialog = Some(Dialog::Picker(picker));
}
