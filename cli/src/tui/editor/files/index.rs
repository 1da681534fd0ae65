//! The index of a project's paths, collected on a separate thread.

use std::{
    ffi::OsString,
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use parking_lot::{Mutex, MutexGuard};

use super::ignored::Ignored;

const MAX_PATHS: usize = 50_000;
const MAX_DEPTH: usize = 64;
/// Maximum number of entries read per directory.
const MAX_ENTRIES: usize = 50_000;
/// Version control directories, which are not indexed.
const VCS_DIRS: [&str; 4] = [".git", ".hg", ".jj", ".svn"];
/// Maximum time for indexing, in case the disk is slow.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Number of paths published at a time, to take the lock less often.
const BATCH: usize = 256;

/// The paths found so far.
pub(super) struct Index {
    shared: Arc<IndexState>,
}

#[derive(Default)]
struct IndexState {
    paths: Mutex<Vec<Box<str>>>,
    is_done: AtomicBool,
    is_dropped: AtomicBool,
}

impl Index {
    /// Starts indexing a directory.
    pub(super) fn of(root: &Path) -> Self {
        let shared = Arc::new(IndexState::default());
        let walker = Arc::clone(&shared);
        let root = root.to_owned();
        let started = thread::Builder::new()
            .name("files".to_owned())
            .spawn(move || {
                walker.walk(&root);
                walker.is_done.store(true, Ordering::Release);
            });
        // If the thread cannot be started, only file completion is unavailable.
        if started.is_err() {
            shared.is_done.store(true, Ordering::Release);
        }
        Self { shared }
    }

    pub(super) fn is_searching(&self) -> bool {
        !self.shared.is_done.load(Ordering::Acquire)
    }

    pub(super) fn paths(&self) -> MutexGuard<'_, Vec<Box<str>>> {
        self.shared.paths.lock()
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        self.shared.is_dropped.store(true, Ordering::Relaxed);
    }
}

impl IndexState {
    /// Collects all paths except ignored ones and version control directories. Symbolic links are
    /// listed but not followed.
    fn walk(&self, root: &Path) {
        let mut walk = Walk {
            shared: self,
            root,
            deadline: Instant::now() + TIMEOUT,
            batch: Vec::with_capacity(BATCH),
            found: 0,
        };
        walk.folder(root, &Ignored::of(root), MAX_DEPTH);
        self.paths.lock().append(&mut walk.batch);
    }
}

struct Walk<'s> {
    shared: &'s IndexState,
    root: &'s Path,
    deadline: Instant,
    batch: Vec<Box<str>>,
    found: usize,
}

impl Walk<'_> {
    /// Adds the entries of a directory and its subdirectories, sorted by name.
    fn folder(&mut self, folder: &Path, ignored: &Ignored, depth: usize) {
        let Ok(entries) = fs::read_dir(folder) else {
            return;
        };
        let mut entries: Vec<(OsString, bool)> = entries
            .take(MAX_ENTRIES)
            .flatten()
            .filter_map(|entry| Some((entry.file_name(), entry.file_type().ok()?.is_dir())))
            .collect();
        entries.sort_unstable();
        for (name, is_dir) in entries {
            if self.is_over() {
                return;
            }
            let path = folder.join(&name);
            if VCS_DIRS.iter().any(|it| name == *it) || ignored.ignores(&path, is_dir) {
                continue;
            }
            self.add(&path, is_dir);
            if is_dir && depth > 1 {
                self.folder(&path, &ignored.within(&path), depth - 1);
            }
        }
    }

    fn add(&mut self, path: &Path, is_dir: bool) {
        if let Some(path) = relative(self.root, path, is_dir) {
            self.batch.push(path);
            self.found += 1;
        }
        if self.batch.len() == BATCH {
            self.shared.paths.lock().append(&mut self.batch);
        }
    }

    fn is_over(&self) -> bool {
        self.found == MAX_PATHS
            || self.shared.is_dropped.load(Ordering::Relaxed)
            || Instant::now() > self.deadline
    }
}

/// Returns the relative path, or `None` if it is not UTF-8 or contains invisible characters.
fn relative(root: &Path, path: &Path, is_dir: bool) -> Option<Box<str>> {
    let path = path.strip_prefix(root).ok()?.to_str()?;
    let is_fit = !path.is_empty() && !path.contains(zot_protocol::is_unsafe_in_terminal);
    is_fit.then(|| {
        if is_dir {
            format!("{path}/").into()
        } else {
            path.into()
        }
    })
}
