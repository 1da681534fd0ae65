//! Safe file updates: backups before a change, and atomic replacement.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write},
    ops::Deref,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// The maximum number of backups beside one file.
const MAX_BACKUPS: u32 = 100;

/// A locked file, unlocked on drop. Closing the file is not enough: a process that another thread
/// is starting holds a copy of the descriptor until it calls `exec`.
#[derive(Debug)]
pub(crate) struct Locked(File);

impl Locked {
    /// Takes an exclusive lock, or returns the file if that fails.
    pub(crate) fn try_new(file: File) -> Result<Self, (File, TryLockError)> {
        match file.try_lock() {
            Ok(()) => Ok(Self(file)),
            Err(error) => Err((file, error)),
        }
    }
}

impl Deref for Locked {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

/// Writes `bytes` to a new file beside `path`, named `path.WORD`, or `path.WORD.2` and so on if
/// that name is taken, and syncs it to disk. Reuses an existing backup with the same bytes.
pub(crate) fn set_aside(path: &Path, word: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    for number in 1..=MAX_BACKUPS {
        let aside = with_suffix(
            path,
            &match number {
                1 => format!(".{word}"),
                more => format!(".{word}.{more}"),
            },
        );
        match write_new(&aside, bytes) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if has_contents(&aside, bytes) {
                    return Ok(aside);
                }
            }
            Err(error) => return Err(error),
            Ok(_) => {
                sync_folder(&aside);
                return Ok(aside);
            }
        }
    }
    Err(io::Error::other(format!(
        "there are already {MAX_BACKUPS} backups"
    )))
}

/// Replaces the file at `path` atomically. `prepare` can change the new file before it takes the
/// old one's place.
pub(crate) fn replace<T>(
    path: &Path,
    bytes: &[u8],
    prepare: impl FnOnce(File) -> io::Result<T>,
) -> io::Result<T> {
    let own = with_suffix(path, &format!(".new-{}", std::process::id()));
    // Remove a file left behind by an earlier process with the same PID.
    let _ = fs::remove_file(&own);
    let replaced = write_new(&own, bytes).and_then(|file| {
        let prepared = prepare(file)?;
        fs::rename(&own, path)?;
        sync_folder(path);
        Ok(prepared)
    });
    if replaced.is_err() {
        let _ = fs::remove_file(&own);
    }
    replaced
}

/// Creates a file with mode 0600 and syncs it to disk. Fails if the file already exists. If writing
/// fails, removes the new file.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> io::Result<File> {
    let mut file = OpenOptions::new()
        .read(true)
        .append(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    match file.write_all(bytes).and_then(|()| file.sync_all()) {
        Ok(()) => Ok(file),
        Err(error) => {
            let _ = fs::remove_file(path);
            Err(error)
        }
    }
}

/// Syncs the parent folder, so that a new or renamed file survives a power failure. Errors are
/// ignored, since some file systems cannot sync a folder.
pub(crate) fn sync_folder(of: &Path) {
    if let Some(folder) = of.parent() {
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
}

/// Appends `suffix` to the file name.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

fn has_contents(path: &Path, bytes: &[u8]) -> bool {
    let same_length = fs::symlink_metadata(path)
        .is_ok_and(|file| file.is_file() && file.len() == bytes.len() as u64);
    same_length && fs::read(path).is_ok_and(|contents| contents == bytes)
}
