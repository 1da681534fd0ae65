//! Writing a file whole: a new one beside it, synced, then renamed over it.

use std::{
    collections::hash_map::RandomState,
    ffi::OsStr,
    fs::{File, Permissions},
    hash::{BuildHasher, Hasher},
    io::{self, Write},
    os::unix::fs::{MetadataExt, PermissionsExt},
};

use rustix::{
    fd::{AsFd, BorrowedFd},
    fs::{AtFlags, Gid, Mode, OFlags, Uid, fchown, fsync, openat, renameat, unlinkat},
    io::Errno,
};

use super::{Stamp, look};

/// How often another name is tried for the new file.
const NAMES: usize = 100;

/// Why the file was not replaced; it is as it was.
#[derive(Debug)]
pub(super) enum Unwritten {
    /// It is not what it was when it was read.
    Changed,
    Io(io::Error),
}

impl<E: Into<io::Error>> From<E> for Unwritten {
    fn from(error: E) -> Self {
        Self::Io(error.into())
    }
}

/// Puts `bytes` at `name` in `folder`, in place of what is there. A link there is replaced, never followed. Of a file that
/// was there the mode stays, without the bits that lend rights, and the owner where that is allowed.
///
/// With `expected`, only if the file is still the one that was read. It is looked at last thing before the rename; a change
/// in the microseconds between the two is not seen.
pub(super) fn replace(
    folder: BorrowedFd<'_>,
    name: &OsStr,
    bytes: &[u8],
    old: Option<&std::fs::Metadata>,
    expected: Option<&Stamp>,
) -> Result<(), Unwritten> {
    let new = Temporary::create(folder, old.is_none())?;
    let mut file = &new.file;
    file.write_all(bytes)?;
    if let Some(old) = old {
        let (uid, gid) = (Uid::from_raw(old.uid()), Gid::from_raw(old.gid()));
        // Only root may give files away.
        let _ = fchown(file, Some(uid), Some(gid));
        let mode = old.permissions().mode() & 0o777;
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    fsync(file)?;
    if let Some(expected) = expected {
        let now = look(folder, name)?;
        if now.is_none_or(|now| Stamp::of(&now) != *expected) {
            return Err(Unwritten::Changed);
        }
    }
    new.put_at(name)?;
    // The file is complete under its name either way; this makes the name last.
    let opened = openat(
        folder,
        ".",
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    );
    if let Ok(folder) = opened {
        let _ = fsync(folder);
    }
    Ok(())
}

/// A file that is removed unless it is put somewhere.
struct Temporary<'f> {
    folder: BorrowedFd<'f>,
    name: String,
    file: File,
}

impl<'f> Temporary<'f> {
    /// Private until it has the mode of what it replaces; a new file gets what the user's mask leaves.
    fn create(folder: BorrowedFd<'f>, is_new: bool) -> io::Result<Self> {
        let mode = Mode::from_bits_truncate(if is_new { 0o666 } else { 0o600 });
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        for _ in 0..NAMES {
            let name = format!(
                ".zot-{:016x}.tmp",
                RandomState::new().build_hasher().finish()
            );
            match openat(folder.as_fd(), &name, flags | OFlags::CLOEXEC, mode) {
                Ok(file) => {
                    return Ok(Self {
                        folder,
                        name,
                        file: file.into(),
                    });
                }
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Errno::EXIST.into())
    }

    fn put_at(mut self, name: &OsStr) -> io::Result<()> {
        renameat(self.folder, &self.name, self.folder, name)?;
        self.name.clear();
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.name.is_empty() {
            // There is nobody to tell, and the name says what it is.
            let _ = unlinkat(self.folder, &self.name, AtFlags::empty());
        }
    }
}
