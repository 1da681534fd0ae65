//! Appends complete lines to a session file.

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

/// The maximum size, in bytes, of the lines that wait for the first message.
const MAX_EARLY_BYTES: usize = 64 * 1024;

/// The outcome of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Written {
    /// The line is in the file, or waits in memory until the first message creates the file.
    Yes,
    /// The line is in the file, together with everything that could not be written before.
    CaughtUp,
    /// The line could not be written, and neither could earlier ones; the first failure was
    /// returned as an error. The next write will try again.
    Later,
    /// The session is not stored.
    Off,
}

/// Data that is in the file but not yet synced to disk.
#[derive(Debug, Default)]
#[must_use]
pub struct Unsynced(Option<UnsyncedFile>);

#[derive(Debug)]
struct UnsyncedFile {
    file: File,
    path: PathBuf,
    /// Whether the file's directory entry must be synced too.
    is_new: bool,
}

impl Unsynced {
    /// Syncs the file. Blocks until the disk has synced.
    pub fn sync(self) -> Result<(), SessionError> {
        let Some(UnsyncedFile { file, path, is_new }) = self.0 else {
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
    /// `None` until the file is created.
    file: Option<Locked>,
    /// The head; `None` once it is written.
    head: Option<Head>,
    /// The length of the file up to the last complete line.
    len: u64,
    /// Whether a write failed and may have left a partial line after `len`.
    torn: bool,
    /// Lines that are not in the file yet.
    waiting: Vec<u8>,
    failing: bool,
    /// Whether the file's directory entry has been synced.
    folder_synced: bool,
}

impl Writer {
    /// Creates a writer whose file is created, in a private folder, with the first line.
    pub(super) fn pending(path: PathBuf, head: Head) -> Self {
        Self::new(path, None, Some(head), 0)
    }

    /// Creates a writer for an existing file with complete lines up to `len`.
    pub(super) fn of(path: PathBuf, file: Locked, len: u64) -> Self {
        Self::new(path, Some(file), None, len)
    }

    fn new(path: PathBuf, file: Option<Locked>, head: Option<Head>, len: u64) -> Self {
        Self {
            path,
            file,
            head,
            len,
            torn: false,
            waiting: Vec::new(),
            failing: false,
            folder_synced: false,
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the head, or `None` once it is written.
    pub(super) fn head_mut(&mut self) -> Option<&mut Head> {
        self.head.as_mut()
    }

    /// Writes lines, together with the waiting ones, in one write.
    pub(super) fn append(
        &mut self,
        add: impl FnOnce(&mut Vec<u8>),
    ) -> Result<Written, SessionError> {
        add(&mut self.waiting);
        self.flush()
    }

    /// Writes lines that do not justify creating the file. Until the first message, they wait in
    /// memory.
    pub(super) fn append_quietly(
        &mut self,
        add: impl FnOnce(&mut Vec<u8>),
    ) -> Result<Written, SessionError> {
        if !self.has_begun() {
            if self.waiting.len() < MAX_EARLY_BYTES {
                add(&mut self.waiting);
            }
            return Ok(Written::Yes);
        }
        self.append(add)
    }

    /// Reports whether the head has been written, or a write has failed.
    fn has_begun(&self) -> bool {
        self.head.is_none() || self.failing
    }

    /// Writes the waiting lines, and returns the data that is not synced yet.
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
        let unsynced = Unsynced(Some(UnsyncedFile {
            file,
            path: self.path.clone(),
            is_new: !std::mem::replace(&mut self.folder_synced, true),
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
        // Use one `write` call, so that concurrent readers see complete lines. `write_all` makes a
        // second call only after a short write, and that call returns the cause.
        if let Err(error) = (&**file).write_all(&self.waiting) {
            self.torn = file.set_len(self.len).is_err();
            return Err(error);
        }
        self.len += self.waiting.len() as u64;
        self.waiting.clear();
        // Free the memory that a large image needed.
        self.waiting.shrink_to(64 * 1024);
        Ok(())
    }
}

/// Creates a file with mode 0600, and missing folders above it with mode 0700.
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
