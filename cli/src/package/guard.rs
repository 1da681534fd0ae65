//! One process at a time changes a store: a file lock, with the holder's pid in it.

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
use zot_host::extension::discover::shown;

use super::store::{Made, Store};
use crate::{interrupt, output};

/// The right to change a store, until it is dropped. The system takes it back from a process that ends, however it does.
#[derive(Debug)]
pub(crate) struct Guard {
    path: PathBuf,
    _file: File,
    // After the file is gone: the directory may be empty then.
    _made: Made,
}

impl Guard {
    /// Waits until nobody else changes the store, and says for whom.
    pub(crate) fn take(store: &Store) -> anyhow::Result<Self> {
        let mut made = store.prepare()?;
        let path = store.extensions().join(".guard");
        let mut told = false;
        loop {
            interrupt::check()?;
            let mut file = match open(&path) {
                // Another one has come to nothing, and taken the directory along.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    store.make(&mut made)?;
                    continue;
                }
                opened => {
                    opened.with_context(|| format!("cannot open `{}`", shown::path(&path)))?
                }
            };
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    if !told {
                        output::note(format_args!(
                            "waiting for another zot that changes `{}`{}",
                            shown::path(&store.extensions()),
                            holder(&mut file)
                        ));
                        told = true;
                    }
                    thread::sleep(Duration::from_millis(50));
                    continue;
                }
                Err(TryLockError::Error(error)) => {
                    return Err(error)
                        .with_context(|| format!("cannot lock `{}`", shown::path(&path)));
                }
            }
            // The one before removed its file: whoever comes next would make and lock another.
            if !is_at(&file, &path) {
                continue;
            }
            let written = file
                .set_len(0)
                .and_then(|()| writeln!(file, "{}", std::process::id()));
            written.with_context(|| format!("cannot write `{}`", shown::path(&path)))?;
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
        // While it is still locked; those who wait for this file notice that it is gone.
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

/// `, pid 123`, where it says so.
fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.take(32).read_to_string(&mut text);
    match (read, text.trim().parse::<u32>()) {
        (Ok(_), Ok(pid)) => format!(", pid {pid}"),
        _ => String::new(),
    }
}
