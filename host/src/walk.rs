//! Walks the files of a project, except those that git ignores. The tools `find` and `grep` and the
//! file completion of the terminal use it.
//!
//! The project may come from an untrusted author, and may change during the walk. The caller opens
//! each directory, so it decides where a walk can go; symlinks are visited but not followed.

mod ignored;

use std::{
    ffi::{OsStr, OsString},
    io,
    ops::ControlFlow,
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStringExt,
    },
    path::Path,
};

use rustix::fs::{AtFlags, Dir, FileType, statat};

pub use ignored::Ignored;

/// The maximum depth of directories.
const MAX_DEPTH: usize = 64;
/// The maximum number of entries read per directory.
const MAX_ENTRIES: usize = 50_000;
/// Version control directories, which are never visited.
const VCS_DIRS: [&str; 4] = [".git", ".hg", ".jj", ".svn"];

/// What a directory entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symlink, which is not followed, or a special file.
    Other,
}

/// Visits everything below `root`, a directory before its contents, sorted by name. Paths are
/// relative to `root`. Skips ignored files and version control directories, and stops when `visit`
/// breaks. `open` opens a directory for reading; one that it cannot open is skipped. Fails only if
/// `root` itself cannot be opened. Returns false if a directory was too large or too deep to visit
/// completely.
pub fn walk(
    root: &Path,
    ignored: &Ignored,
    mut open: impl FnMut(&Path) -> io::Result<OwnedFd>,
    mut visit: impl FnMut(&Path, EntryKind) -> ControlFlow<()>,
) -> io::Result<bool> {
    let folder = open(Path::new(""))?;
    let mut walk = Walk {
        root,
        open: &mut open,
        visit: &mut visit,
        is_whole: true,
    };
    let _ = walk.folder(folder, Path::new(""), ignored, MAX_DEPTH);
    Ok(walk.is_whole)
}

struct Walk<'w> {
    root: &'w Path,
    open: &'w mut dyn FnMut(&Path) -> io::Result<OwnedFd>,
    visit: &'w mut dyn FnMut(&Path, EntryKind) -> ControlFlow<()>,
    /// Whether nothing was skipped because of a limit.
    is_whole: bool,
}

impl Walk<'_> {
    fn folder(
        &mut self,
        folder: OwnedFd,
        path: &Path,
        ignored: &Ignored,
        depth: usize,
    ) -> ControlFlow<()> {
        let entries = entries(folder);
        self.is_whole &= entries.len() < MAX_ENTRIES;
        for (name, kind) in entries {
            let is_dir = kind == EntryKind::Directory;
            let path = path.join(&name);
            let full = self.root.join(&path);
            if VCS_DIRS.iter().any(|it| name == *it) || ignored.ignores(&full, is_dir) {
                continue;
            }
            (self.visit)(&path, kind)?;
            self.is_whole &= !is_dir || depth > 1;
            if is_dir
                && depth > 1
                && let Ok(folder) = (self.open)(&path)
            {
                self.folder(folder, &path, &ignored.within(&full), depth - 1)?;
            }
        }
        ControlFlow::Continue(())
    }
}

/// Lists a directory, sorted by name. Stops at the first entry that cannot be read.
fn entries(folder: OwnedFd) -> Vec<(OsString, EntryKind)> {
    let Ok(mut dir) = Dir::new(folder) else {
        return Vec::new();
    };
    let mut entries = Vec::new();
    while entries.len() < MAX_ENTRIES
        && let Some(Ok(entry)) = dir.read()
    {
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            entries.push((OsString::from_vec(name.to_vec()), entry.file_type()));
        }
    }
    let mut entries: Vec<_> = entries
        .into_iter()
        .map(|(name, kind)| {
            let kind = kind_of(&dir, &name, kind);
            (name, kind)
        })
        .collect();
    entries.sort_unstable();
    entries
}

fn kind_of(dir: &Dir, name: &OsStr, listed: FileType) -> EntryKind {
    let kind = match listed {
        // Some file systems do not report types.
        FileType::Unknown => dir
            .fd()
            .and_then(|dir| statat(dir.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW))
            .map_or(FileType::Unknown, |stat| {
                FileType::from_raw_mode(stat.st_mode)
            }),
        listed => listed,
    };
    match kind {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Directory,
        _ => EntryKind::Other,
    }
}
