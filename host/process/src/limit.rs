//! A mark that survives an empty environment: one of a process's resource limits.
//!
//! Children inherit limits across fork and exec, even if a process gives up its environment,
//! session, parent and descriptors. `RLIMIT_RTTIME` limits how long a real-time process may run
//! without blocking, and is unlimited nearly everywhere. The processes of a tree get about 2^62
//! microseconds instead, 146,000 years, and the exact number identifies the tree. An unprivileged
//! process can lower a hard limit but never raise it, and a confined process cannot even lower this
//! one (see `confine/seccomp.rs`). A process that lowers it on purpose loses the mark.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::marker::TreeId;

/// A hard limit below this was set on purpose, and is left alone.
const LEAST: u64 = 1 << 61;
const MOST: u64 = 1 << 62;
/// The number of trees that one program can mark.
const TREES: u64 = 1 << 24;
/// Each program uses a random multiple of `TREES` up to this, so that a program inside another's
/// tree can mark its own trees.
const PROGRAMS: u64 = 1 << 30;

/// Set if a child could not be marked, because this program is not allowed to change limits.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// Reports whether every tree of this program has this mark, so that a process without it must have
/// removed it on purpose.
pub(crate) fn is_reliable() -> bool {
    base().is_some() && !REFUSED.load(Ordering::Relaxed)
}

/// Returns the limit that marks a tree; `None` if it cannot be marked.
pub(crate) fn of(tree: TreeId) -> Option<Rlimit> {
    let number = Some(tree.number()).filter(|number| *number < TREES)?;
    let maximum = base()? - number;
    let soft = getrlimit(Resource::Rttime).current;
    Some(Rlimit {
        current: Some(soft.map_or(maximum, |soft| soft.min(maximum))),
        maximum: Some(maximum),
    })
}

/// Marks the calling process. Runs between fork and exec, and makes one system call. On error, the
/// process has only the mark in its environment.
pub(crate) fn set(limit: Rlimit) {
    if setrlimit(Resource::Rttime, limit).is_err() {
        REFUSED.store(true, Ordering::Relaxed);
    }
}

/// Returns the tree that the contents of `/proc/PID/limits` identify.
pub(crate) fn find(limits: &str) -> Option<TreeId> {
    let line = limits
        .lines()
        .find_map(|it| it.strip_prefix("Max realtime timeout"))?;
    let hard: u64 = line.split_ascii_whitespace().nth(1)?.parse().ok()?;
    let number = base()?.checked_sub(hard)?;
    (0..TREES)
        .contains(&number)
        .then(|| TreeId::numbered(number))
}

/// Returns the number from which the numbers of this program's trees are subtracted.
fn base() -> Option<u64> {
    static BASE: OnceLock<Option<u64>> = OnceLock::new();
    *BASE.get_or_init(|| {
        let hard = getrlimit(Resource::Rttime).maximum.unwrap_or(MOST);
        // Not 0: no process may have the mark of number 0 by inheriting this program's limit.
        let program = 1 + RandomState::new().hash_one(std::process::id()) % PROGRAMS;
        let base = hard.min(MOST).checked_sub(program * TREES)?;
        (base - TREES > LEAST).then_some(base)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_found_by_its_limit() {
        let tree = TreeId::next();
        let hard = of(tree).expect("the limit is unlimited").maximum.unwrap();
        let limits = |hard: u64| {
            format!(
                "Limit                     Soft Limit           Hard Limit           Units     \n\
                 Max realtime priority     0                    0                    \n\
                 Max realtime timeout      {hard:<20} {hard:<20} us        \n"
            )
        };
        assert_eq!(find(&limits(hard)), Some(tree));
        assert_ne!(find(&limits(hard - 1)), Some(tree));
        assert_eq!(find(&limits(200_000)), None);
        assert_eq!(
            find("Max realtime timeout      unlimited            unlimited            us"),
            None
        );
        assert_eq!(find(""), None);
    }
}
