//! Sessions: what was said, on disk, so that it outlives the process and can be gone on with.
//!
//! ```
//! use zot_host::{clock, home::Home, message::{Block, Message, Role}, session::Sessions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let sessions = Sessions::of(&Home::at(folder.path()), folder.path());
//! let mut opened = sessions.create("demo", "demo");
//! let text = "fix the failing test".to_owned();
//! let message = Message { role: Role::User, content: vec![Block::Text { text }], time: clock::now() };
//! let _ = opened.session.append(&message)?;
//! let _ = opened.session.sync()?;
//! drop(opened);
//!
//! assert_eq!(sessions.list().sessions[0].title.as_deref(), Some("fix the failing test"));
//! assert_eq!(sessions.continue_latest("demo", "demo")?.transcript, [message]);
//! # Ok(())
//! # }
//! ```
//!
//! # The file
//!
//! `$ZOT_HOME/sessions/<hash of the working directory>/<time>-<id>.jsonl`, mode 0600 in a directory of mode 0700. JSON
//! Lines: an object with a `type` on each line, the head first.
//!
//! | `type` | fields | |
//! |---|---|---|
//! | `session` | `version` (1), `id`, `cwd`, `created`, `provider`, `model`, `parent` (`id`, `messages`) | the head; `parent` where it was forked or imported |
//! | `title` | `title` | the first thing that the user said, in one line; a later one replaces it |
//! | `message` | `message`: a [`Message`] | what was said |
//! | `compaction` | `message`: a [`Message`] | from here on the transcript is this one message with the summary; what was before it stays in the file |
//! | `clear` | | from here on the transcript is empty; what was before it stays in the file |
//! | `model` | `provider`, `model`, `time` | from here on another model answers |
//!
//! Times are RFC 3339. Every line but the head ends with `n`, the number of messages up to it, where a listing finds it
//! without reading the rest. A line with another `type`, or with something in it that is not understood, is a newer
//! version's: it is kept, skipped and told of. A head of a higher `version` is not opened at all.
//!
//! # What can be relied on
//!
//! - A line is in the file when [`Session::append`] returns, in one write, so that it survives the end of this process by
//!   any means; [`Session::sync`] makes it survive the machine's.
//! - Two processes never write one file: the writer holds a lock, and a second one is told who has it
//!   ([`SessionError::Busy`]). Reading and listing need no lock.
//! - A torn end is set aside as `<file>.torn` and cut off. Where a line in the middle or the head cannot be read, the file
//!   as it was is set aside as `<file>.bad`, and the session goes on with everything that can be read, after the damage
//!   too. Where nothing can be read it begins anew. A [`Notice`] tells of each.
//! - A transcript that was read is one that a provider takes: calls whose results were never written have cancelled ones.
//!   That is made up when it is read; the file has only what happened.
//! - A full disk is told of once ([`SessionError::Full`]); the lines wait in memory, and the next write that succeeds has
//!   them all. No half line is left in between.
//! - Nothing but messages is written; credentials do not come here.
//!
//! All of it blocks, for as long as a small write to a file takes, and [`Session::sync`] as long as the disk takes.

mod contents;
mod error;
mod export;
mod line;
mod list;
mod lock;
mod open;
mod store;
mod transcript;
mod writer;

use std::path::Path;

pub use error::{Notice, SessionError};
pub use export::export;
pub use line::{ExtensionCall, Head, Parent};
pub use list::{Entry, Listed};
pub use open::Opened;
pub use store::{Choice, Sessions, messages};
pub use writer::{Unsynced, Written};

use crate::{
    clock,
    message::{Message, Role},
};
use line::{Out, storable};
use writer::Writer;

/// A title is cut after so many characters.
const TITLE_CHARS: usize = 100;

/// A session that is being written. Its file is nobody else's to write until it is dropped.
#[derive(Debug)]
pub struct Session {
    id: String,
    /// `None`: nothing is kept.
    writer: Option<Writer>,
    messages: u64,
    title: Option<String>,
}

impl Session {
    fn new(id: String, writer: Option<Writer>, messages: u64, title: Option<String>) -> Self {
        Self {
            id,
            writer,
            messages,
            title,
        }
    }

    /// Its name among all.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Its file, which is made with the first message; `None` where nothing is kept.
    pub fn path(&self) -> Option<&Path> {
        self.writer.as_ref().map(Writer::path)
    }

    /// Whether nothing is kept.
    pub fn is_off(&self) -> bool {
        self.writer.is_none()
    }

    /// How many messages it has, from before a compaction too: where it can be forked.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// The first thing that the user said, in one line.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// Writes a message. It is in the file when this returns [`Written::Yes`].
    pub fn append(&mut self, message: &Message) -> Result<Written, SessionError> {
        let before = self.messages;
        self.messages += 1;
        let mut new_title = None;
        if self.title.is_none() && message.role == Role::User {
            new_title = title_of(message);
            self.title.clone_from(&new_title);
        }
        let n = self.messages;
        self.write(|to| {
            if let Some(title) = &new_title {
                Out::Title { title, n: before }.write(to);
            }
            let message = &storable(message);
            Out::Message { message, n }.write(to);
        })
    }

    /// Writes that the transcript has become this one message.
    pub fn compact(&mut self, summary: &Message) -> Result<Written, SessionError> {
        let n = self.messages;
        self.write(|to| {
            let message = &storable(summary);
            Out::Compaction { message, n }.write(to);
        })
    }

    /// Writes that the transcript is empty.
    pub fn clear(&mut self) -> Result<Written, SessionError> {
        let n = self.messages;
        self.write(|to| Out::Clear { n }.write(to))
    }

    /// Writes that an extension had a tool run.
    pub fn extension_call(&mut self, call: &ExtensionCall) -> Result<Written, SessionError> {
        let n = self.messages;
        match &mut self.writer {
            Some(writer) => writer.append_quietly(|to| Out::ExtensionCall { call, n }.write(to)),
            None => Ok(Written::Off),
        }
    }

    /// Writes that another model answers from here on.
    pub fn set_model(&mut self, provider: &str, model: &str) -> Result<Written, SessionError> {
        if let Some(head) = self.writer.as_mut().and_then(Writer::head_mut) {
            // Nothing was said yet, and a file for this alone would be none to continue.
            (head.provider, head.model) = (provider.to_owned(), model.to_owned());
            return Ok(Written::Yes);
        }
        let (n, time) = (self.messages, &clock::now());
        self.write(|to| {
            Out::Model {
                provider,
                model,
                time,
                n,
            }
            .write(to);
        })
    }

    /// Waits until everything is on the disk: at the end of each prompt. What could not be written before is tried again.
    pub fn sync(&mut self) -> Result<Written, SessionError> {
        let (written, unsynced) = self.flush()?;
        unsynced.sync()?;
        Ok(written)
    }

    /// Writes what could not be written before, and gives what is to be waited for until everything is on the disk: the
    /// session can be written to meanwhile.
    pub fn flush(&mut self) -> Result<(Written, Unsynced), SessionError> {
        match &mut self.writer {
            Some(writer) => writer.flush_all(),
            None => Ok((Written::Off, Unsynced::default())),
        }
    }

    fn write(&mut self, add: impl FnOnce(&mut Vec<u8>)) -> Result<Written, SessionError> {
        match &mut self.writer {
            Some(writer) => writer.append(add),
            None => Ok(Written::Off),
        }
    }
}

/// The first line with something in it, without what a terminal would obey.
fn title_of(message: &Message) -> Option<String> {
    let text = message.text();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let plain = line.chars().map(|character| match character {
        control if control.is_control() => ' ',
        other => other,
    });
    Some(plain.take(TITLE_CHARS).collect())
}
