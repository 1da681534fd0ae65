//! The paths of a project, collected by a thread of its own.

use std::{
    ffi::OsString,
    fs,
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use super::ignored::Ignored;
use crate::clean;

/// So many paths are enough to choose from.
const MOST: usize = 50_000;
/// The most directories within each other that are looked into.
const LEVELS: usize = 64;
/// So many entries of one directory are enough.
const ENTRIES: usize = 50_000;
/// What version control keeps for itself.
const CONTROL: [&str; 4] = [".git", ".hg", ".jj", ".svn"];
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
        let mut search = Search {
            shared: self,
            root,
            end: Instant::now() + LONGEST,
            portion: Vec::with_capacity(PORTION),
            found: 0,
        };
        search.folder(root, &Ignored::of(root), LEVELS);
        self.paths().append(&mut search.portion);
    }
}

struct Search<'s> {
    shared: &'s Shared,
    root: &'s Path,
    end: Instant,
    portion: Vec<Box<str>>,
    found: usize,
}

impl Search<'_> {
    /// Adds what is in a folder: each entry, then what is in it, by name.
    fn folder(&mut self, folder: &Path, ignored: &Ignored, levels: usize) {
        let Ok(entries) = fs::read_dir(folder) else {
            return;
        };
        let mut entries: Vec<(OsString, bool)> = entries
            .take(ENTRIES)
            .flatten()
            .filter_map(|entry| Some((entry.file_name(), entry.file_type().ok()?.is_dir())))
            .collect();
        entries.sort_unstable();
        for (name, is_dir) in entries {
            if self.is_over() {
                return;
            }
            let path = folder.join(&name);
            if CONTROL.iter().any(|it| name == *it) || ignored.ignores(&path, is_dir) {
                continue;
            }
            self.add(&path, is_dir);
            if is_dir && levels > 1 {
                self.folder(&path, &ignored.within(&path), levels - 1);
            }
        }
    }

    fn add(&mut self, path: &Path, is_dir: bool) {
        if let Some(path) = relative(self.root, path, is_dir) {
            self.portion.push(path);
            self.found += 1;
        }
        if self.portion.len() == PORTION {
            self.shared.paths().append(&mut self.portion);
        }
    }

    fn is_over(&self) -> bool {
        self.found == MOST
            || self.shared.is_dropped.load(Ordering::Relaxed)
            || Instant::now() > self.end
    }
}

/// The path as it is written, `None` if it cannot be: not a text, or with characters that one cannot see.
fn relative(root: &Path, path: &Path, is_dir: bool) -> Option<Box<str>> {
    let path = path.strip_prefix(root).ok()?.to_str()?;
    let is_fit =
        !path.is_empty() && !path.contains(|it: char| it.is_control() || clean::is_invisible(it));
    is_fit.then(|| {
        if is_dir {
            format!("{path}/").into()
        } else {
            path.into()
        }
    })
}
