use std::{
    io,
    path::{Path, PathBuf},
};

use rustix::io::Errno;

/// Why a file cannot be read or written. It reads as it is told to the model, with the path as the model gave it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error("the path is empty")]
    Empty,
    #[error("the path contains a NUL byte")]
    Nul,
    #[error("`{path}` is outside of `{}`, where the jail keeps this tool", cwd.display())]
    Outside { path: String, cwd: PathBuf },
    #[error(
        "`{path}` leads out of `{}` by a link or `..`, where the jail keeps this tool\nhint: links to absolute paths are not followed in the jail, wherever they lead",
        cwd.display()
    )]
    LeadsOut { path: String, cwd: PathBuf },
    #[error("`{path}` can be read and not written in the jail")]
    ReadOnly { path: String },
    #[error("`{0}` does not exist")]
    Missing(String),
    #[error("`{path}` is a link to `{}`, which does not exist", target.display())]
    Dangling { path: String, target: PathBuf },
    #[error("`{0}` goes through a file as if it were a folder, or ends with `/` and is none")]
    NotAFolder(String),
    #[error("`{0}` is a folder")]
    Folder(String),
    #[error("`{path}` is {what}, not a file")]
    Special { path: String, what: &'static str },
    #[error(
        "`{0}` is in /proc, where this tool would see itself and not what you mean\nhint: use bash"
    )]
    Proc(String),
    #[error("`{0}` may not be written: its mode forbids it")]
    Protected(String),
    #[error(
        "`{0}` was changed by somebody else meanwhile; nothing was written\nhint: read it again"
    )]
    Changed(String),
    #[error("`{path}` goes through too many links")]
    Loop { path: String },
    #[error("permission denied for `{0}`")]
    Denied(String),
    #[error("cannot use `{path}`: {source}")]
    Io { path: String, source: io::Error },
}

impl FileError {
    /// What the system's answer means for `path`.
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
