//! A list to choose from, which shrinks while one types.

use std::path::PathBuf;

/// A list to choose from.
#[derive(Debug, Clone)]
pub(crate) struct Picker {
    pub(crate) title: String,
    choices: Vec<Choice>,
    pub(crate) filter: String,
    pub(crate) selected: usize,
}

/// One of it.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    pub(crate) label: String,
    /// Beside it, muted.
    pub(crate) detail: String,
    pub(crate) picked: Picked,
}

/// What is chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Picked {
    Model {
        provider: String,
        id: String,
    },
    Session(PathBuf),
    /// Whose key is to be kept.
    Login(String),
    /// Whose key is to be forgotten.
    Logout(String),
}

impl Picker {
    /// `selected` is the one that is in use.
    pub(crate) fn new(title: &str, choices: Vec<Choice>, selected: usize) -> Self {
        Self {
            title: title.to_owned(),
            choices,
            filter: String::new(),
            selected,
        }
    }

    /// Those that have all words of the filter in them.
    pub(crate) fn fitting(&self) -> Vec<&Choice> {
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

    /// Up or down, around the ends.
    pub(crate) fn step(&mut self, by: isize) {
        self.selected = around(self.selected, by, self.fitting().len());
    }

    pub(crate) fn picked(&self) -> Option<Picked> {
        let fitting = self.fitting();
        fitting.get(self.selected).map(|it| it.picked.clone())
    }
}

/// So many steps from a place among `count`, around the ends.
pub(crate) fn around(at: usize, by: isize, count: usize) -> usize {
    if count == 0 {
        return 0;
    }
    (at.min(count - 1) + count).saturating_add_signed(by) % count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_any_order_and_around_the_ends() {
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
