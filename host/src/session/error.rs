//! Session errors, and notices about opened sessions.

use std::{
    io,
    path::{Path, PathBuf},
};

/// A session error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// Another process is writing to the session.
    #[error(
        "session `{}` is in use by {}\nhint: close it there, or start a new session",
        path.display(), holder(*pid)
    )]
    Busy {
        /// The session file.
        path: PathBuf,
        /// The other process, if known.
        pid: Option<u32>,
    },
    /// A newer version of zot wrote the session, in an unknown format.
    #[error("session `{}` has format version {version}, but this zot supports version 1\nhint: update zot", path.display())]
    Newer {
        /// The session file.
        path: PathBuf,
        /// The format version.
        version: u32,
    },
    /// The path is not a session file. It is not changed.
    #[error("`{}` is not a session", .0.display())]
    NotASession(PathBuf),
    /// A file to import has unreadable lines.
    #[error("`{}` is damaged: cannot read {}", path.display(), counted(*lines as u64, "line"))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The number of unreadable lines.
        lines: usize,
    },
    /// The session has fewer messages than requested.
    #[error("session `{}` has only {}: there is no message {at}", path.display(), counted(*messages, "message"))]
    NoSuchMessage {
        /// The session file.
        path: PathBuf,
        /// The requested message.
        at: u64,
        /// The number of messages.
        messages: u64,
    },
    /// The file to write already exists.
    #[error("`{}` already exists\nhint: choose another name", .0.display())]
    Exists(PathBuf),
    /// The disk is full.
    #[error(
        "cannot write session `{}`: {source}\nhint: free some space; zot will then write the missing lines",
        path.display()
    )]
    Full {
        /// The session file.
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
    /// The file cannot be written for another reason.
    #[error("cannot write session `{}`: {source}", path.display())]
    Write {
        /// The session file.
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
    /// The file cannot be read.
    #[error("cannot read session `{}`: {source}", path.display())]
    Read {
        /// The session file.
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
}

fn holder(pid: Option<u32>) -> String {
    match pid {
        Some(pid) if pid == std::process::id() => "this process".to_owned(),
        Some(pid) => format!("process {pid}"),
        None => "another process".to_owned(),
    }
}

/// Formats a count: `1 line`, `2 lines`.
fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

impl SessionError {
    /// Converts an I/O error from a write.
    pub(super) fn write(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::Full { path, source }
            }
            io::ErrorKind::AlreadyExists => Self::Exists(path),
            _ => Self::Write { path, source },
        }
    }

    pub(super) fn read(path: &Path, source: io::Error) -> Self {
        Self::Read {
            path: path.to_owned(),
            source,
        }
    }
}

/// A notice about an opened session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Notice {
    /// The last line was incomplete. Everything before it is intact.
    #[error(
        "session `{}` ended in the middle of a line: moved the incomplete line ({}) to `{}`; everything before it is intact",
        path.display(), in_bytes(*bytes), aside.display()
    )]
    Torn {
        /// The session file.
        path: PathBuf,
        /// The backup of the incomplete line.
        aside: PathBuf,
        /// Its length in bytes.
        bytes: usize,
    },
    /// The head or lines in the middle were unreadable. Everything else is intact.
    #[error(
        "session `{}` was damaged: recovered {}; the original file was copied to `{}`",
        path.display(), counted(*messages, "message"), aside.display()
    )]
    Damaged {
        /// The session file.
        path: PathBuf,
        /// The backup of the original file.
        aside: PathBuf,
        /// The number of recovered messages.
        messages: u64,
    },
    /// Nothing was readable; a new session begins.
    #[error(
        "session `{}` is unreadable: moved it to `{}` and started a new session",
        path.display(), aside.display()
    )]
    Unreadable {
        /// The session file.
        path: PathBuf,
        /// The backup of the original file.
        aside: PathBuf,
    },
    /// The file was empty; a new session begins.
    #[error("session `{}` was empty: started a new session", .0.display())]
    Empty(PathBuf),
    /// Lines from a newer version are kept and ignored.
    #[error(
        "session `{}` has {} from a newer zot: kept, but ignored",
        path.display(), counted(*lines as u64, "line")
    )]
    Unknown {
        /// The session file.
        path: PathBuf,
        /// The number of lines.
        lines: usize,
    },
    /// Tool calls have no result, because zot exited before they finished. The model sees them as
    /// cancelled.
    #[error(
        "this session has {} without a result: marked as cancelled",
        counted(*calls as u64, "tool call")
    )]
    Cancelled {
        /// The number of calls.
        calls: usize,
    },
    /// Results have no call. The model receives them as text.
    #[error(
        "this session has tool results without a matching call, in {}: they are sent to the model as text",
        counted(*messages as u64, "message")
    )]
    Uncalled {
        /// The number of messages with such results.
        messages: usize,
    },
    /// The session will not be stored.
    #[error("this session will not be saved: cannot write `{}`: {why}", path.display())]
    Off {
        /// The file or directory that cannot be written.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// There is no session to continue; a new one begins.
    #[error("no session to continue in this directory: started a new one")]
    NoneYet,
}

fn in_bytes(count: usize) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} byte{s}")
}
