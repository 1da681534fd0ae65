//! Scans and copies a local directory, without following symlinks in it.

use std::{
    ffi::CStr,
    fs::File,
    io,
    os::fd::{AsFd, OwnedFd},
    path::Path,
};

use anyhow::{Context, bail};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat, statat,
};
use zot_host::{
    extension::discover::{MANIFEST, escape},
    untrusted,
};

use super::super::{
    contents::{Contents, ContentsError, EntryKind},
    stage::Writer,
};
use crate::interrupt;

/// Identifies a file and its state. It changes if the file is replaced or written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    device: u64,
    inode: u64,
    modified: (i64, u64),
    changed: (i64, u64),
}

impl Stamp {
    #[allow(
        clippy::unnecessary_cast,
        clippy::cast_sign_loss,
        clippy::cast_possible_wrap,
        reason = "these types differ between systems"
    )]
    fn of(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            modified: (stat.st_mtime as i64, stat.st_mtime_nsec as u64),
            changed: (stat.st_ctime as i64, stat.st_ctime_nsec as u64),
        }
    }
}

/// The file that lists what to leave out of the package, in `.gitignore` syntax. `.gitignore`
/// itself is not used, because it often lists build output, which must be installed.
const IGNORE_FILE: &str = ".zotignore";
/// The maximum size of a `.zotignore` file.
const IGNORE_BYTES: usize = 64 << 10;

/// Lists everything in a directory except `.git` and the files that its `.zotignore` excludes.
pub(super) fn scan(root: &Path) -> anyhow::Result<Contents<Stamp>> {
    let mut contents = Contents::new();
    let opened = open_directory(CWD, root).with_context(|| cannot_read("."))?;
    walk(&opened, "", &ignored(root)?, &mut contents)?;
    Ok(contents)
}

/// Reads the patterns in `.zotignore`, if it exists.
fn ignored(root: &Path) -> anyhow::Result<Gitignore> {
    let name = Path::new(IGNORE_FILE);
    let bytes = match untrusted::read_whole(Some(root), name, IGNORE_BYTES) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Gitignore::empty()),
        read => read.with_context(|| cannot_read(IGNORE_FILE))?,
    };
    // Paths are matched relative to the directory, so the patterns need no root.
    let mut patterns = GitignoreBuilder::new("");
    for (index, line) in String::from_utf8_lossy(&bytes).lines().enumerate() {
        patterns
            .add_line(None, line)
            .with_context(|| format!("{IGNORE_FILE}: line {}", index + 1))?;
    }
    patterns.build().with_context(|| cannot_read(IGNORE_FILE))
}

fn walk(
    folder: &OwnedFd,
    prefix: &str,
    ignored: &Gitignore,
    contents: &mut Contents<Stamp>,
) -> anyhow::Result<()> {
    let entries = Dir::read_from(folder).with_context(|| cannot_read(prefix))?;
    for entry in entries {
        interrupt::check()?;
        let entry = entry.with_context(|| cannot_read(prefix))?;
        let name = entry.file_name();
        if [c".", c"..", c".git"].contains(&name) {
            continue;
        }
        let Ok(text) = name.to_str() else {
            let name = format!("{prefix}{}", name.to_string_lossy());
            return Err(ContentsError::Name(name).into());
        };
        let path = format!("{prefix}{text}");
        // Apply the ignore patterns before `kind` rejects special files: an ignored socket must not
        // prevent the installation.
        let is_directory = match entry.file_type() {
            // Some file systems do not report the type.
            FileType::Unknown => statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory),
            known => known == FileType::Directory,
        };
        if path != MANIFEST && ignored.matched(&path, is_directory).is_ignore() {
            continue;
        }
        let kind = kind(folder, name, &path)?;
        let is_directory = kind == EntryKind::Directory;
        contents.add(path.clone(), kind)?;
        if is_directory {
            let within = open_directory(folder, name).with_context(|| cannot_read(&path))?;
            walk(&within, &format!("{path}/"), ignored, contents)?;
        }
    }
    Ok(())
}

fn kind(folder: &OwnedFd, name: &CStr, path: &str) -> anyhow::Result<EntryKind<Stamp>> {
    let stat =
        statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).with_context(|| cannot_read(path))?;
    let special = |what| {
        Err(ContentsError::Special {
            path: path.to_owned(),
            what,
        }
        .into())
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => Ok(EntryKind::Directory),
        FileType::RegularFile => Ok(EntryKind::File {
            executable: stat.st_mode & 0o111 != 0,
            size: u64::try_from(stat.st_size).unwrap_or_default(),
            origin: Stamp::of(&stat),
        }),
        FileType::Symlink => {
            let target = readlinkat(folder, name, Vec::new()).with_context(|| cannot_read(path))?;
            match target.into_string() {
                Ok(target) => Ok(EntryKind::Link(target)),
                Err(_) => Err(ContentsError::Name(path.to_owned()).into()),
            }
        }
        FileType::Fifo => special("FIFO"),
        FileType::Socket => special("socket"),
        _ => special("device"),
    }
}

/// Copies a scanned file. Fails if it has changed since the scan.
pub(super) fn write(
    root: &Path,
    (path, kind): (&str, &EntryKind<Stamp>),
    writer: &Writer,
) -> anyhow::Result<()> {
    let EntryKind::File {
        executable,
        size,
        origin,
    } = kind
    else {
        return Ok(());
    };
    let file = open_beneath(root, path).with_context(|| cannot_read(path))?;
    let check_unchanged = || {
        let stat = fstat(&file).with_context(|| cannot_read(path))?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        if !is_file || Stamp::of(&stat) != *origin {
            bail!(
                "`{}` changed during the copy\nhint: try again",
                escape::text(path)
            );
        }
        Ok(())
    };
    check_unchanged()?;
    writer.file(path, *executable, *size, &file)?;
    check_unchanged()
}

/// Opens a file one path component at a time, so that a directory replaced by a symlink is not
/// followed.
fn open_beneath(root: &Path, path: &str) -> io::Result<File> {
    let mut folder = open_directory(CWD, root)?;
    let mut names = path.split('/').peekable();
    while let Some(name) = names.next() {
        if names.peek().is_none() {
            // Do not block: a FIFO may have replaced the file.
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            return Ok(openat(&folder, name, flags, Mode::empty())?.into());
        }
        folder = open_directory(&folder, name)?;
    }
    Err(io::ErrorKind::NotFound.into())
}

fn open_directory(at: impl AsFd, name: impl rustix::path::Arg) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(at, name, flags, Mode::empty())?)
}

fn cannot_read(path: &str) -> String {
    let path = path.trim_end_matches('/');
    format!(
        "cannot read `{}`",
        escape::text(if path.is_empty() { "." } else { path })
    )
}
