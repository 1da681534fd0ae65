//! Replaces a file atomically: writes a new file beside it, syncs it, and renames it.

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

/// How many names to try for the new file.
const MAX_ATTEMPTS: usize = 100;

/// Why the file was not replaced. It is unchanged.
#[derive(Debug)]
pub(super) enum Unwritten {
    /// The file has changed since it was read.
    Changed,
    Io(io::Error),
}

impl<E: Into<io::Error>> From<E> for Unwritten {
    fn from(error: E) -> Self {
        Self::Io(error.into())
    }
}

/// Writes `bytes` to `name` in `folder`. A symlink there is replaced, not followed. Keeps the mode
/// of an existing file, without set-uid and set-gid bits, and its owner if permitted.
///
/// With `expected`, fails if the file has changed since it was read. The check comes right before
/// the rename; a change in the microseconds between the two is not detected.
pub(super) fn replace(
    folder: BorrowedFd<'_>,
    name: &OsStr,
    bytes: &[u8],
    old: Option<&std::fs::Metadata>,
    expected: Option<&Stamp>,
) -> Result<(), Unwritten> {
    let new = NewFile::create(folder, old.is_none())?;
    let mut file = &new.file;
    file.write_all(bytes)?;
    if let Some(old) = old {
        let (uid, gid) = (Uid::from_raw(old.uid()), Gid::from_raw(old.gid()));
        // Only root can change the owner, so ignore an error.
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
    // Sync the folder, so that the rename survives a power failure. The file is complete either
    // way.
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

/// A file that is removed on drop, unless it was moved into place.
struct NewFile<'f> {
    folder: BorrowedFd<'f>,
    name: String,
    file: File,
}

impl<'f> NewFile<'f> {
    /// Creates the file. It is private until it has the mode of the file that it replaces. If there
    /// is no such file, the user's umask applies.
    fn create(folder: BorrowedFd<'f>, is_new: bool) -> io::Result<Self> {
        let mode = Mode::from_bits_truncate(if is_new { 0o666 } else { 0o600 });
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        for _ in 0..MAX_ATTEMPTS {
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

impl Drop for NewFile<'_> {
    fn drop(&mut self) {
        if !self.name.is_empty() {
            // There is nowhere to report an error, and the name shows that the file is temporary.
            let _ = unlinkat(self.folder, &self.name, AtFlags::empty());
        }
    }
}
