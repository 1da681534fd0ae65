use std::{
    io,
    path::{Path, PathBuf},
};

use rustix::io::Errno;

/// An error from a file operation. The message is written for the model, with the path as the model
/// gave it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error("path is empty")]
    Empty,
    #[error("path contains a NUL byte")]
    Nul,
    #[error("`{path}` is outside of `{}`, and the jail is on", cwd.display())]
    Outside { path: String, cwd: PathBuf },
    #[error(
        "`{path}` leads out of `{}` through a symlink or `..`, and the jail is on\nhint: the jail does not follow symlinks to absolute paths, whatever their target",
        cwd.display()
    )]
    LeadsOut { path: String, cwd: PathBuf },
    #[error("`{path}` is read-only in the jail")]
    ReadOnly { path: String },
    #[error("`{0}` does not exist")]
    Missing(String),
    #[error("`{path}` is a symlink to `{}`, which does not exist", target.display())]
    Dangling { path: String, target: PathBuf },
    #[error("invalid path `{0}`: it ends with `/`, or a part of it is not a folder")]
    NotAFolder(String),
    #[error("`{0}` is a folder")]
    Folder(String),
    #[error("`{path}` is {what}, not a file")]
    Special { path: String, what: &'static str },
    #[error("`{0}` is in /proc, where this tool would only see zot itself\nhint: use bash")]
    Proc(String),
    #[error("cannot write `{0}`: the file is read-only")]
    Protected(String),
    #[error("`{0}` has changed since it was read; nothing was written\nhint: read it again")]
    Changed(String),
    #[error("`{path}` has too many levels of symlinks")]
    Loop { path: String },
    #[error("permission denied for `{0}`")]
    Denied(String),
    #[error("cannot access `{path}`: {source}")]
    Io { path: String, source: io::Error },
}

impl FileError {
    /// Converts a system error for `path`.
    pub(super) fn of(path: &str, cwd: &Path, errno: Errno) -> Self {
        let path = path.to_owned();
        match errno {
            Errno::NOENT => Self::Missing(path),
            Errno::NOTDIR => Self::NotAFolder(path),
            Errno::ISDIR => Self::Folder(path),
            Errno::ACCESS | Errno::PERM => Self::Denied(path),
            Errno::LOOP => Self::Loop { path },
            Errno::XDEV => Self::LeadsOut {
                path,
                cwd: cwd.to_owned(),
            },
            other => Self::Io {
                path,
                source: other.into(),
            },
        }
    }

    pub(crate) fn io(path: &str, source: io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            source,
        }
    }
}
