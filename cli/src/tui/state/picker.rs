//! A list to choose from, filtered while the user types.

use std::path::PathBuf;

/// A list to choose from.
#[derive(Debug, Clone)]
pub(crate) struct Picker {
    pub(crate) title: String,
    choices: Vec<Choice>,
    pub(crate) filter: String,
    pub(crate) selected: usize,
    /// The footer's description of the enter key.
    pub(crate) enter: &'static str,
    /// Whether queued prompts wait until the picker is closed.
    pub(crate) needs_idle_agent: bool,
}

/// An entry of the list.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    pub(crate) label: String,
    /// Muted text next to the label.
    pub(crate) detail: String,
    pub(crate) picked: Picked,
}

/// The value of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Picked {
    Model {
        provider: String,
        id: String,
    },
    Session(PathBuf),
    /// A user message to go back to: the number of messages before it, and its text.
    Rewind {
        at: u64,
        text: String,
    },
    /// A prompt from the history.
    Prompt(String),
    /// The id of a background command to stop.
    Background(String),
    /// The provider whose API key to ask for.
    Login(String),
    /// The provider whose API key to remove.
    Logout(String),
}

impl Picker {
    /// Creates a picker. `selected` is the index of the current choice.
    pub(crate) fn new(title: &str, choices: Vec<Choice>, selected: usize) -> Self {
        Self {
            title: title.to_owned(),
            choices,
            filter: String::new(),
            selected,
            enter: "select",
            needs_idle_agent: true,
        }
    }

    /// Sets the footer's description of the enter key.
    pub(crate) fn on_enter(mut self, enter: &'static str) -> Self {
        self.enter = enter;
        self
    }

    /// Returns the choices that contain every word of the filter.
    pub(crate) fn matching(&self) -> Vec<&Choice> {
        let filter = self.filter.to_lowercase();
        let words: Vec<&str> = filter.split_whitespace().collect();
        let fits = |choice: &&Choice| {
            let text = format!("{} {}", choice.label, choice.detail).to_lowercase();
            words.iter().all(|word| text.contains(word))
        };
        self.choices.iter().filter(fits).collect()
    }

    pub(crate) fn filter_by(&mut self, change: impl FnOnce(&mut String)) {
        change(&mut self.filter);
        self.selected = 0;
    }

    /// Moves the selection, wrapping around at the ends.
    pub(crate) fn step(&mut self, by: isize) {
        self.selected = step_wrapping(self.selected, by, self.matching().len());
    }

    pub(crate) fn picked(&self) -> Option<Picked> {
        let matching = self.matching();
        matching.get(self.selected).map(|it| it.picked.clone())
    }
}

/// Adds an offset to an index into a list with `count` entries, wrapping around at the ends.
pub(crate) fn step_wrapping(at: usize, by: isize, count: usize) -> usize {
    if count == 0 {
        return 0;
    }
    (at.min(count - 1) + count).saturating_add_signed(by) % count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filter_words_match_in_any_order_and_steps_wrap() {
        let choice = |label: &str, detail: &str| Choice {
            label: label.to_owned(),
            detail: detail.to_owned(),
            picked: Picked::Login(label.to_owned()),
        };
        let choices = vec![choice("gpt-5", "openai"), choice("opus", "anthropic")];
        let mut picker = Picker::new("model", choices, 0);
        picker.step(-1);
        assert_eq!(picker.picked(), Some(Picked::Login("opus".into())));
        picker.filter_by(|filter| filter.push_str("OPENAI g"));
        assert_eq!(picker.picked(), Some(Picked::Login("gpt-5".into())));
        picker.filter_by(|filter| filter.push('x'));
        assert_eq!(picker.picked(), None);
        picker.step(1);
    }
}
