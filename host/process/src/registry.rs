//! The trees of this program that have not ended, over all spawners: what a sweep for orphans must leave alone.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::leader::Group;
use crate::marker::TreeId;

type Trees = HashMap<TreeId, Group>;

fn trees() -> MutexGuard<'static, Trees> {
    static TREES: OnceLock<Mutex<Trees>> = OnceLock::new();
    TREES
        .get_or_init(Mutex::default)
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
}

/// A tree that has not ended; it is no longer listed when this is dropped.
#[derive(Debug)]
pub(crate) struct Live(TreeId);

impl Drop for Live {
    fn drop(&mut self) {
        trees().remove(&self.0);
    }
}

/// Starts the leader of a tree and lists it.
///
/// The list is locked meanwhile: whoever sees the new process in a table and then looks here finds it listed.
pub(crate) fn start<T, E>(
    id: TreeId,
    start: impl FnOnce() -> Result<T, E>,
    group: impl FnOnce(&T) -> Group,
) -> Result<(Live, T), E> {
    let mut trees = trees();
    let started = start()?;
    trees.insert(id, group(&started));
    Ok((Live(id), started))
}

/// The live trees, to be asked about processes in a table that was read before this was called.
pub(crate) struct Listed(MutexGuard<'static, Trees>);

impl Listed {
    pub(crate) fn now() -> Self {
        Self(trees())
    }

    pub(crate) fn has(&self, tree: TreeId) -> bool {
        self.0.contains_key(&tree)
    }

    pub(crate) fn groups(&self) -> impl Iterator<Item = &Group> {
        self.0.values()
    }

    /// Whether this child of ours is one that this crate started and will reap.
    pub(crate) fn is_leader(&self, pid: i32) -> bool {
        self.groups()
            .any(|group| group.pid() == pid && group.has_leader())
    }
}
