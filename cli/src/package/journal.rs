//! What a run is about to do, written before it does it: so that the next one can tell what a killed one has done.
//!
//! A tree and the lock file that tells of it cannot change in one step. The tree does, by a rename; whether that
//! happened is seen by the inode at its place, and then the rest follows from what is written here.

use std::{fs, os::unix::fs::MetadataExt, path::PathBuf};

use serde::{Deserialize, Serialize};
use zot_host::extension::discover;

use super::{
    inspect,
    lock_file::{Entry, LockFile, write_whole},
    store::Store,
};

/// More than a step says.
const MOST_BYTES: usize = 1024 * 1024;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub(crate) enum Journal {
    /// A tree takes the place of `name`.
    Swap {
        name: String,
        /// The tree's inode.
        inode: u64,
        entry: Entry,
    },
    /// The manifest of `name`, whose tree was as the lock file says, is rewritten.
    Edit { name: String, entry: Entry },
}

impl Journal {
    fn path(store: &Store) -> PathBuf {
        store.staging().join("journal.json")
    }

    /// What a run has left behind, or is at just now.
    pub(crate) fn read(store: &Store) -> Option<Self> {
        let bytes = store.read(&Self::path(store), MOST_BYTES).ok()?;
        let journal: Self = serde_json::from_slice(&bytes).ok()?;
        // In a project this may have come with the repository: it names a directory here, or nothing.
        let (Self::Swap { name, .. } | Self::Edit { name, .. }) = &journal;
        inspect::is_directory_name(name).then_some(journal)
    }

    pub(crate) fn write(&self, store: &Store) -> anyhow::Result<()> {
        write_whole(&Self::path(store), &serde_json::to_vec(self)?)
    }

    /// The step is done and told of, or undone.
    pub(crate) fn remove(store: &Store) {
        let _ = fs::remove_file(Self::path(store));
    }

    /// Makes the lock file tell of the step, if that was done.
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
                // Before or after: nobody but us was there in between.
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
