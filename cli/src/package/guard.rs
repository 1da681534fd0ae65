//! A file lock, so that only one process at a time changes a store. The locked file contains the
//! owner's PID.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use anyhow::Context;
use rustix::fs::OFlags;
use zot_host::extension::discover::escape;

use super::store::{CreatedDirs, Store};
use crate::{interrupt, output};

/// Exclusive access to a store, until dropped. The system releases it when the process exits.
#[derive(Debug)]
pub(crate) struct Guard {
    path: PathBuf,
    _file: File,
    // Dropped after the lock file has been removed, because only an empty directory can be deleted.
    _made: CreatedDirs,
}

impl Guard {
    /// Waits until no other process is changing the store, and reports which process it is waiting
    /// for.
    pub(crate) fn take(store: &Store) -> anyhow::Result<Self> {
        let mut made = store.prepare()?;
        let path = store.extensions().join(".guard");
        let mut reported = false;
        loop {
            interrupt::check()?;
            let mut file = match open(&path) {
                // Another process failed and removed the directory, so create it again.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    store.create_dirs(&mut made)?;
                    continue;
                }
                opened => {
                    opened.with_context(|| format!("cannot open `{}`", escape::path(&path)))?
                }
            };
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    if !reported {
                        output::note(format_args!(
                            "waiting for another zot process to finish with `{}`{}",
                            escape::path(&store.extensions()),
                            holder(&mut file)
                        ));
                        reported = true;
                    }
                    thread::sleep(Duration::from_millis(50));
                    continue;
                }
                Err(TryLockError::Error(error)) => {
                    return Err(error)
                        .with_context(|| format!("cannot lock `{}`", escape::path(&path)));
                }
            }
            // If the previous owner has removed this file, other processes would create and lock a
            // new one, so retry.
            if !is_at(&file, &path) {
                continue;
            }
            let written = file
                .set_len(0)
                .and_then(|()| writeln!(file, "{}", std::process::id()));
            written.with_context(|| format!("cannot write `{}`", escape::path(&path)))?;
            return Ok(Self {
                path,
                _file: file,
                _made: made,
            });
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Remove the file while it is still locked. Waiting processes notice that it is gone.
        let _ = fs::remove_file(&self.path);
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
        .open(path)
}

fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(held), Ok(there)) => held.dev() == there.dev() && held.ino() == there.ino(),
        _ => false,
    }
}

/// Returns `, pid 123`, or nothing if the file contains no PID.
fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.take(32).read_to_string(&mut text);
    match (read, text.trim().parse::<u32>()) {
        (Ok(_), Ok(pid)) => format!(", pid {pid}"),
        _ => String::new(),
    }
}
