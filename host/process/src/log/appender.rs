use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

/// How long to wait after a failed write before trying again.
const RETRY: Duration = Duration::from_secs(1);

/// How long to wait for the lock. It is held only during one write, so a process that holds it
/// longer has been stopped (Ctrl-Z) and must not block us.
const LOCK_TIMEOUT: Duration = Duration::from_millis(200);

/// Appends complete lines to a file that other processes also append to and rotate.
///
/// The lock is on the file itself. After locking, the appender checks whether the path still refers
/// to that file. If so, no other process can rotate it until the lock is released. If not, another
/// process has rotated it, and the new file is opened.
#[derive(Debug)]
pub(super) struct Appender {
    path: PathBuf,
    cap: u64,
    file: Option<File>,
    /// Whether the last write stopped in the middle of a line because the disk was full.
    torn: bool,
    /// Whether waiting for the lock timed out. Until the lock is free again, attempts do not wait.
    lock_timed_out: bool,
    lost: u64,
    /// Why lines cannot be written at present; `None` if they can.
    pub(super) problem: Option<String>,
    retry: Option<Instant>,
}

impl Appender {
    pub(super) fn new(path: PathBuf, cap: u64) -> Self {
        Self {
            path,
            cap,
            file: None,
            torn: false,
            lock_timed_out: false,
            lost: 0,
            problem: None,
            retry: None,
        }
    }

    /// Appends complete lines in one write, or counts them as lost.
    pub(super) fn append(&mut self, lines: &[u8]) {
        if lines.is_empty() {
            return;
        }
        let is_waiting = self.retry.is_some_and(|at| Instant::now() < at);
        if is_waiting || !self.write(lines) {
            self.lost += lines.split_inclusive(|&b| b == b'\n').count() as u64;
        }
    }

    fn write(&mut self, lines: &[u8]) -> bool {
        let now = super::time::stamp();
        let mut text = Vec::with_capacity(lines.len() + 128);
        if self.torn {
            text.push(b'\n');
        }
        if self.lost > 0 {
            let why = self.problem.as_deref().unwrap_or("not written");
            let lines = if self.lost == 1 { "line" } else { "lines" };
            let note = format!("{now}[zot] {} {lines} dropped ({why})\n", self.lost);
            text.extend_from_slice(note.as_bytes());
        }
        for line in lines.split_inclusive(|&byte| byte == b'\n') {
            text.extend_from_slice(now.as_bytes());
            text.extend_from_slice(line);
        }
        match self.try_write(&text) {
            Ok(()) => {
                (self.torn, self.lost) = (false, 0);
                (self.problem, self.retry) = (None, None);
                true
            }
            Err(error) => {
                self.problem = Some(format!("cannot write `{}`: {error}", self.path.display()));
                self.retry = Some(Instant::now() + RETRY);
                self.file = None;
                false
            }
        }
    }

    fn try_write(&mut self, text: &[u8]) -> io::Result<()> {
        let locked = self.open_and_lock()?;
        let result = self.rotate_and_write(text, locked);
        if let Some(file) = &self.file {
            // An error can be ignored: closing the file unlocks it too.
            let _ = flock(file, FlockOperation::Unlock);
        }
        result
    }

    fn rotate_and_write(&mut self, text: &[u8], mut locked: bool) -> io::Result<()> {
        let used = match &self.file {
            Some(file) => file.metadata()?.len(),
            None => 0,
        };
        if used > 0 && used + text.len() as u64 > self.cap {
            if locked {
                let mut older = self.path.clone().into_os_string();
                older.push(".1");
                fs::rename(&self.path, older)?;
                self.file = None;
                locked = self.open_and_lock()?;
            }
            // Only the owner of the lock may rotate. Without it, the file may grow for a while, but
            // not without limit.
            if !locked && used > self.cap.saturating_mul(2) {
                return Err(io::Error::other(
                    "the file is full and locked by another process",
                ));
            }
        }
        let Some(file) = &mut self.file else {
            return Err(Errno::BADF.into());
        };
        // A single write is atomic, so that even a writer without the lock interleaves only
        // complete lines.
        let written = loop {
            match file.write(text) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        if written < text.len() {
            self.torn = written > 0;
            return Err(Errno::NOSPC.into());
        }
        Ok(())
    }

    /// Opens and locks the file that the path refers to now. Returns `false` if it could not be
    /// locked, because the lock timed out or the file system does not support locks.
    fn open_and_lock(&mut self) -> io::Result<bool> {
        // Try again only if another process has just rotated the file. If that keeps happening,
        // continue without the lock.
        for _ in 0..16 {
            let file = match self.file.take() {
                Some(file) => file,
                None => open(&self.path)?,
            };
            let locked = self.lock(&file);
            if is_at(&file, &self.path)? {
                self.file = Some(file);
                return Ok(locked);
            }
        }
        self.file = Some(open(&self.path)?);
        Ok(false)
    }

    fn lock(&mut self, file: &File) -> bool {
        let until = Instant::now() + LOCK_TIMEOUT;
        loop {
            match flock(file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {
                    self.lock_timed_out = false;
                    return true;
                }
                Err(Errno::INTR) => {}
                Err(Errno::WOULDBLOCK) if !self.lock_timed_out && Instant::now() < until => {
                    std::thread::sleep(Duration::from_micros(200));
                }
                Err(Errno::WOULDBLOCK) => {
                    self.lock_timed_out = true;
                    return false;
                }
                Err(_) => return false,
            }
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    let open = || {
        // NONBLOCK, because opening a FIFO would otherwise block until another process reads it.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .custom_flags(flags.bits().cast_signed())
            .open(path)
    };
    let file = match open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if let Some(parent) = path.parent() {
                DirBuilder::new()
                    .recursive(true)
                    .mode(0o700)
                    .create(parent)?;
            }
            open()?
        }
        Err(error) if Errno::from_io_error(&error) == Some(Errno::LOOP) => {
            return Err(io::Error::other("it is a symlink"));
        }
        opened => opened?,
    };
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("it is not a regular file"))
    }
}

/// Reports whether the path refers to this file.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let held = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (held.dev(), held.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
