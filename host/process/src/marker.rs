//! A mark on every process of a tree: an environment variable.
//!
//! A child inherits its parent's environment, so the mark also identifies a process that left its
//! group and lost its parent. A process can clear its environment, so the mark only supplements the
//! search by parents and by group.

use std::ffi::OsString;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The variable's name. Its value is a list, outermost host first: a tree may contain another
/// program that uses this crate, and its processes belong to both.
pub(crate) const VARIABLE: &str = "ZOT_PROCESS_TREE";

/// A tree of this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TreeId(u64);

impl TreeId {
    /// Identifies what programs in the foreground leave running, which belongs to the user and is
    /// never stopped. It has the highest [limit](crate::limit) of all. Only a privileged process can
    /// raise its limit, so no other process of a tree can obtain this mark.
    pub(crate) const FOREGROUND: Self = Self(0);

    pub(crate) fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns the tree with this [number](Self::number).
    #[cfg(target_os = "linux")]
    pub(crate) fn numbered(number: u64) -> Self {
        Self(number)
    }

    /// Returns the tree's number. This program numbers its trees from 1, after
    /// [`FOREGROUND`](Self::FOREGROUND).
    #[cfg(target_os = "linux")]
    pub(crate) fn number(self) -> u64 {
        self.0
    }

    /// Returns the value of the variable for the processes of this tree.
    pub(crate) fn value(self) -> OsString {
        let own = self.label();
        match std::env::var(VARIABLE) {
            Ok(outer) if !outer.is_empty() => format!("{outer},{own}").into(),
            _ => own.into(),
        }
    }

    fn label(self) -> String {
        format!("{}-{}", host(), self.0)
    }
}

/// The value of the variable in a process's environment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Marker(String);

impl Marker {
    /// Finds the marker in the contents of `/proc/PID/environ`.
    pub(crate) fn find(environ: &[u8]) -> Option<Self> {
        let value = environ
            .split(|&b| b == 0)
            .find_map(|entry| entry.strip_prefix(VARIABLE.as_bytes())?.strip_prefix(b"="))?;
        Some(Self(String::from_utf8_lossy(value).into_owned()))
    }

    pub(crate) fn names(&self, tree: TreeId) -> bool {
        let label = tree.label();
        self.0.split(',').any(|part| part == label)
    }

    /// Returns the tree that the marker identifies, if it is one of this program's.
    pub(crate) fn tree(&self) -> Option<TreeId> {
        self.0.split(',').find_map(|part| {
            let number = part.strip_prefix(host())?.strip_prefix('-')?;
            number.parse().ok().map(TreeId)
        })
    }
}

/// Returns a name that distinguishes this program from an earlier one with the same process id.
fn host() -> &'static str {
    static HOST: OnceLock<String> = OnceLock::new();
    HOST.get_or_init(|| {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        format!("{}.{:x}", std::process::id(), now.as_nanos())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environ(value: &str) -> Vec<u8> {
        format!("A=1\0{VARIABLE}={value}\0XZOT_PROCESS_TREE=no\0").into_bytes()
    }

    #[test]
    fn a_mark_is_found_in_a_list_of_hosts() {
        let (tree, other) = (TreeId::next(), TreeId::next());
        let marker = Marker::find(&environ(&format!("9.f-1,{},8.a-2", tree.label()))).unwrap();
        assert!(marker.names(tree));
        assert!(!marker.names(other));
        assert_eq!(marker.tree(), Some(tree));
    }

    #[test]
    fn another_hosts_mark_is_not_ours() {
        let marker = Marker::find(&environ("9.f-1")).unwrap();
        assert_eq!(marker.tree(), None);
        assert_eq!(Marker::find(b"A=1\0B=2\0"), None);
    }
}
