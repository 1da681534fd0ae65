//! The scratch folder of one session: long outputs that its transcript refers to, and temporary files of jailed commands.
//!
//! No other session can read it from its jail. What is kept is bounded, and a folder that nobody has used for a week is
//! removed when zot next starts.

use std::{
    collections::{HashSet, hash_map::RandomState},
    fs::{self, File},
    hash::{BuildHasher, Hasher},
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use rustix::fs::OFlags;

use super::make_private;
use crate::untrusted;

/// The most that is kept of all outputs of a session, in bytes. The oldest go first.
const OUTPUTS: u64 = 64 << 20;
/// How long a folder is kept after its session was last used.
const KEPT_FOR: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// More entries than anybody's folder has; what is beyond is left for another time.
const ENTRIES: usize = 100_000;
/// As many folders are removed at one start.
const REMOVED: usize = 1_000;

#[derive(Debug)]
pub(crate) struct Scratch {
    folder: PathBuf,
    outputs: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The folder, locked for as long as it is in use.
    held: Option<File>,
    /// How many bytes of outputs there are; `None`: not counted yet.
    used: Option<u64>,
    /// Outputs that are being written.
    open: HashSet<PathBuf>,
}

impl Scratch {
    /// The scratch folder at `folder`, which is made when it is needed.
    pub(super) fn new(folder: PathBuf) -> Self {
        Self::bounded(folder, OUTPUTS)
    }

    pub(super) fn bounded(folder: PathBuf, outputs: u64) -> Self {
        let scratch = Self {
            folder,
            outputs,
            state: Mutex::default(),
        };
        // One that an earlier run of the session has left is in use from now on.
        scratch.hold(&mut scratch.state());
        scratch
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes the folder, for its owner alone.
    pub(super) fn make(&self) -> io::Result<()> {
        make_private(&self.folder)?;
        self.hold(&mut self.state());
        Ok(())
    }

    /// Keeps the folder from being removed. Where that cannot be had, it is only kept for a week.
    fn hold(&self, state: &mut State) {
        if state.held.is_none() {
            state.held = open_folder(&self.folder)
                .ok()
                .filter(|folder| folder.try_lock_shared().is_ok());
        }
        if let Some(folder) = &state.held {
            let _ = folder.set_modified(SystemTime::now());
        }
    }

    /// A folder for the temporary files of one command.
    pub(super) fn temporary(&self) -> io::Result<Temporary> {
        self.make()?;
        let path = self.folder.join("tmp").join(random_name());
        make_private(&path)?;
        Ok(Temporary(Some(path)))
    }

    /// A file for an output.
    pub(super) fn output(&self) -> io::Result<(File, PathBuf)> {
        self.make()?;
        let folder = self.outputs_folder();
        make_private(&folder)?;
        let path = folder.join(format!("bash-{}.txt", random_name()));
        let file = File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        let mut state = self.state();
        if state.used.is_none() {
            let kept = outputs_in(&folder)?;
            state.used = Some(kept.iter().map(|output| output.size).sum());
        }
        state.open.insert(path.clone());
        Ok((file, path))
    }

    /// Makes room for `wanted` more bytes by removing the oldest outputs: how many there is room for, and how many outputs
    /// were removed.
    pub(super) fn room_for(&self, wanted: u64) -> (u64, usize) {
        let mut state = self.state();
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

    fn make_room(&self, state: &mut State, wanted: u64) -> usize {
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

    /// An output is complete.
    pub(super) fn close(&self, path: &Path) {
        self.state().open.remove(path);
    }

    /// An output of so many bytes that nobody refers to is not kept.
    pub(super) fn discard(&self, path: &Path, size: u64) {
        let _ = fs::remove_file(path);
        let mut state = self.state();
        state.open.remove(path);
        state.used = state.used.map(|used| used.saturating_sub(size));
    }

    fn outputs_folder(&self) -> PathBuf {
        self.folder.join("output")
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A folder for temporary files. It goes, with all that is in it, when this does.
#[derive(Debug)]
pub(super) struct Temporary(Option<PathBuf>);

impl Temporary {
    pub(super) fn path(&self) -> &Path {
        self.0.as_deref().unwrap_or(Path::new(""))
    }

    /// Removes it and waits for that.
    pub(super) async fn remove(mut self) {
        if let Some(path) = self.0.take() {
            let _ = tokio::task::spawn_blocking(move || fs::remove_dir_all(path)).await;
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = self.0.take() {
            // It may take a while, and who drops this must not wait.
            let remove = move || drop(fs::remove_dir_all(path));
            let _ = std::thread::Builder::new().spawn(remove);
        }
    }
}

struct Kept {
    path: PathBuf,
    size: u64,
    modified: SystemTime,
}

fn outputs_in(folder: &Path) -> io::Result<Vec<Kept>> {
    let mut outputs = Vec::new();
    for (name, _) in untrusted::list(None, folder, ENTRIES)? {
        let path = folder.join(name);
        if let Ok(metadata) = path.symlink_metadata()
            && metadata.is_file()
        {
            outputs.push(Kept {
                path,
                size: metadata.len(),
                modified: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
            });
        }
    }
    Ok(outputs)
}

/// Removes the folders in `scratch` that nobody has used for a week.
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
        // A session that is in use holds a lock. Whatever is not a folder is nobody's.
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

/// Opens a folder itself, not what a link leads to.
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
        let (mut file, path) = scratch.output().expect("a file");
        let (room, removed) = scratch.room_for(size);
        let bytes = vec![b'x'; usize::try_from(room).expect("small")];
        file.write_all(&bytes).expect("written");
        scratch.close(&path);
        (path, removed)
    }

    #[test]
    fn the_oldest_outputs_make_room_for_new_ones() {
        let folder = tempfile::tempdir().expect("a folder");
        let scratch = Scratch::bounded(folder.path().join("s"), 100);
        let (first, _) = put(&scratch, 40);
        let old = SystemTime::now() - Duration::from_secs(60);
        let file = File::options().write(true).open(&first).expect("opened");
        file.set_modified(old).expect("set");
        let (second, removed) = put(&scratch, 60);
        assert_eq!(removed, 0);
        let (third, removed) = put(&scratch, 30);
        assert_eq!(removed, 1);
        assert!(!first.exists() && second.exists() && third.exists());
        // Also by those of another run.
        let again = Scratch::bounded(folder.path().join("s"), 100);
        let (fourth, removed) = put(&again, 200);
        assert_eq!(removed, 2);
        assert_eq!(fs::metadata(fourth).expect("there").len(), 100);
    }

    #[test]
    fn what_nobody_has_used_for_a_week_is_removed_and_what_is_in_use_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let (scratch, outside) = (folder.path().join("scratch"), folder.path().join("outside"));
        fs::create_dir_all(outside.join("kept")).expect("made");
        let old = SystemTime::now() - Duration::from_secs(8 * 24 * 60 * 60);
        let age = |name: &str| {
            let opened = open_folder(&scratch.join(name)).expect("opened");
            opened.set_modified(old).expect("set");
        };
        for name in ["old", "new", "used"] {
            fs::create_dir_all(scratch.join(name).join("output")).expect("made");
        }
        std::os::unix::fs::symlink(&outside, scratch.join("old/link")).expect("linked");
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
