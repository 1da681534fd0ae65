//! The names of one run: ids that were minted, values that were captured, places of this machine.

use serde_json::Value;

use super::Places;

/// What the names in a transcript stand for in one run.
#[derive(Debug, Clone, Default)]
pub struct Bindings {
    /// In the order of binding, so that what a failed match has captured is cut off again.
    bound: Vec<(String, Value)>,
    minted: usize,
    places: Places,
}

impl Bindings {
    /// None yet, in a run with these places.
    pub fn new(places: Places) -> Self {
        Self {
            places,
            ..Self::default()
        }
    }

    /// The places of this run.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// A new id by this name: `[A-Za-z0-9_-]{1,64}`, as all ids of a host, and never one that was minted before.
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

    /// Gives a value a name, from now on.
    pub fn bind(&mut self, name: &str, value: Value) {
        self.bound.push((name.to_owned(), value));
    }

    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let bound = self.bound.iter().rev().find(|(bound, _)| bound == name);
        bound.map(|(_, value)| value)
    }

    /// The name of a value.
    pub(super) fn name_of(&self, value: &Value) -> Option<&str> {
        let bound = self.bound.iter().rev().find(|(_, bound)| bound == value);
        bound.map(|(name, _)| name.as_str())
    }

    pub(super) fn mark(&self) -> Mark {
        Mark(self.bound.len())
    }

    pub(super) fn back_to(&mut self, mark: &Mark) {
        self.bound.truncate(mark.0);
    }
}

/// A moment to which bindings can be taken back.
pub(super) struct Mark(usize);
