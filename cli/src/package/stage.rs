//! The staging directory, where a package is assembled on the same file system as its destination.

use std::{
    cell::Cell,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, symlink},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use zot_host::extension::discover::escape;

use super::{guard::Guard, journal::Journal, lock_file::LockFile, store::Store};
use crate::interrupt;

/// Above this number of files, sync the whole file system once instead of each file.
const MAX_SYNCED_FILES: usize = 256;

/// A temporary directory for one installation. It is removed on drop.
#[derive(Debug)]
pub(crate) struct Stage<'s> {
    store: &'s Store,
    kept: Cell<bool>,
}

impl<'s> Stage<'s> {
    /// Finishes or removes what a killed run left behind, then creates an empty stage.
    pub(crate) fn create(store: &'s Store, _guard: &Guard) -> anyhow::Result<Self> {
        recover(store)?;
        let path = store.staging();
        DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .with_context(|| format!("cannot create `{}`", escape::path(&path)))?;
        Ok(Self {
            store,
            kept: Cell::new(false),
        })
    }

    pub(crate) fn store(&self) -> &'s Store {
        self.store
    }

    /// The new package.
    pub(crate) fn tree(&self) -> PathBuf {
        self.store.staging().join("new")
    }

    /// The previous package.
    pub(crate) fn old(&self) -> PathBuf {
        self.store.staging().join("old")
    }

    /// The fetched git objects.
    pub(crate) fn repository(&self) -> PathBuf {
        self.store.staging().join("repository.git")
    }

    /// A file that is about to replace another.
    pub(crate) fn file(&self) -> PathBuf {
        self.store.staging().join("file")
    }

    /// Keeps the stage for the next run, because this one failed to restore what it had moved.
    pub(crate) fn keep(&self) {
        self.kept.set(true);
    }
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        if self.kept.get() {
            return;
        }
        // Remove the journal first, so that an interrupted cleanup does not look like an
        // interrupted installation.
        Journal::remove(self.store);
        let _ = fs::remove_dir_all(self.store.staging());
    }
}

/// Completes the swap of a killed run, and removes its other files.
fn recover(store: &Store) -> anyhow::Result<()> {
    let staging = store.staging();
    let Ok(metadata) = fs::symlink_metadata(&staging) else {
        return Ok(());
    };
    if metadata.is_dir()
        && let Some(journal) = Journal::read(store)
    {
        if let Journal::Swap { name, inode, .. } = &journal {
            complete_swap(store, name, *inode)?;
        }
        // Reading the lock file applies the journal.
        LockFile::read(store)?.write(store)?;
        Journal::remove(store);
    }
    let removed = if metadata.is_dir() {
        fs::remove_dir_all(&staging)
    } else {
        fs::remove_file(&staging)
    };
    removed.with_context(|| {
        format!(
            "cannot remove `{}`, left over from an interrupted run",
            escape::path(&staging)
        )
    })
}

/// Finishes a two-step swap that was interrupted after its first rename. Restores the previous tree
/// if the new one is missing.
fn complete_swap(store: &Store, name: &str, inode: u64) -> anyhow::Result<()> {
    let target = store.extensions().join(name);
    let (new, old) = (store.staging().join("new"), store.staging().join("old"));
    if fs::symlink_metadata(&target).is_ok() || fs::symlink_metadata(&old).is_err() {
        return Ok(());
    }
    let is_whole = fs::symlink_metadata(&new).is_ok_and(|new| new.ino() == inode);
    fs::rename(if is_whole { &new } else { &old }, &target)
        .with_context(|| format!("cannot restore `{}`", escape::path(&target)))
}

/// Writes a package's files. The caller must write links last, so that no path can lead out of the
/// stage.
#[derive(Debug)]
pub(crate) struct Writer {
    root: PathBuf,
    sync_each: bool,
}

impl Writer {
    /// Creates the package's directory. `files`, the approximate number of files, determines how
    /// they are synced.
    pub(crate) fn new(stage: &Stage<'_>, files: usize) -> anyhow::Result<Self> {
        let root = stage.tree();
        fs::create_dir(&root)
            .with_context(|| format!("cannot create `{}`", escape::path(&root)))?;
        Ok(Self {
            root,
            sync_each: files <= MAX_SYNCED_FILES,
        })
    }

    pub(crate) fn directory(&self, path: &str) -> anyhow::Result<()> {
        fs::create_dir(self.root.join(path)).with_context(|| cannot_write(path))
    }

    /// Writes a file, and fails if it does not have exactly `size` bytes.
    pub(crate) fn file(
        &self,
        path: &str,
        executable: bool,
        size: u64,
        bytes: impl Read,
    ) -> anyhow::Result<()> {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(if executable { 0o755 } else { 0o644 })
            .open(self.root.join(path))
            .with_context(|| cannot_write(path))?;
        let mut bytes = bytes.take(size + 1);
        let mut buffer = vec![0; 64 * 1024];
        let mut written = 0;
        loop {
            interrupt::check()?;
            let count = match bytes.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    return Err(error)
                        .with_context(|| format!("cannot read `{}`", escape::text(path)));
                }
            };
            file.write_all(&buffer[..count])
                .with_context(|| cannot_write(path))?;
            written += count as u64;
        }
        if written != size {
            bail!(
                "`{}` changed during the copy\nhint: try again",
                escape::text(path)
            );
        }
        if self.sync_each {
            file.sync_all().with_context(|| cannot_write(path))?;
        }
        Ok(())
    }

    pub(crate) fn link(&self, path: &str, target: &str) -> anyhow::Result<()> {
        symlink(target, self.root.join(path)).with_context(|| cannot_write(path))
    }

    /// Syncs everything to disk.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        let done = if self.sync_each {
            sync_tree(&self.root, false)
        } else {
            sync_all(&self.root)
        };
        done.with_context(|| format!("cannot write `{}`", escape::path(&self.root)))
    }
}

fn cannot_write(path: &str) -> String {
    format!("cannot write `{}`", escape::text(path))
}

/// Syncs the directories of a tree, and its files if `files` is set.
fn sync_tree(path: &Path, files: bool) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            sync_tree(&entry.path(), files)?;
        } else if files && kind.is_file() {
            File::open(entry.path())?.sync_all()?;
        }
    }
    File::open(path)?.sync_all()
}

#[cfg(target_os = "linux")]
fn sync_all(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(path)?)?)
}

#[cfg(not(target_os = "linux"))]
fn sync_all(path: &Path) -> io::Result<()> {
    sync_tree(path, true)
}
