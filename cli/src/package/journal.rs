//! Records a step before it is executed, so that the next run can tell whether a killed run
//! completed it.
//!
//! A tree and the lock file cannot change in one step. A rename replaces the tree. The inode at the
//! destination shows whether that happened, and the journal contains the matching lock file entry.

use std::{fs, os::unix::fs::MetadataExt, path::PathBuf};

use serde::{Deserialize, Serialize};
use zot_host::extension::discover;

use super::{
    inspect,
    lock_file::{Entry, LockFile, write_atomically},
    store::Store,
};

/// The maximum size of a journal.
const MAX_BYTES: usize = 1024 * 1024;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub(crate) enum Journal {
    /// A new tree replaces `name`.
    Swap {
        name: String,
        /// The inode of the new tree.
        inode: u64,
        entry: Entry,
    },
    /// The manifest of `name` is rewritten. Recorded only if the tree matched the lock file before.
    Edit { name: String, entry: Entry },
}

impl Journal {
    fn path(store: &Store) -> PathBuf {
        store.staging().join("journal.json")
    }

    /// Reads the journal of a run that was killed or is still running.
    pub(crate) fn read(store: &Store) -> Option<Self> {
        let bytes = store.read(&Self::path(store), MAX_BYTES).ok()?;
        let journal: Self = serde_json::from_slice(&bytes).ok()?;
        // A project's journal may come from its repository, so it must not refer to another
        // directory.
        let (Self::Swap { name, .. } | Self::Edit { name, .. }) = &journal;
        inspect::is_directory_name(name).then_some(journal)
    }

    pub(crate) fn write(&self, store: &Store) -> anyhow::Result<()> {
        write_atomically(&Self::path(store), &serde_json::to_vec(self)?)
    }

    /// Removes the journal. The step must have been recorded in the lock file or rolled back.
    pub(crate) fn remove(store: &Store) {
        let _ = fs::remove_file(Self::path(store));
    }

    /// Updates the lock file if the step was completed.
    pub(crate) fn apply(self, store: &Store, lock: &mut LockFile) {
        match self {
            Self::Swap { name, inode, entry } => {
                let there = fs::symlink_metadata(store.extensions().join(&name));
                if there.is_ok_and(|there| there.ino() == inode) {
                    lock.extensions.insert(name, entry);
                }
            }
            Self::Edit { name, mut entry } => {
                let dir = store.extensions().join(&name);
                // The edit may or may not have happened; a new digest is correct in both cases.
                if let Ok(digest) = discover::digest(&dir)
                    && let Ok((manifest, _)) =
                        discover::read_manifest(&dir.join(discover::MANIFEST))
                {
                    if entry.enabled != Some(manifest.is_enabled()) {
                        entry.enabled = lock.extensions.get(&name).and_then(|entry| entry.enabled);
                    }
                    entry.digest = digest;
                    lock.extensions.insert(name, entry);
                }
            }
        }
    }
}
