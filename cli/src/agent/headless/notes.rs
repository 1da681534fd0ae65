//! A bounded queue of notes from extensions, for headless modes.

use std::collections::VecDeque;

use parking_lot::Mutex;
use tokio::sync::Notify;
use zot_host::Hooks;
use zot_protocol::{NoteLevel, rpc};

use crate::output;

/// Maximum number of queued notes; further ones are dropped and counted.
const CAPACITY: usize = 1_000;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum QueuedNote {
    /// A note or a tool call from an extension, as the event that clients receive.
    Event(rpc::Event),
    /// A notice from the host itself.
    Notice(NoteLevel, String),
}

#[derive(Debug, Default)]
pub(crate) struct NoteQueue {
    queue: Mutex<PendingNotes>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct PendingNotes {
    notes: VecDeque<QueuedNote>,
    dropped: u64,
}

impl NoteQueue {
    fn add(&self, note: QueuedNote) {
        {
            let mut queue = self.queue.lock();
            if queue.notes.len() >= CAPACITY {
                queue.dropped += 1;
                return;
            }
            queue.notes.push_back(note);
        }
        self.arrived.notify_one();
    }

    /// Takes the next note. Once the queue is empty, returns a warning about dropped notes, if any.
    pub(crate) fn take(&self) -> Option<QueuedNote> {
        let mut queue = self.queue.lock();
        let note = queue.notes.pop_front();
        if note.is_some() || queue.dropped == 0 {
            return note;
        }
        let dropped = std::mem::take(&mut queue.dropped);
        let notes = output::counted(dropped, "note");
        let message = format!("dropped {notes} from extensions because too many arrived at once");
        Some(QueuedNote::Notice(NoteLevel::Warn, message))
    }

    /// Waits for the next note.
    pub(crate) async fn next(&self) -> QueuedNote {
        loop {
            if let Some(note) = self.take() {
                return note;
            }
            self.arrived.notified().await;
        }
    }
}

impl Hooks for NoteQueue {
    fn note(&self, extension: &str, level: NoteLevel, message: &str) {
        self.add(QueuedNote::Event(
            rpc::ExtNotify::new(extension, level, message).into(),
        ));
    }

    fn notice(&self, level: NoteLevel, message: &str) {
        self.add(QueuedNote::Notice(level, message.to_owned()));
    }

    fn extension_call(&self, call: rpc::ExtToolCall) {
        self.add(QueuedNote::Event(call.into()));
    }

    fn extension_call_ended(&self, result: rpc::ExtToolResult) {
        self.add(QueuedNote::Event(result.into()));
    }

    fn clear_notes(&self, extension: &str) {
        self.add(QueuedNote::Event(rpc::ExtClearNotes::new(extension).into()));
    }
}
