//! A local directory, looked at and copied without following a link in it.

use std::{
    ffi::CStr,
    fs::File,
    io,
    os::fd::{AsFd, OwnedFd},
    path::Path,
};

use anyhow::{Context, bail};
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat, statat,
};
use zot_host::extension::discover::shown;

use super::super::{
    contents::{Contents, ContentsError, Kind},
    stage::Writer,
};
use crate::interrupt;

/// Which file it was, and in which state: another one, or one written to since, differs.
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
        reason = "the types of these differ between systems"
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

/// Everything in a directory but `.git`, which is the author's and not the package's.
pub(super) fn look(root: &Path) -> anyhow::Result<Contents<Stamp>> {
    let mut contents = Contents::new();
    let opened = open_directory(CWD, root).with_context(|| cannot_read("."))?;
    walk(&opened, "", &mut contents)?;
    Ok(contents)
}

fn walk(folder: &OwnedFd, prefix: &str, contents: &mut Contents<Stamp>) -> anyhow::Result<()> {
    let entries = Dir::read_from(folder)
        .map_err(io::Error::from)
        .with_context(|| cannot_read(prefix))?;
    for entry in entries {
        interrupt::check()?;
        let entry = entry
            .map_err(io::Error::from)
            .with_context(|| cannot_read(prefix))?;
        let name = entry.file_name();
        if [c".", c"..", c".git"].contains(&name) {
            continue;
        }
        let Ok(text) = name.to_str() else {
            let name = format!("{prefix}{}", name.to_string_lossy());
            return Err(ContentsError::Name(name).into());
        };
        let path = format!("{prefix}{text}");
        let kind = kind(folder, name, &path)?;
        let is_directory = kind == Kind::Directory;
        contents.add(path.clone(), kind)?;
        if is_directory {
            let within = open_directory(folder, name).with_context(|| cannot_read(&path))?;
            walk(&within, &format!("{path}/"), contents)?;
        }
    }
    Ok(())
}

fn kind(folder: &OwnedFd, name: &CStr, path: &str) -> anyhow::Result<Kind<Stamp>> {
    let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
        .map_err(io::Error::from)
        .with_context(|| cannot_read(path))?;
    let special = |what| {
        Err(ContentsError::Special {
            path: path.to_owned(),
            what,
        }
        .into())
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => Ok(Kind::Directory),
        FileType::RegularFile => Ok(Kind::File {
            executable: stat.st_mode & 0o111 != 0,
            size: u64::try_from(stat.st_size).unwrap_or_default(),
            origin: Stamp::of(&stat),
        }),
        FileType::Symlink => {
            let target = readlinkat(folder, name, Vec::new())
                .map_err(io::Error::from)
                .with_context(|| cannot_read(path))?;
            match target.into_string() {
                Ok(target) => Ok(Kind::Link(target)),
                Err(_) => Err(ContentsError::Name(path.to_owned()).into()),
            }
        }
        FileType::Fifo => special("FIFO"),
        FileType::Socket => special("socket"),
        _ => special("device"),
    }
}

/// Copies one file of a directory that was looked at, if it is still the one that was seen.
pub(super) fn write(
    root: &Path,
    (path, kind): (&str, &Kind<Stamp>),
    writer: &Writer,
) -> anyhow::Result<()> {
    let Kind::File {
        executable,
        size,
        origin,
    } = kind
    else {
        return Ok(());
    };
    let file = open_beneath(root, path).with_context(|| cannot_read(path))?;
    let is_seen = |file: &File| {
        let stat = fstat(file).map_err(io::Error::from)?;
        io::Result::Ok(
            FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
                && Stamp::of(&stat) == *origin,
        )
    };
    if !is_seen(&file).with_context(|| cannot_read(path))? {
        bail!("`{}` changed while it was copied", shown::text(path));
    }
    writer.file(path, *executable, *size, &file)?;
    if !is_seen(&file).with_context(|| cannot_read(path))? {
        bail!("`{}` changed while it was copied", shown::text(path));
    }
    Ok(())
}

/// Opens a file name by name: a directory that became a link since leads nowhere.
fn open_beneath(root: &Path, path: &str) -> io::Result<File> {
    let mut folder = open_directory(CWD, root)?;
    let mut names = path.split('/').peekable();
    while let Some(name) = names.next() {
        if names.peek().is_none() {
            // Not blocking: a FIFO may have taken its place.
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
        shown::text(if path.is_empty() { "." } else { path })
    )
}
