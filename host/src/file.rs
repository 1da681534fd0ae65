//! Files that must not be lost: set aside before they are changed, and replaced whole or not at all.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write},
    ops::Deref,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// More files than this are not set aside beside one.
const MOST_ASIDE: u32 = 100;

/// A file with its lock, which is given back when this is dropped. Closing the file alone would not do: a process that
/// another thread is just starting has a copy of it until it runs its own program.
#[derive(Debug)]
pub(crate) struct Locked(File);

impl Locked {
    /// Takes the lock, which nobody else may have.
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

/// Writes `bytes` to a new file beside `path`, named `path.WORD`, or `path.WORD.2` where there is one already, and
/// waits until they are on the disk. One that has just these bytes is enough.
pub(crate) fn set_aside(path: &Path, word: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    for number in 1..=MOST_ASIDE {
        let aside = with_suffix(
            path,
            &match number {
                1 => format!(".{word}"),
                more => format!(".{word}.{more}"),
            },
        );
        match write_new(&aside, bytes) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if is_just(&aside, bytes) {
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
        "{MOST_ASIDE} files are set aside beside it already"
    )))
}

/// Replaces the file at `path`, whole or not at all. `prepare` makes what it will of the new file before that takes the
/// old one's place.
pub(crate) fn replace<T>(
    path: &Path,
    bytes: &[u8],
    prepare: impl FnOnce(File) -> io::Result<T>,
) -> io::Result<T> {
    let own = with_suffix(path, &format!(".new-{}", std::process::id()));
    // What an earlier process of this number left behind.
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

/// Writes a file that was not there before, for its owner alone, and waits until it is on the disk. A failure leaves none.
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

/// Makes a new name in a folder last through a power failure. A file system that cannot is none to complain about.
pub(crate) fn sync_folder(of: &Path) {
    if let Some(folder) = of.parent() {
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
}

/// The path with something added to the file's name.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

fn is_just(path: &Path, bytes: &[u8]) -> bool {
    let is_as_long = fs::symlink_metadata(path)
        .is_ok_and(|there| there.is_file() && there.len() == bytes.len() as u64);
    is_as_long && fs::read(path).is_ok_and(|there| there == bytes)
}
