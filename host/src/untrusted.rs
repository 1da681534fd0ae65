//! Reads files that someone else controls, such as the files in a cloned repository.
//!
//! Whenever zot itself (rather than a tool) reads a file below the working directory, it uses this
//! module. Symlinks cannot lead out of the root, only regular files are read, opening never blocks,
//! and every read has a size limit.

pub(crate) mod beneath;

use std::{
    ffi::OsString,
    fs::File,
    io::{self, Read},
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStringExt,
    },
    path::Path,
};

use rustix::{
    fs::{Dir, FileType, Mode, OFlags, open},
    io::Errno,
};

/// The start of a file.
#[derive(Debug)]
pub struct Beginning {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Whether the file is longer than `bytes`.
    pub cut: bool,
}

/// Reads at most `most` bytes of a file. With a `root`, `path` is relative to it and must not lead
/// out of it. Without one, symlinks are followed anywhere; use that only for the user's own files.
pub fn read(root: Option<&Path>, path: &Path, most: usize) -> io::Result<Beginning> {
    let file = open_regular_in(root, path, OFlags::empty())?.ok_or_else(not_a_file)?;
    let mut bytes = Vec::new();
    file.take(most as u64 + 1).read_to_end(&mut bytes)?;
    let cut = bytes.len() > most;
    bytes.truncate(most);
    Ok(Beginning { bytes, cut })
}

/// Reads a whole file, like [`read`]. Returns an error if the file is longer than `most` bytes.
pub fn read_whole(root: Option<&Path>, path: &Path, most: usize) -> io::Result<Vec<u8>> {
    let Beginning { bytes, cut } = read(root, path, most)?;
    if cut {
        let message = match most >> 20 {
            0 => format!("larger than {} KiB", most >> 10),
            mib => format!("larger than {mib} MiB"),
        };
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

/// Reads one of the user's own files, like [`read_whole`]. Returns `None` if it does not exist.
pub(crate) fn read_own(path: &Path, most: usize) -> io::Result<Option<Vec<u8>>> {
    match read_whole(None, path, most) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

/// Lists a folder in no particular order. Returns an error if it has more than `most` entries.
pub(crate) fn list(
    root: Option<&Path>,
    path: &Path,
    most: usize,
) -> io::Result<Vec<(OsString, FileType)>> {
    let mut entries = Vec::new();
    for entry in Dir::new(open_in(root, path, OFlags::RDONLY | OFlags::DIRECTORY)?)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") {
            continue;
        }
        if entries.len() == most {
            let message = format!("more than {most} entries");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        entries.push((OsString::from_vec(name.to_vec()), entry.file_type()));
    }
    Ok(entries)
}

/// Opens the folder `path` for listing, without leaving `root` while resolving it.
pub fn open_folder(root: &Path, path: &Path) -> io::Result<OwnedFd> {
    open_in(Some(root), path, OFlags::RDONLY | OFlags::DIRECTORY)
}

/// Reports whether `path` is a folder, without leaving `root` while resolving it.
pub(crate) fn is_folder(root: &Path, path: &Path) -> io::Result<bool> {
    match open_folder(root, path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(false),
        Err(error) => Err(error),
    }
}

fn not_a_file() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")
}

/// Reports whether `error` means that the path is not a regular file.
pub(crate) fn is_not_a_file(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidInput && error.get_ref().is_some()
}

/// Reports whether `error` means that a symlink leads out of the root.
pub(crate) fn leads_out(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::CrossesDevices
}

/// Opens `path`, beneath `root` if there is one.
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
    match beneath::open(root.as_fd(), path, flags) {
        Err(Errno::XDEV) => Err(io::Error::new(
            io::ErrorKind::CrossesDevices,
            "symlink leads out of the project",
        )),
        opened => Ok(opened?),
    }
}

/// Opens a regular file for reading. Returns `None` for anything else. Never blocks, even on a FIFO
/// without a writer.
pub(crate) fn open_regular(path: &Path, follow: Follow) -> io::Result<Option<File>> {
    let flags = match follow {
        Follow::Yes => OFlags::empty(),
        Follow::Never => OFlags::NOFOLLOW,
    };
    open_regular_in(None, path, flags)
}

fn open_regular_in(root: Option<&Path>, path: &Path, flags: OFlags) -> io::Result<Option<File>> {
    let file = match open_in(root, path, OFlags::RDONLY | OFlags::NONBLOCK | flags) {
        // Opening a socket fails with `ENXIO`.
        Err(error) if Errno::from_io_error(&error) == Some(Errno::NXIO) => return Ok(None),
        opened => File::from(opened?),
    };
    // Check the opened file, since the path may now refer to a different file.
    Ok(file.metadata()?.is_file().then_some(file))
}

/// Whether to follow a symlink in the last path component.
#[derive(Clone, Copy)]
pub(crate) enum Follow {
    #[cfg_attr(not(feature = "agent"), expect(dead_code))]
    Yes,
    Never,
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn reads_only_regular_files_inside_the_root_up_to_the_limit() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("root");
        fs::create_dir(&root).unwrap();
        fs::write(outer.path().join("secret"), "secret").unwrap();
        fs::write(root.join("file"), "0123456789").unwrap();
        symlink("../secret", root.join("out")).unwrap();
        symlink("/dev/zero", root.join("zero")).unwrap();
        symlink("file", root.join("within")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            root.join("fifo"),
            FileType::Fifo,
            Mode::RUSR | Mode::WUSR,
            0,
        )
        .unwrap();
        let read = |path: &str, most| super::read(Some(&root), Path::new(path), most);
        for name in ["file", "within"] {
            let beginning = read(name, 4).unwrap();
            assert_eq!((&*beginning.bytes, beginning.cut), (&b"0123"[..], true));
            assert!(!read(name, 10).unwrap().cut);
        }
        for name in ["out", "zero"] {
            assert!(leads_out(&read(name, 4).unwrap_err()), "{name}");
        }
        for name in [".", "fifo"] {
            assert!(is_not_a_file(&read(name, 4).unwrap_err()), "{name}");
        }
        let error = read_whole(Some(&root), Path::new("file"), 9).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(list(Some(&root), Path::new(""), 5).unwrap().len(), 5);
        assert!(list(Some(&root), Path::new(""), 4).is_err());
    }
}
