//! The list and its file.

use std::{fmt, fs, io, path::Path};

use serde::{Deserialize, Serialize};

/// The items, in the order they were added.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct List {
    pub(crate) items: Vec<Item>,
}

/// A to-do item.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Item {
    pub(crate) text: String,
    pub(crate) done: bool,
}

impl List {
    /// Reads the list. Returns an empty one if the file does not exist.
    pub(crate) fn read(file: &Path) -> Result<Self, String> {
        match fs::read(file) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map_err(|error| format!("{} is damaged: {error}", file.display())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(format!("cannot read {}: {error}", file.display())),
        }
    }

    /// Saves the list atomically, so that a full disk does not destroy it.
    pub(crate) fn write(&self, file: &Path) -> Result<(), String> {
        let bytes = serde_json::to_vec_pretty(self).map_err(|error| error.to_string())?;
        let new = file.with_extension("new");
        fs::write(&new, bytes)
            .and_then(|()| fs::rename(&new, file))
            .map_err(|error| format!("cannot write {}: {error}", file.display()))
    }

    pub(crate) fn add(&mut self, text: &str) -> Result<(), String> {
        let text = text.trim().to_owned();
        if text.is_empty() {
            return Err("nothing to add".into());
        }
        self.items.push(Item { text, done: false });
        Ok(())
    }

    /// Finds an item by its number, counted from 1.
    pub(crate) fn item(&mut self, number: usize) -> Result<&mut Item, String> {
        let item = number.checked_sub(1).and_then(|at| self.items.get_mut(at));
        item.ok_or_else(|| format!("there is no item {number}"))
    }

    pub(crate) fn remove(&mut self, number: usize) -> Result<(), String> {
        self.item(number)?;
        self.items.remove(number - 1);
        Ok(())
    }
}

impl fmt::Display for List {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.items.is_empty() {
            return formatter.write_str("nothing to do");
        }
        for (at, item) in self.items.iter().enumerate() {
            let line_end = if at == 0 { "" } else { "\n" };
            let mark = if item.done { 'x' } else { ' ' };
            write!(formatter, "{line_end}{}. [{mark}] {}", at + 1, item.text)?;
        }
        Ok(())
    }
}
