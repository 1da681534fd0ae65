//! Passes an extension's notes to the embedding program, in order.
//!
//! While an extension intercepts an event, its notes wait: "blocked `rm -rf`" means nothing to a
//! user who has not seen the call yet. They are passed on once the program has received the event.

use std::{collections::VecDeque, sync::Arc};

use parking_lot::Mutex;
use zot_protocol::NoteLevel;

use crate::Hooks;

/// The maximum number of notes that wait per extension. If another one arrives, all of them are
/// passed on, so that a flood uses little memory here and the program's own limits apply to it.
const MAX_WAITING: usize = 20;

/// The notes of one extension.
pub(crate) struct Notes {
    extension: String,
    hooks: Arc<dyn Hooks>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// How many [`HeldNotes`] include these notes. They wait while there are any.
    holds: usize,
    waiting: VecDeque<Note>,
}

enum Note {
    Text(NoteLevel, String),
    Clear,
}

impl Notes {
    pub(crate) fn new(extension: &str, hooks: &Arc<dyn Hooks>) -> Arc<Self> {
        Arc::new(Self {
            extension: extension.to_owned(),
            hooks: Arc::clone(hooks),
            state: Mutex::default(),
        })
    }

    /// Passes on a note from the extension, or from the host about it.
    pub(crate) fn add(&self, level: NoteLevel, message: &str) {
        self.push(Note::Text(level, message.to_owned()));
    }

    /// Removes the extension's notes.
    pub(crate) fn clear(&self) {
        self.push(Note::Clear);
    }

    /// Passes on all waiting notes, before the extension is reported as gone.
    pub(crate) fn flush(&self) {
        self.pass_on(&mut self.state.lock());
    }

    fn push(&self, note: Note) {
        let mut state = self.state.lock();
        state.waiting.push_back(note);
        if state.holds == 0 || state.waiting.len() > MAX_WAITING {
            self.pass_on(&mut state);
        }
    }

    /// Calls the hooks under the lock, so that notes from several tasks stay in order.
    fn pass_on(&self, state: &mut State) {
        for note in state.waiting.drain(..) {
            match note {
                Note::Text(level, message) => self.hooks.note(&self.extension, level, &message),
                Note::Clear => self.hooks.clear_notes(&self.extension),
            }
        }
    }
}

/// Makes the notes of some extensions wait. Dropping it passes them on.
#[derive(Default)]
pub(crate) struct HeldNotes(Vec<Arc<Notes>>);

impl HeldNotes {
    pub(crate) fn of(extensions: impl Iterator<Item = Arc<Notes>>) -> Self {
        let held: Vec<_> = extensions.collect();
        for notes in &held {
            notes.state.lock().holds += 1;
        }
        Self(held)
    }

    /// Reports whether any note is waiting.
    #[cfg(feature = "agent")]
    pub(crate) fn any(&self) -> bool {
        let mut held = self.0.iter();
        held.any(|notes| !notes.state.lock().waiting.is_empty())
    }
}

impl Drop for HeldNotes {
    fn drop(&mut self) {
        for notes in &self.0 {
            let mut state = notes.state.lock();
            state.holds -= 1;
            if state.holds == 0 {
                notes.pass_on(&mut state);
            }
        }
    }
}
