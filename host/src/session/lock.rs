//! One writer per file: an advisory lock, held while the file is open.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::Path,
};

use rustix::fs::OFlags;

use super::SessionError;
use crate::{
    file::Locked,
    untrusted::{Follow, open_regular},
};

/// How an existing file was opened.
pub(super) enum Access {
    /// For writing.
    Write(Locked),
    /// Only for reading, with the error from opening it for writing.
    Read(File, io::Error),
}

/// Opens an existing file. Returns `None` if it does not exist.
pub(super) fn open(path: &Path) -> Result<Option<Access>, SessionError> {
    // Retry if another process replaced the file before it was locked (see `repair`).
    for _ in 0..16 {
        let file = match open_to_write(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if is_denied(&error) => return open_to_read(path, error).map(Some),
            Err(error) => return Err(SessionError::read(path, error)),
        };
        if !file.metadata().is_ok_and(|file| file.is_file()) {
            return Err(SessionError::NotASession(path.to_owned()));
        }
        let file = lock(file, path)?;
        if is_at(&file, path) {
            return Ok(Some(Access::Write(file)));
        }
    }
    Err(SessionError::Busy {
        path: path.to_owned(),
        pid: None,
    })
}

fn open_to_write(path: &Path) -> io::Result<File> {
    // Do not block if the path is a FIFO or a terminal.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    OpenOptions::new()
        .read(true)
        .append(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
}

fn open_to_read(path: &Path, why: io::Error) -> Result<Access, SessionError> {
    match open_regular(path, Follow::Yes) {
        Ok(Some(file)) => Ok(Access::Read(file, why)),
        Ok(None) => Err(SessionError::NotASession(path.to_owned())),
        Err(error) => Err(SessionError::read(path, error)),
    }
}

fn is_denied(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
    )
}

/// Takes the lock. If another process holds it, the error contains that process's id.
pub(super) fn lock(file: File, path: &Path) -> Result<Locked, SessionError> {
    Locked::try_new(file).map_err(|(file, error)| match error {
        TryLockError::WouldBlock => SessionError::Busy {
            path: path.to_owned(),
            pid: holder(&file),
        },
        // Do not write without a lock, which some file systems do not support.
        TryLockError::Error(error) => SessionError::write(path, error),
    })
}

/// Reports whether the path still refers to this file.
fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(held), Ok(there)) => (held.dev(), held.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

/// Returns the PID of the lock's holder, from a line in `/proc/locks` such as
/// `1: FLOCK  ADVISORY  WRITE 4711 08:01:131 0 EOF`.
fn holder(file: &File) -> Option<u32> {
    let file = file.metadata().ok()?;
    let device = (rustix::fs::major(file.dev()), rustix::fs::minor(file.dev()));
    let locks = fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, "FLOCK", _, "WRITE", pid, place, ..] = fields[..] else {
            return None;
        };
        let mut place = place.split(':');
        let mut hex = || u32::from_str_radix(place.next()?, 16).ok();
        let is_here = (hex()?, hex()?) == device && place.next()?.parse() == Ok(file.ino());
        // A process in another PID namespace is listed with PID 0.
        pid.parse().ok().filter(|pid| is_here && *pid > 0)
    })
}
