//! Notes of extensions, which go as they came.

use zot_protocol::NoteLevel;

use crate::tui::bridge::NOTES;

/// A line of an extension, or of the host about one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Note {
    /// `None`: of the host itself.
    pub(crate) extension: Option<String>,
    pub(crate) level: NoteLevel,
    /// In one line, cleaned.
    pub(crate) message: String,
}

/// The notes that are shown.
#[derive(Debug, Clone, Default)]
pub(crate) struct Notes {
    shown: Vec<Note>,
    /// By extension, how many went before they were seen.
    skipped: Vec<(String, u64)>,
}

impl Notes {
    /// One more; where there are enough of that extension, the oldest goes and is counted.
    pub(crate) fn add(&mut self, note: Note) {
        let same = |it: &&Note| it.extension == note.extension;
        if self.shown.iter().filter(same).count() >= NOTES {
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

    /// So many were not seen.
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

    /// How many went before they were seen, by extension.
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
    fn the_oldest_goes_and_is_counted() {
        let mut notes = Notes::default();
        notes.add(note("other", 0));
        for number in 0..25 {
            notes.add(note("noisy", number));
        }
        assert_eq!(notes.shown().len(), NOTES + 1);
        assert_eq!(notes.shown()[1], note("noisy", 5));
        assert_eq!(notes.skipped(), [("noisy".to_owned(), 5)]);
        notes.clear_of("noisy");
        assert_eq!(notes.shown(), [note("other", 0)]);
        assert!(notes.skipped().is_empty());
    }
}
