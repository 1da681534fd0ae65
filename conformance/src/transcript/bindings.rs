//! The names of one run: created ids, captured values and directories of this machine.

use serde_json::Value;

use super::Places;

/// The values bound to the names in a transcript during one run.
#[derive(Debug, Clone, Default)]
pub struct Bindings {
    /// The bound names and values, in binding order so that the captures of a failed match can be
    /// rolled back.
    bound: Vec<(String, Value)>,
    minted: usize,
    places: Places,
}

impl Bindings {
    /// Creates empty bindings for a run with these directories.
    pub fn new(places: Places) -> Self {
        Self {
            places,
            ..Self::default()
        }
    }

    /// Returns the directories of this run.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// Creates a new id under this name. Like all host ids, it matches `[A-Za-z0-9_-]{1,64}`. Ids
    /// never repeat.
    pub fn mint(&mut self, name: &str) -> String {
        self.minted += 1;
        let readable: String = name
            .chars()
            .filter(|char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-'))
            .take(32)
            .collect();
        let id = format!("zt{}-{readable}", self.minted);
        self.bind(name, id.clone().into());
        id
    }

    /// Binds a value to a name.
    pub fn bind(&mut self, name: &str, value: Value) {
        self.bound.push((name.to_owned(), value));
    }

    /// Returns the value of a name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let bound = self.bound.iter().rev().find(|(bound, _)| bound == name);
        bound.map(|(_, value)| value)
    }

    /// Returns the name of a value.
    pub(super) fn name_of(&self, value: &Value) -> Option<&str> {
        let bound = self.bound.iter().rev().find(|(_, bound)| bound == value);
        bound.map(|(name, _)| name.as_str())
    }

    /// Returns the state that [`Bindings::back_to`] rolls back to.
    pub(super) fn mark(&self) -> usize {
        self.bound.len()
    }

    pub(super) fn back_to(&mut self, mark: usize) {
        self.bound.truncate(mark);
    }
}
