//! The scratch folder of a session: long outputs that its transcript refers to, and the temporary
//! files of jailed commands.
//!
//! Other sessions cannot read it from their jails. Its size is limited, and folders that have not
//! been used for a week are removed when zot starts.

use std::{
    collections::{HashSet, hash_map::RandomState},
    fs::{self, File},
    hash::{BuildHasher, Hasher},
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use parking_lot::Mutex;
use rustix::fs::OFlags;

use crate::{home::create_private, untrusted};

/// The maximum size of all outputs of a session in bytes. The oldest are removed first.
const OUTPUTS: u64 = 64 << 20;
/// How long to keep a folder after the session was last used.
const KEPT_FOR: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// The maximum number of entries to look at. The rest is left for the next start.
const ENTRIES: usize = 100_000;
/// The maximum number of folders to remove per start.
const REMOVED: usize = 1_000;

#[derive(Debug)]
pub(crate) struct Scratch {
    folder: PathBuf,
    outputs: u64,
    state: Mutex<ScratchState>,
}

#[derive(Debug, Default)]
struct ScratchState {
    /// The folder, locked while it is in use.
    held: Option<File>,
    /// The size of all outputs in bytes; `None` until counted.
    used: Option<u64>,
    /// Outputs that are being written.
    open: HashSet<PathBuf>,
}

impl Scratch {
    /// Returns the scratch folder at `folder`, which is created on first use.
    pub(super) fn new(folder: PathBuf) -> Self {
        Self::bounded(folder, OUTPUTS)
    }

    pub(super) fn bounded(folder: PathBuf, outputs: u64) -> Self {
        let scratch = Self {
            folder,
            outputs,
            state: Mutex::default(),
        };
        // Lock a folder from an earlier run of this session.
        scratch.hold(&mut scratch.state.lock());
        scratch
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Creates the folder with mode 0700.
    pub(super) fn make(&self) -> io::Result<()> {
        create_private(&self.folder)?;
        self.hold(&mut self.state.lock());
        Ok(())
    }

    /// Locks the folder, so that it is not removed. If that fails, it is still kept for a week.
    fn hold(&self, state: &mut ScratchState) {
        if state.held.is_none() {
            state.held = open_folder(&self.folder)
                .ok()
                .filter(|folder| folder.try_lock_shared().is_ok());
        }
        if let Some(folder) = &state.held {
            let _ = folder.set_modified(SystemTime::now());
        }
    }

    /// Creates a folder for the temporary files of one command.
    pub(super) fn temporary(&self) -> io::Result<TemporaryFolder> {
        self.make()?;
        let path = self.folder.join("tmp").join(random_name());
        create_private(&path)?;
        Ok(TemporaryFolder(Some(path)))
    }

    /// Creates a file for an output.
    pub(super) fn output(&self) -> io::Result<(File, PathBuf)> {
        self.make()?;
        let folder = self.outputs_folder();
        create_private(&folder)?;
        let path = folder.join(format!("bash-{}.txt", random_name()));
        let file = File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        let mut state = self.state.lock();
        if state.used.is_none() {
            let kept = outputs_in(&folder)?;
            state.used = Some(kept.iter().map(|output| output.size).sum());
        }
        state.open.insert(path.clone());
        Ok((file, path))
    }

    /// Removes the oldest outputs to make room for `wanted` bytes. Returns how many bytes fit, and
    /// how many outputs were removed.
    pub(super) fn room_for(&self, wanted: u64) -> (u64, usize) {
        let mut state = self.state.lock();
        let used = state.used.unwrap_or_default();
        let mut removed = 0;
        if used.saturating_add(wanted) > self.outputs {
            removed = self.make_room(&mut state, wanted);
        }
        let used = state.used.unwrap_or_default();
        let room = wanted.min(self.outputs.saturating_sub(used));
        state.used = Some(used + room);
        (room, removed)
    }

    fn make_room(&self, state: &mut ScratchState, wanted: u64) -> usize {
        let mut used = state.used.unwrap_or_default();
        let mut kept = outputs_in(&self.outputs_folder()).unwrap_or_default();
        kept.retain(|output| !state.open.contains(&output.path));
        kept.sort_by_key(|output| output.modified);
        let mut removed = 0;
        for output in kept {
            if used.saturating_add(wanted) <= self.outputs {
                break;
            }
            if fs::remove_file(&output.path).is_ok() {
                used = used.saturating_sub(output.size);
                removed += 1;
            }
        }
        state.used = Some(used);
        removed
    }

    /// Marks an output as complete.
    pub(super) fn close(&self, path: &Path) {
        self.state.lock().open.remove(path);
    }

    /// Removes an output that nothing refers to.
    pub(super) fn discard(&self, path: &Path, size: u64) {
        let _ = fs::remove_file(path);
        let mut state = self.state.lock();
        state.open.remove(path);
        state.used = state.used.map(|used| used.saturating_sub(size));
    }

    fn outputs_folder(&self) -> PathBuf {
        self.folder.join("output")
    }
}

/// A folder for temporary files, removed on drop.
#[derive(Debug)]
pub(super) struct TemporaryFolder(Option<PathBuf>);

impl TemporaryFolder {
    pub(super) fn path(&self) -> &Path {
        self.0.as_deref().unwrap_or(Path::new(""))
    }

    /// Removes the folder, and waits until it is removed.
    pub(super) async fn remove(mut self) {
        if let Some(path) = self.0.take() {
            let _ = tokio::task::spawn_blocking(move || fs::remove_dir_all(path)).await;
        }
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        if let Some(path) = self.0.take() {
            // Removing may take a while, so do not block the caller.
            let remove = move || drop(fs::remove_dir_all(path));
            let _ = std::thread::Builder::new().spawn(remove);
        }
    }
}

struct StoredOutput {
    path: PathBuf,
    size: u64,
    modified: SystemTime,
}

fn outputs_in(folder: &Path) -> io::Result<Vec<StoredOutput>> {
    let mut outputs = Vec::new();
    for (name, _) in untrusted::list(None, folder, ENTRIES)? {
        let path = folder.join(name);
        if let Ok(metadata) = path.symlink_metadata()
            && metadata.is_file()
        {
            outputs.push(StoredOutput {
                path,
                size: metadata.len(),
                modified: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
            });
        }
    }
    Ok(outputs)
}

/// Removes the folders in `scratch` that have not been used for a week.
pub(crate) fn clean(scratch: &Path) {
    let Ok(entries) = untrusted::list(None, scratch, ENTRIES) else {
        return;
    };
    let mut removed = 0;
    for (name, _) in entries {
        if removed == REMOVED {
            return;
        }
        let path = scratch.join(name);
        if !is_old(&path) {
            continue;
        }
        // A session in use holds a lock on its folder. Anything that is not a folder does not
        // belong here and is removed.
        let gone = match open_folder(&path) {
            Ok(folder) => folder.try_lock().is_ok() && fs::remove_dir_all(&path).is_ok(),
            Err(_) => fs::remove_file(&path).is_ok(),
        };
        removed += usize::from(gone);
    }
}

fn is_old(path: &Path) -> bool {
    path.symlink_metadata()
        .and_then(|metadata| metadata.modified())
        .is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age > KEPT_FOR))
}

/// Opens a folder without following a symlink.
fn open_folder(path: &Path) -> io::Result<File> {
    File::options()
        .read(true)
        .custom_flags((OFlags::DIRECTORY | OFlags::NOFOLLOW).bits().cast_signed())
        .open(path)
}

fn random_name() -> String {
    format!("{:016x}", RandomState::new().build_hasher().finish())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn put(scratch: &Scratch, size: u64) -> (PathBuf, usize) {
        let (mut file, path) = scratch.output().unwrap();
        let (room, removed) = scratch.room_for(size);
        let bytes = vec![b'x'; usize::try_from(room).unwrap()];
        file.write_all(&bytes).unwrap();
        scratch.close(&path);
        (path, removed)
    }

    #[test]
    fn the_oldest_outputs_make_room_for_new_ones() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::bounded(folder.path().join("s"), 100);
        let (first, _) = put(&scratch, 40);
        let old = SystemTime::now() - Duration::from_secs(60);
        let file = File::options().write(true).open(&first).unwrap();
        file.set_modified(old).unwrap();
        let (second, removed) = put(&scratch, 60);
        assert_eq!(removed, 0);
        let (third, removed) = put(&scratch, 30);
        assert_eq!(removed, 1);
        assert!(!first.exists() && second.exists() && third.exists());
        // The outputs of an earlier run also count.
        let again = Scratch::bounded(folder.path().join("s"), 100);
        let (fourth, removed) = put(&again, 200);
        assert_eq!(removed, 2);
        assert_eq!(fs::metadata(fourth).unwrap().len(), 100);
    }

    #[test]
    fn removes_folders_unused_for_a_week_except_locked_ones() {
        let folder = tempfile::tempdir().unwrap();
        let (scratch, outside) = (folder.path().join("scratch"), folder.path().join("outside"));
        fs::create_dir_all(outside.join("kept")).unwrap();
        let old = SystemTime::now() - Duration::from_secs(8 * 24 * 60 * 60);
        let age = |name: &str| {
            let opened = open_folder(&scratch.join(name)).unwrap();
            opened.set_modified(old).unwrap();
        };
        for name in ["old", "new", "used"] {
            fs::create_dir_all(scratch.join(name).join("output")).unwrap();
        }
        std::os::unix::fs::symlink(&outside, scratch.join("old/link")).unwrap();
        let used = Scratch::new(scratch.join("used"));
        age("old");
        age("used");
        clean(&scratch);
        assert!(!scratch.join("old").exists());
        assert!(scratch.join("new").exists() && scratch.join("used").exists());
        assert!(outside.join("kept").exists());
        drop(used);
        clean(&scratch);
        assert!(!scratch.join("used").exists());
    }
}
