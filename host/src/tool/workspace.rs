//! The only way for tools to access the user's files. Every tool that reads or writes files uses
//! this module, so that no tool can bypass the jail.
//!
//! In the jail a path is resolved when it is used, beneath a folder that was opened when the jail
//! was turned on (see [`beneath`]). This avoids a race between check and use (TOCTOU).

mod error;
mod replace;

use std::{
    ffi::{OsStr, OsString},
    fs::{File, Metadata},
    io,
    os::{
        fd::OwnedFd,
        unix::{
            ffi::OsStringExt,
            fs::{FileTypeExt, MetadataExt},
        },
    },
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::{Mutex, MutexGuard, RwLock};
use rustix::{
    fd::{AsFd, BorrowedFd},
    fs::{
        Access, AtFlags, FileType, Mode, OFlags, accessat, mkdirat, open, openat, readlinkat,
        statat,
    },
    io::Errno,
};

pub(crate) use error::FileError;
use replace::Unwritten;

use crate::untrusted::beneath::{self, LOOK, MAX_LINKS};

/// The working directory of the tools, and the jail.
#[derive(Debug)]
pub(crate) struct Workspace {
    cwd: PathBuf,
    /// Folders that can also be read in the jail.
    readable: RwLock<Vec<PathBuf>>,
    jail: RwLock<Option<Arc<Jail>>>,
    writing: Arc<Mutex<()>>,
}

/// Folders that were opened when the jail was turned on. They stay the same even if a path is
/// renamed.
#[derive(Debug)]
struct Jail {
    cwd: Root,
    readable: Vec<Root>,
}

#[derive(Debug)]
struct Root {
    /// The paths that refer to this folder.
    names: Vec<PathBuf>,
    folder: OwnedFd,
}

impl Root {
    fn open(path: &Path) -> io::Result<Self> {
        let folder = open(
            path,
            LOOK | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        let real = path.canonicalize()?;
        Ok(Self {
            names: vec![path.to_owned(), real],
            folder,
        })
    }

    /// Returns the part of `path` below this folder. Compares whole components: `work-evil` is not
    /// in `work`.
    fn below<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        self.names
            .iter()
            .find_map(|name| path.strip_prefix(name).ok())
    }

    fn place(&self, rest: &Path, writable: bool) -> Target<'_> {
        Target {
            beneath: Some(self.folder.as_fd()),
            path: rest.to_owned(),
            writable,
        }
    }
}

impl Workspace {
    pub(crate) fn new(cwd: PathBuf, readable: Vec<PathBuf>) -> Self {
        Self {
            cwd,
            readable: RwLock::new(readable),
            jail: RwLock::default(),
            writing: Arc::default(),
        }
    }

    pub(crate) fn cwd(&self) -> &Path {
        &self.cwd
    }

    pub(crate) fn readable(&self) -> Vec<PathBuf> {
        self.readable.read().clone()
    }

    /// Replaces a readable folder. Takes effect the next time the jail is turned on.
    pub(crate) fn replace_readable(&self, old: &Path, new: &Path) {
        for path in self.readable.write().iter_mut().filter(|path| *path == old) {
            new.clone_into(path);
        }
    }

    pub(crate) fn is_jailed(&self) -> bool {
        self.jail.read().is_some()
    }

    /// Turns the jail on or off. Running calls are not affected.
    pub(crate) fn set_jail(&self, jailed: bool) -> io::Result<()> {
        let jail = if jailed {
            let readable = self.readable();
            let readable = readable.iter();
            Some(Arc::new(Jail {
                cwd: Root::open(&self.cwd)?,
                // Skip a missing folder, which cannot be read anyway.
                readable: readable.filter_map(|path| Root::open(path).ok()).collect(),
            }))
        } else {
            None
        };
        *self.jail.write() = jail;
        Ok(())
    }

    /// Returns the view of the files for one call.
    pub(crate) fn files(&self) -> Files {
        Files {
            cwd: self.cwd.clone(),
            jail: self.jail.read().clone(),
            writing: Arc::clone(&self.writing),
        }
    }
}

/// The files that one call may access.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    cwd: PathBuf,
    jail: Option<Arc<Jail>>,
    writing: Arc<Mutex<()>>,
}

/// A file or folder opened for reading.
#[derive(Debug)]
pub(crate) enum OpenedPath {
    File(File, Metadata),
    Folder(OwnedFd),
}

/// Identifies a version of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// A path, and the folder it must stay in.
struct Target<'f> {
    /// The folder it must stay beneath; `None` for no limit.
    beneath: Option<BorrowedFd<'f>>,
    path: PathBuf,
    writable: bool,
}

impl Target<'_> {
    fn open(&self, path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        match self.beneath {
            Some(root) => beneath::open(root, path, flags),
            None => open(path, flags | OFlags::CLOEXEC, Mode::empty()),
        }
    }

    /// Opens the folder at `path`, and creates it and its parents if missing.
    fn folder(&self, path: &Path) -> rustix::io::Result<OwnedFd> {
        let flags = LOOK | OFlags::DIRECTORY;
        match self.open(path, flags) {
            Err(Errno::NOENT) => {}
            opened => return opened,
        }
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Errno::NOENT);
        };
        let above = self.folder(above)?;
        match mkdirat(&above, name, Mode::from_bits_truncate(0o777)) {
            Ok(()) | Err(Errno::EXIST) => self.open(path, flags),
            Err(error) => Err(error),
        }
    }
}

impl Files {
    /// Locks the files for writing. A model may call tools in parallel, and one edit must not undo
    /// another.
    pub(crate) fn turn(&self) -> MutexGuard<'_, ()> {
        self.writing.lock()
    }

    /// Returns the absolute path.
    pub(crate) fn absolute(&self, path: &str) -> PathBuf {
        self.cwd.join(path)
    }

    /// Opens a file or folder for reading. Never blocks, and has no effect on special files.
    pub(crate) fn open(&self, path: &str) -> Result<OpenedPath, FileError> {
        let place = self.place(path)?;
        let fail = |errno| self.explain(&place, path, errno);
        let looked = place.open(&place.path, LOOK).map_err(fail)?;
        let found = File::from(looked).metadata();
        let found = found.map_err(|error| FileError::io(path, error))?;
        refuse_special(path, &found)?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened = place.open(&place.path, flags).map_err(fail)?;
        refuse_proc(path, &opened)?;
        let file = File::from(opened);
        // The opened file may not be the one that was checked before, so check it again.
        let found = file
            .metadata()
            .map_err(|error| FileError::io(path, error))?;
        refuse_special(path, &found)?;
        Ok(if found.is_dir() {
            OpenedPath::Folder(file.into())
        } else {
            OpenedPath::File(file, found)
        })
    }

    /// Writes `bytes` to `path` atomically, and returns the size of the previous file, if any.
    /// Follows a symlink and replaces its target; other hard links to that file keep the old
    /// content. With `expected`, fails if the file has changed.
    pub(crate) fn replace(
        &self,
        path: &str,
        bytes: &[u8],
        expected: Option<&Stamp>,
    ) -> Result<Option<u64>, FileError> {
        let mut place = self.place(path)?;
        if !place.writable {
            return Err(FileError::ReadOnly {
                path: path.to_owned(),
            });
        }
        if path.ends_with('/') {
            return Err(FileError::NotAFolder(path.to_owned()));
        }
        for _ in 0..MAX_LINKS {
            let fail = |errno| self.explain(&place, path, errno);
            let (Some(above), Some(name)) = (place.path.parent(), place.path.file_name()) else {
                place.open(&place.path, LOOK).map_err(fail)?;
                return Err(FileError::Folder(path.to_owned()));
            };
            let folder = place.folder(above).map_err(fail)?;
            if let Some(target) = link_at(&folder, name).map_err(fail)? {
                // Do not create the target of a dangling symlink.
                place.open(&place.path, LOOK).map_err(fail)?;
                let target = above.join(target);
                place.path = target;
                continue;
            }
            let old = look(folder.as_fd(), name).map_err(fail)?;
            if let Some(old) = &old {
                refuse_special(path, old)?;
                if old.is_dir() {
                    return Err(FileError::Folder(path.to_owned()));
                }
                if accessat(&folder, name, Access::WRITE_OK, AtFlags::EACCESS) == Err(Errno::ACCESS)
                {
                    return Err(FileError::Protected(path.to_owned()));
                }
            }
            let done = replace::replace(folder.as_fd(), name, bytes, old.as_ref(), expected);
            return match done {
                Ok(()) => Ok(old.map(|old| old.len())),
                Err(Unwritten::Changed) => Err(FileError::Changed(path.to_owned())),
                Err(Unwritten::Io(error)) => Err(match Errno::from_io_error(&error) {
                    Some(errno @ (Errno::ACCESS | Errno::PERM)) => fail(errno),
                    _ => FileError::io(path, error),
                }),
            };
        }
        Err(FileError::Loop {
            path: path.to_owned(),
        })
    }

    fn place(&self, path: &str) -> Result<Target<'_>, FileError> {
        if path.is_empty() {
            return Err(FileError::Empty);
        }
        if path.contains('\0') {
            return Err(FileError::Nul);
        }
        let given = Path::new(path);
        let Some(jail) = &self.jail else {
            return Ok(Target {
                beneath: None,
                path: self.cwd.join(given),
                writable: true,
            });
        };
        if given.is_relative() {
            return Ok(jail.cwd.place(given, true));
        }
        if let Some(rest) = jail.cwd.below(given) {
            return Ok(jail.cwd.place(rest, true));
        }
        let mut readable = jail.readable.iter();
        readable
            .find_map(|root| Some(root.place(root.below(given)?, false)))
            .ok_or_else(|| FileError::Outside {
                path: path.to_owned(),
                cwd: self.cwd.clone(),
            })
    }

    /// Explains an error, including the target of a dangling symlink.
    fn explain(&self, place: &Target<'_>, path: &str, errno: Errno) -> FileError {
        if errno == Errno::NOENT
            && let (Some(above), Some(name)) = (place.path.parent(), place.path.file_name())
            && let Ok(folder) = place.open(above, LOOK | OFlags::DIRECTORY)
            && let Ok(Some(target)) = link_at(&folder, name)
        {
            return FileError::Dangling {
                path: path.to_owned(),
                target,
            };
        }
        FileError::of(path, &self.cwd, errno)
    }
}

/// Returns the metadata of `name`, without following a symlink.
fn look(folder: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<Option<Metadata>> {
    let flags = LOOK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(folder, name, flags, Mode::empty()) {
        Ok(looked) => File::from(looked)
            .metadata()
            .map(Some)
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the target of the symlink at `name`; `None` if it is not a symlink.
fn link_at(folder: &OwnedFd, name: &OsStr) -> rustix::io::Result<Option<PathBuf>> {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink => {}
        Ok(_) | Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error),
    }
    let target = readlinkat(folder, name, Vec::new())?;
    Ok(Some(OsString::from_vec(target.into_bytes()).into()))
}

fn refuse_special(path: &str, found: &Metadata) -> Result<(), FileError> {
    let kind = found.file_type();
    let what = if kind.is_file() || kind.is_dir() {
        return Ok(());
    } else if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_symlink() {
        "a symlink that has just been created"
    } else {
        "a device"
    };
    Err(FileError::Special {
        path: path.to_owned(),
        what,
    })
}

/// Refuses paths in `/proc`: `/proc/self` refers to zot itself, whose environment contains the API
/// keys.
fn refuse_proc(path: &str, opened: &OwnedFd) -> Result<(), FileError> {
    #[cfg(target_os = "linux")]
    if let Ok(system) = rustix::fs::fstatfs(opened)
        && system.f_type == rustix::fs::PROC_SUPER_MAGIC
    {
        return Err(FileError::Proc(path.to_owned()));
    }
    let _ = (path, opened);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Read};

    use super::*;

    #[test]
    fn a_file_that_changed_since_it_was_read_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::new(folder.path().to_owned(), Vec::new());
        let at = folder.path().join("x");
        for jailed in [false, true] {
            workspace.set_jail(jailed).unwrap();
            let files = workspace.files();
            let changes: [&dyn Fn(); 3] = [
                &|| fs::write(&at, "theirs").unwrap(),
                &|| {
                    fs::write(folder.path().join("y"), "theirs").unwrap();
                    fs::rename(folder.path().join("y"), &at).unwrap();
                },
                &|| fs::remove_file(&at).unwrap(),
            ];
            for (number, change) in changes.iter().enumerate() {
                fs::write(&at, "first!").unwrap();
                let Ok(OpenedPath::File(mut file, found)) = files.open("x") else {
                    panic!("a file");
                };
                let mut text = String::new();
                file.read_to_string(&mut text).unwrap();
                // Wait longer than the resolution of the file system's timestamps.
                std::thread::sleep(std::time::Duration::from_millis(20));
                change();
                let stamp = Stamp::of(&found);
                let result = files.replace("x", b"ours", Some(&stamp));
                assert!(matches!(result, Err(FileError::Changed(_))), "{number}");
                let now = fs::read_to_string(&at).unwrap_or_default();
                assert!(now == "theirs" || now.is_empty(), "{now}");
                let left = fs::read_dir(folder.path()).unwrap().count();
                assert!(left <= 1, "{left}");
            }
        }
    }
}
