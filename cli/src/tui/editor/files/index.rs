//! The paths of a project, collected by a thread of its own.

use std::{
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use ignore::{DirEntry, WalkBuilder};

use crate::clean;

/// So many paths are enough to choose from.
const MOST: usize = 50_000;
/// A slow disk is given up after this.
const LONGEST: Duration = Duration::from_secs(10);
/// The paths are shared in portions, so that the lock is seldom taken.
const PORTION: usize = 256;

/// What was found so far.
pub(super) struct Index {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    paths: Mutex<Vec<Box<str>>>,
    is_done: AtomicBool,
    is_dropped: AtomicBool,
}

impl Index {
    /// Begins to look below a directory.
    pub(super) fn of(root: &Path) -> Self {
        let shared = Arc::new(Shared::default());
        let looking = Arc::clone(&shared);
        let root = root.to_owned();
        let started = thread::Builder::new()
            .name("files".to_owned())
            .spawn(move || {
                looking.look(&root);
                looking.is_done.store(true, Ordering::Release);
            });
        // Without a thread there are no files to offer, and nothing else is lost.
        if started.is_err() {
            shared.is_done.store(true, Ordering::Release);
        }
        Self { shared }
    }

    pub(super) fn is_looking(&self) -> bool {
        !self.shared.is_done.load(Ordering::Acquire)
    }

    pub(super) fn paths(&self) -> MutexGuard<'_, Vec<Box<str>>> {
        self.shared.paths()
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        self.shared.is_dropped.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    fn paths(&self) -> MutexGuard<'_, Vec<Box<str>>> {
        self.paths.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All but what the project ignores and what version control keeps for itself. Links are shown, not followed.
    fn look(&self, root: &Path) {
        let end = Instant::now() + LONGEST;
        let walk = WalkBuilder::new(root)
            .hidden(false)
            .require_git(false)
            .sort_by_file_name(std::cmp::Ord::cmp)
            .filter_entry(|entry| {
                ![".git", ".hg", ".jj", ".svn"]
                    .iter()
                    .any(|it| entry.file_name() == *it)
            })
            .build();
        let mut portion = Vec::with_capacity(PORTION);
        let mut found = 0;
        for entry in walk.flatten() {
            if let Some(path) = relative(root, &entry) {
                portion.push(path);
                found += 1;
            }
            let is_over =
                found == MOST || self.is_dropped.load(Ordering::Relaxed) || Instant::now() > end;
            if portion.len() == PORTION || is_over {
                self.paths().append(&mut portion);
            }
            if is_over {
                return;
            }
        }
        self.paths().append(&mut portion);
    }
}

/// The path as it is written, `None` if it cannot be: not a text, or with characters that one cannot see.
fn relative(root: &Path, entry: &DirEntry) -> Option<Box<str>> {
    let path = entry.path().strip_prefix(root).ok()?.to_str()?;
    let is_fit =
        !path.is_empty() && !path.contains(|it: char| it.is_control() || clean::is_unseen(it));
    let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
    is_fit.then(|| {
        if is_dir {
            format!("{path}/").into()
        } else {
            path.into()
        }
    })
}
