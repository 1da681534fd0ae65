//! The index of a project's paths, collected on a separate thread.

use std::{
    ops::ControlFlow,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use parking_lot::{Mutex, MutexGuard};
use zot_host::{
    untrusted,
    walk::{EntryKind, Ignored, walk},
};

const MAX_PATHS: usize = 50_000;
/// Maximum time for indexing, in case the disk is slow.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Number of paths to collect before adding them to the index, to take the lock less often.
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
        let indexing = Arc::clone(&shared);
        let root = root.to_owned();
        let started = thread::Builder::new()
            .name("files".to_owned())
            .spawn(move || {
                indexing.collect(&root);
                indexing.is_done.store(true, Ordering::Release);
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
    /// Collects the paths of all files and directories that are not ignored.
    fn collect(&self, root: &Path) {
        let deadline = Instant::now() + TIMEOUT;
        let mut batch = Vec::with_capacity(BATCH);
        let mut found = 0;
        let open = |path: &Path| untrusted::open_folder(root, path);
        // A directory that cannot be read has no files to complete.
        let _ = walk(root, &Ignored::of(root), open, |path, kind| {
            if let Some(path) = shown(path, kind) {
                batch.push(path);
                found += 1;
            }
            if batch.len() == BATCH {
                self.paths.lock().append(&mut batch);
            }
            let is_over = found == MAX_PATHS
                || self.is_dropped.load(Ordering::Relaxed)
                || Instant::now() > deadline;
            if is_over {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        self.paths.lock().append(&mut batch);
    }
}

/// Returns the path as text, or `None` if it is not UTF-8 or contains characters that are unsafe in
/// a terminal.
fn shown(path: &Path, kind: EntryKind) -> Option<Box<str>> {
    let path = path.to_str()?;
    let is_fit = !path.contains(zot_protocol::is_unsafe_in_terminal);
    is_fit.then(|| match kind {
        EntryKind::Directory => format!("{path}/").into(),
        _ => path.into(),
    })
}
