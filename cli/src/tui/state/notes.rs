//! Notes from extensions.

use zot_protocol::NoteLevel;

use crate::tui::bridge::MAX_NOTES;

/// A note from an extension or from the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Note {
    /// The extension, or `None` for the host itself.
    pub(crate) extension: Option<String>,
    pub(crate) level: NoteLevel,
    /// The sanitised message, on one line.
    pub(crate) message: String,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Notes {
    shown: Vec<Note>,
    /// Number of dropped notes, by extension.
    skipped: Vec<(String, u64)>,
}

impl Notes {
    /// Adds a note. If the extension has too many notes, drops and counts the oldest one.
    pub(crate) fn add(&mut self, note: Note) {
        let same = |it: &&Note| it.extension == note.extension;
        if self.shown.iter().filter(same).count() >= MAX_NOTES {
            let oldest = self.shown.iter().position(|it| same(&it));
            if let Some(oldest) = oldest {
                self.shown.remove(oldest);
            }
            if let Some(extension) = &note.extension {
                self.skip(extension.clone(), 1);
            }
        }
        self.shown.push(note);
    }

    /// Adds to the number of an extension's dropped notes.
    pub(crate) fn skip(&mut self, extension: String, count: u64) {
        match self.skipped.iter_mut().find(|(by, _)| *by == extension) {
            Some((_, before)) => *before += count,
            None => self.skipped.push((extension, count)),
        }
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn clear_of(&mut self, extension: &str) {
        self.shown
            .retain(|note| note.extension.as_deref() != Some(extension));
        self.skipped.retain(|(by, _)| by != extension);
    }

    pub(crate) fn shown(&self) -> &[Note] {
        &self.shown
    }

    /// Returns the number of dropped notes, by extension.
    pub(crate) fn skipped(&self) -> &[(String, u64)] {
        &self.skipped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(extension: &str, message: u32) -> Note {
        Note {
            extension: Some(extension.to_owned()),
            level: NoteLevel::Info,
            message: message.to_string(),
        }
    }

    #[test]
    fn the_oldest_note_is_dropped_and_counted() {
        let mut notes = Notes::default();
        notes.add(note("other", 0));
        for number in 0..25 {
            notes.add(note("noisy", number));
        }
        assert_eq!(notes.shown().len(), MAX_NOTES + 1);
        assert_eq!(notes.shown()[1], note("noisy", 5));
        assert_eq!(notes.skipped(), [("noisy".to_owned(), 5)]);
        notes.clear_of("noisy");
        assert_eq!(notes.shown(), [note("other", 0)]);
        assert!(notes.skipped().is_empty());
    }
}
