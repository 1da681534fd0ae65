//! The beginning of a file that somebody else may have made: a file and nothing else, and no more than a bound.

use std::{
    fs::File,
    io::{self, Read},
    os::fd::{AsFd, OwnedFd},
    path::Path,
};

use rustix::fs::{Mode, OFlags, open};

use super::beneath;

/// The first bytes of a file.
#[derive(Debug)]
pub(crate) struct Beginning {
    pub(crate) bytes: Vec<u8>,
    /// Whether that is not all.
    pub(crate) cut: bool,
}

/// Reads `path`: with `root` the relative path beneath that folder, otherwise whatever it leads to.
pub(crate) fn read(root: Option<&Path>, path: &Path, most: usize) -> io::Result<Beginning> {
    let file = File::from(open_in(root, path, OFlags::RDONLY | OFlags::NONBLOCK)?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    file.take(most as u64 + 1).read_to_end(&mut bytes)?;
    let cut = bytes.len() > most;
    bytes.truncate(most);
    Ok(Beginning { bytes, cut })
}

/// Opens `path`, beneath `root` where there is one.
pub(crate) fn open_in(root: Option<&Path>, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NOCTTY;
    let Some(root) = root else {
        return Ok(open(path, flags, Mode::empty())?);
    };
    let root = open(
        root,
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    match beneath::open(root.as_fd(), path, flags, Mode::empty()) {
        Err(rustix::io::Errno::XDEV) => Err(io::Error::other("it is a link that leads elsewhere")),
        opened => Ok(opened?),
    }
}
