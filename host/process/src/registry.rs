//! The live trees of this program, across all spawners, which a sweep for orphans must not touch.

use std::collections::HashMap;
use std::sync::LazyLock;

use parking_lot::{Mutex, MutexGuard};

use crate::leader::Group;
use crate::marker::TreeId;

type Trees = HashMap<TreeId, Group>;

static TREES: LazyLock<Mutex<Trees>> = LazyLock::new(Mutex::default);

/// A live tree, removed from the registry on drop.
#[derive(Debug)]
pub(crate) struct Live(TreeId);

impl Drop for Live {
    fn drop(&mut self) {
        TREES.lock().remove(&self.0);
    }
}

/// Starts the leader of a tree and registers it.
///
/// The registry stays locked during the start, so a process found in a process table is always
/// registered by the time it is looked up.
pub(crate) fn start<T, E>(
    id: TreeId,
    start: impl FnOnce() -> Result<T, E>,
    group: impl FnOnce(&T) -> Group,
) -> Result<(Live, T), E> {
    let mut trees = TREES.lock();
    let started = start()?;
    trees.insert(id, group(&started));
    Ok((Live(id), started))
}

/// The live trees. Use it only with a process table that was read earlier.
pub(crate) struct Listed(MutexGuard<'static, Trees>);

impl Listed {
    pub(crate) fn now() -> Self {
        Self(TREES.lock())
    }

    pub(crate) fn has(&self, tree: TreeId) -> bool {
        self.0.contains_key(&tree)
    }

    pub(crate) fn groups(&self) -> impl Iterator<Item = &Group> {
        self.0.values()
    }

    /// Reports whether this child was started by this crate and will be reaped by it.
    pub(crate) fn is_leader(&self, pid: i32) -> bool {
        self.groups()
            .any(|group| group.pid() == pid && group.has_leader())
    }
}
