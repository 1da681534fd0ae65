//! Sessions: transcripts on disk, which outlive the process and can be continued.
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
//! `$ZOT_HOME/sessions/<hash of the working directory>/<time>-<id>.jsonl`, mode 0600 in a directory
//! of mode 0700. The format is JSON Lines: every line is an object with a `type`, and the head
//! comes first.
//!
//! | `type` | fields | |
//! |---|---|---|
//! | `session` | `version` (1), `id`, `cwd`, `created`, `provider`, `model`, `parent` (`id`, `messages`) | the head; `parent` if it was forked or imported |
//! | `title` | `title` | the user's first message on one line; a later title replaces it |
//! | `message` | `message`: a [`Message`] | a message |
//! | `compaction` | `message`: a [`Message`] | the transcript is replaced with this summary; earlier messages stay in the file |
//! | `clear` | | the transcript is cleared; earlier messages stay in the file |
//! | `model` | `provider`, `model`, `time` | the model changes |
//! | `extension_call` | `call`: an [`ExtensionCall`] | an extension called a tool |
//! | `mark` | `mark`: a [`Mark`] | how a turn or a tool call ended |
//! | `prefix` | `prefix`, `told` | the system prompt and the tools from here on, and what the model was told about things that can change |
//! | `told` | `told` | what the model was told since |
//!
//! Times are RFC 3339. Every line except the head ends with `n`, the number of messages up to it,
//! so that sessions can be listed without reading whole files. A line with an unknown `type` or
//! unknown content comes from a newer version: it is kept, skipped and reported. A head with a
//! higher `version` is not opened at all.
//!
//! # Guarantees
//!
//! - A line is in the file when [`Session::append`] returns, in one write, so it survives even if
//!   the process is killed. [`Session::sync`] makes it survive a power failure.
//! - Two processes never write to one file: the writer holds a lock, and a second writer gets
//!   [`SessionError::Busy`] with the process id. Reading and listing need no lock.
//! - An incomplete last line is moved to `<file>.torn`. If the head or a line in the middle is
//!   damaged, the original file is copied to `<file>.bad`, and the session continues with all
//!   readable lines. If nothing is readable, a new session begins. A [`Notice`] reports each case.
//! - A loaded transcript is valid for providers: tool calls without results are given cancelled
//!   results. These exist only in memory; the file records what happened.
//! - A full disk is reported once ([`SessionError::Full`]). The lines wait in memory until a write
//!   succeeds, and no partial line stays in the file.
//! - API keys are never written.
//!
//! All functions block for the duration of a small write. [`Session::sync`] blocks until the disk
//! has synced.

mod contents;
mod error;
mod export;
mod line;
mod list;
mod lock;
mod open;
mod store;
pub(crate) mod transcript;
mod writer;

use std::path::Path;

pub use error::{Notice, SessionError};
pub use export::export;
pub use line::{ExtensionCall, Head, Mark, Parent};
pub use list::{Entry, Listed};
pub use open::Opened;
pub use store::{Choice, Sessions, messages};
pub use writer::{Unsynced, Written};

use crate::{
    agent::prefix::{Prefix, Told},
    clock,
    message::{Message, Role},
};
use line::{Out, storable};
use writer::Writer;

/// The maximum length of a title in characters.
const TITLE_CHARS: usize = 100;

/// A session that is being written. Its file is locked until this is dropped.
#[derive(Debug)]
pub struct Session {
    id: String,
    /// `None` if the session is not stored.
    writer: Option<Writer>,
    messages: u64,
    title: Option<String>,
}

impl Session {
    fn new(id: String, writer: Option<Writer>) -> Self {
        Self {
            id,
            writer,
            messages: 0,
            title: None,
        }
    }

    /// The unique id of the session.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The path of its file, which is created with the first message; `None` if the session is not
    /// stored.
    pub fn path(&self) -> Option<&Path> {
        self.writer.as_ref().map(Writer::path)
    }

    /// Reports whether the session is not stored.
    pub fn is_off(&self) -> bool {
        self.writer.is_none()
    }

    /// The number of messages, including those before a compaction. A session can be forked at any
    /// of them.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// The user's first message on one line.
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

    /// Records that the summary replaced the transcript.
    pub fn compact(&mut self, summary: &Message) -> Result<Written, SessionError> {
        let n = self.messages;
        self.write(|to| {
            let message = &storable(summary);
            Out::Compaction { message, n }.write(to);
        })
    }

    /// Records that the transcript was cleared.
    pub fn clear(&mut self) -> Result<Written, SessionError> {
        let n = self.messages;
        self.write(|to| Out::Clear { n }.write(to))
    }

    /// Records the start of every request from here on, and the state that it tells the model
    /// about.
    pub(crate) fn set_prefix(
        &mut self,
        prefix: &Prefix,
        told: &Told,
    ) -> Result<Written, SessionError> {
        let n = self.messages;
        self.write_quietly(|to| Out::Prefix { prefix, told, n }.write(to))
    }

    /// Records the state that the remarks in the last message told the model about.
    pub(crate) fn set_told(&mut self, told: &Told) -> Result<Written, SessionError> {
        let n = self.messages;
        self.write_quietly(|to| Out::Told { told, n }.write(to))
    }

    /// Records that an extension called a tool.
    pub fn extension_call(&mut self, call: &ExtensionCall) -> Result<Written, SessionError> {
        let n = self.messages;
        self.write_quietly(|to| Out::ExtensionCall { call, n }.write(to))
    }

    /// Records something that the user saw but that is not part of a message.
    pub(crate) fn mark(&mut self, mark: &Mark) -> Result<Written, SessionError> {
        let n = self.messages;
        self.write_quietly(|to| Out::Mark { mark, n }.write(to))
    }

    /// Records that the model changed.
    pub fn set_model(&mut self, provider: &str, model: &str) -> Result<Written, SessionError> {
        if let Some(head) = self.writer.as_mut().and_then(Writer::head_mut) {
            // There is no message yet, so change the head instead of creating a file.
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

    /// Syncs everything to disk. Called at the end of each prompt. Retries earlier writes that
    /// failed.
    pub fn sync(&mut self) -> Result<Written, SessionError> {
        let (written, unsynced) = self.flush()?;
        unsynced.sync()?;
        Ok(written)
    }

    /// Retries earlier writes that failed. Returns the unsynced data, which can be synced while the
    /// session is being written to.
    pub fn flush(&mut self) -> Result<(Written, Unsynced), SessionError> {
        match &mut self.writer {
            Some(writer) => writer.flush_all(),
            None => Ok((Written::Off, Unsynced::default())),
        }
    }

    /// Writes a line that is not important enough to create the file for.
    fn write_quietly(&mut self, add: impl FnOnce(&mut Vec<u8>)) -> Result<Written, SessionError> {
        match &mut self.writer {
            Some(writer) => writer.append_quietly(add),
            None => Ok(Written::Off),
        }
    }

    fn write(&mut self, add: impl FnOnce(&mut Vec<u8>)) -> Result<Written, SessionError> {
        match &mut self.writer {
            Some(writer) => writer.append(add),
            None => Ok(Written::Off),
        }
    }
}

/// Returns the first non-blank line, without control characters.
fn title_of(message: &Message) -> Option<String> {
    let text = message.text();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let plain = line.chars().map(|character| match character {
        control if control.is_control() => ' ',
        other => other,
    });
    Some(plain.take(TITLE_CHARS).collect())
}
