//! What extensions have to say to the user while nobody looks at a screen: kept in order until it is told, and never
//! more than a reader can be expected to read.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;
use zot_host::Hooks;
use zot_protocol::{NoteLevel, rpc};

/// So many may wait; what an extension says beyond that is counted and left out.
const WAITING: usize = 1_000;

/// Something to tell.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Note {
    /// An extension's, as a driver is told of it.
    Event(rpc::Event),
    /// The host's own.
    Notice(NoteLevel, String),
}

/// Keeps them.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    queue: Mutex<Queue>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    notes: VecDeque<Note>,
    left_out: u64,
}

impl Notes {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, note: Note) {
        {
            let mut queue = self.queue();
            if queue.notes.len() >= WAITING {
                queue.left_out += 1;
                return;
            }
            queue.notes.push_back(note);
        }
        self.arrived.notify_one();
    }

    /// The next that waits.
    pub(crate) fn take(&self) -> Option<Note> {
        let mut queue = self.queue();
        let note = queue.notes.pop_front();
        if note.is_some() || queue.left_out == 0 {
            return note;
        }
        let left_out = std::mem::take(&mut queue.left_out);
        let message = format!("{left_out} notes of extensions came too fast and were left out");
        Some(Note::Notice(NoteLevel::Warn, message))
    }

    /// The next one, when it comes.
    pub(crate) async fn next(&self) -> Note {
        loop {
            if let Some(note) = self.take() {
                return note;
            }
            self.arrived.notified().await;
        }
    }
}

impl Hooks for Notes {
    fn note(&self, extension: &str, level: NoteLevel, message: &str) {
        self.add(Note::Event(
            rpc::ExtNotify::new(extension, level, message).into(),
        ));
    }

    fn notice(&self, level: NoteLevel, message: &str) {
        self.add(Note::Notice(level, message.to_owned()));
    }

    fn extension_call(&self, call: rpc::ExtToolCall) {
        self.add(Note::Event(call.into()));
    }

    fn extension_call_ended(&self, result: rpc::ExtToolResult) {
        self.add(Note::Event(result.into()));
    }

    fn clear_notes(&self, extension: &str) {
        self.add(Note::Event(rpc::ExtClearNotes::new(extension).into()));
    }
}
