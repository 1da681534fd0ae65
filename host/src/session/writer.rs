//! Appends whole lines to a session's file, and is never ahead of what is on it.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use super::{
    SessionError,
    line::{Head, Out},
    lock,
};
use crate::{
    file::{Locked, sync_folder},
    home::make_private,
};

/// So many bytes of lines may wait for the first message.
const MOST_BEFORE_THE_FIRST: usize = 64 * 1024;

/// What became of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Written {
    /// It is in the file.
    Yes,
    /// It is in the file, and so is everything that could not be written before it.
    CaughtUp,
    /// It cannot be written, as the lines before it could not; the first of them was the error. It is tried again with
    /// the next.
    Later,
    /// Nothing is kept of this session.
    Off,
}

/// What is in the file and not on the disk yet.
#[derive(Debug, Default)]
#[must_use]
pub struct Unsynced(Option<Pending>);

#[derive(Debug)]
struct Pending {
    file: File,
    path: PathBuf,
    /// The folder's entry for the file is not on the disk either.
    is_new: bool,
}

impl Unsynced {
    /// Waits until it is. It blocks for as long as the disk takes.
    pub fn sync(self) -> Result<(), SessionError> {
        let Some(Pending { file, path, is_new }) = self.0 else {
            return Ok(());
        };
        file.sync_data()
            .map_err(|error| SessionError::write(&path, error))?;
        if is_new {
            sync_folder(&path);
        }
        Ok(())
    }
}

#[derive(Debug)]
pub(super) struct Writer {
    path: PathBuf,
    /// `None`: not made yet.
    file: Option<Locked>,
    /// The head of a file that has none yet.
    head: Option<Head>,
    /// How far the file is whole.
    len: u64,
    /// A write has failed, and there may be something after `len`.
    torn: bool,
    /// Lines that are not in the file yet.
    waiting: Vec<u8>,
    failing: bool,
    /// The folder's entry for the file has been synced.
    named: bool,
}

impl Writer {
    /// A file that is made, in a private folder, when the first line is written.
    pub(super) fn pending(path: PathBuf, head: Head) -> Self {
        Self {
            path,
            file: None,
            head: Some(head),
            len: 0,
            torn: false,
            waiting: Vec::new(),
            failing: false,
            named: false,
        }
    }

    /// A file that is there, and whole up to `len`.
    pub(super) fn of(path: PathBuf, file: Locked, len: u64) -> Self {
        Self {
            path,
            file: Some(file),
            head: None,
            len,
            torn: false,
            waiting: Vec::new(),
            failing: false,
            named: false,
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The head, while it is not written.
    pub(super) fn head_mut(&mut self) -> Option<&mut Head> {
        self.head.as_mut()
    }

    /// Writes lines, with those that wait, in one write.
    pub(super) fn append(
        &mut self,
        add: impl FnOnce(&mut Vec<u8>),
    ) -> Result<Written, SessionError> {
        add(&mut self.waiting);
        self.flush()
    }

    /// Writes lines that are no reason for a file: before the first message they wait for it.
    pub(super) fn append_quietly(
        &mut self,
        add: impl FnOnce(&mut Vec<u8>),
    ) -> Result<Written, SessionError> {
        if !self.has_begun() {
            if self.waiting.len() < MOST_BEFORE_THE_FIRST {
                add(&mut self.waiting);
            }
            return Ok(Written::Yes);
        }
        self.append(add)
    }

    /// Whether a message has been written, or should have been.
    fn has_begun(&self) -> bool {
        self.head.is_none() || self.failing
    }

    /// Writes what waits, and gives what is not on the disk yet.
    pub(super) fn flush_all(&mut self) -> Result<(Written, Unsynced), SessionError> {
        let written = if self.waiting.is_empty() || !self.has_begun() {
            Written::Yes
        } else {
            self.flush()?
        };
        let Some(file) = &self.file else {
            return Ok((written, Unsynced::default()));
        };
        let file = file
            .try_clone()
            .map_err(|error| SessionError::write(&self.path, error))?;
        let unsynced = Unsynced(Some(Pending {
            file,
            path: self.path.clone(),
            is_new: !std::mem::replace(&mut self.named, true),
        }));
        Ok((written, unsynced))
    }

    fn flush(&mut self) -> Result<Written, SessionError> {
        match self.try_flush() {
            Ok(()) if std::mem::take(&mut self.failing) => Ok(Written::CaughtUp),
            Ok(()) => Ok(Written::Yes),
            Err(_) if self.failing => Ok(Written::Later),
            Err(error) => {
                self.failing = true;
                Err(error)
            }
        }
    }

    fn try_flush(&mut self) -> Result<(), SessionError> {
        if self.file.is_none() {
            let file =
                create(&self.path).map_err(|error| SessionError::write(&self.path, error))?;
            self.file = Some(lock::lock(file, &self.path)?);
        }
        if let Some(head) = self.head.take() {
            let mut lines = Vec::new();
            Out::Session(&head).write(&mut lines);
            lines.append(&mut self.waiting);
            self.waiting = lines;
        }
        self.write()
            .map_err(|error| SessionError::write(&self.path, error))
    }

    fn write(&mut self) -> io::Result<()> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        if self.torn {
            file.set_len(self.len)?;
            self.torn = false;
        }
        // One call, so that whoever reads meanwhile sees whole lines. A second one is made only where the first was
        // short, to hear why.
        if let Err(error) = (&**file).write_all(&self.waiting) {
            self.torn = file.set_len(self.len).is_err();
            return Err(error);
        }
        self.len += self.waiting.len() as u64;
        self.waiting.clear();
        // A large image need not stay in memory.
        self.waiting.shrink_to(64 * 1024);
        Ok(())
    }
}

/// Makes a file that was not there, and what is missing above it, for the owner alone.
fn create(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent()
        && !folder.is_dir()
        && !make_private(folder)?
    {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    OpenOptions::new()
        .read(true)
        .append(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}
