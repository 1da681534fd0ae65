//! Why a session cannot be used, and what a user is told of one that can.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

/// Why a session cannot be used. Each reads as one line, with a hint where one helps.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// Another process writes it.
    #[error(
        "session `{}` is in use by {}\nhint: leave the other one, or begin a new session",
        path.display(), holder(*pid)
    )]
    Busy {
        /// The session's file.
        path: PathBuf,
        /// The other process, where the system tells.
        pid: Option<u32>,
    },
    /// A newer zot wrote it, in a format that this one does not know.
    #[error("session `{}` has format {version}, and this zot knows 1\nhint: update zot", path.display())]
    Newer {
        /// The session's file.
        path: PathBuf,
        /// Its format.
        version: u32,
    },
    /// There is something else at the path. It is left as it is.
    #[error("`{}` is not a session", .0.display())]
    NotASession(PathBuf),
    /// A file that is to be imported has a line that cannot be read.
    #[error("`{}` is damaged: {} of it cannot be read", path.display(), counted(*lines as u64, "line"))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// How many lines cannot be read.
        lines: usize,
    },
    /// A session without so many messages.
    #[error("session `{}` has {}, not {at}", path.display(), counted(*messages, "message"))]
    NoSuchMessage {
        /// The session's file.
        path: PathBuf,
        /// The message asked for.
        at: u64,
        /// How many there are.
        messages: u64,
    },
    /// What is to be written is there already.
    #[error("`{}` is there already\nhint: choose another name", .0.display())]
    Exists(PathBuf),
    /// No room is left.
    #[error(
        "session `{}` cannot be written: {source}\nhint: make room; what is missing is written then",
        path.display()
    )]
    Full {
        /// The session's file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It cannot be written for another reason.
    #[error("session `{}` cannot be written: {source}", path.display())]
    Write {
        /// The session's file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It cannot be read.
    #[error("session `{}` cannot be read: {source}", path.display())]
    Read {
        /// The session's file.
        path: PathBuf,
        /// What the system said.
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

/// `1 line`, `2 lines`.
fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

impl SessionError {
    /// What a failed write means.
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

/// What a user is told of a session that was opened, in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// The end of the file was torn. Everything before it is there.
    Torn {
        /// The session's file.
        path: PathBuf,
        /// Where the torn end is now.
        aside: PathBuf,
        /// How many bytes that is.
        bytes: usize,
    },
    /// Lines in the middle, or the head, could not be read. Everything else is there.
    Damaged {
        /// The session's file.
        path: PathBuf,
        /// Where the file is now as it was.
        aside: PathBuf,
        /// How many messages are left.
        messages: u64,
    },
    /// Nothing of it could be read; a new session begins.
    Unreadable {
        /// The session's file.
        path: PathBuf,
        /// Where the file is now as it was.
        aside: PathBuf,
    },
    /// There was nothing in the file; a new session begins.
    Empty(PathBuf),
    /// Lines of a newer version are kept, and not understood.
    Unknown {
        /// The session's file.
        path: PathBuf,
        /// How many.
        lines: usize,
    },
    /// Calls had no result, since the process that ran them was ended. The model is told so.
    Cancelled {
        /// How many.
        calls: usize,
    },
    /// Results had no call. The model gets them as text.
    Uncalled {
        /// How many messages with such results.
        messages: usize,
    },
    /// Nothing is kept of this session.
    Off {
        /// The file or directory that cannot be written.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// There is no session to continue; a new one begins.
    NoneYet,
}

impl fmt::Display for Notice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Torn { path, aside, bytes } => write!(
                formatter,
                "session `{}` ended in the middle of a line: those {bytes} bytes are in `{}`, all before them is here",
                path.display(),
                aside.display()
            ),
            Self::Damaged {
                path,
                aside,
                messages,
            } => write!(
                formatter,
                "session `{}` was damaged: {} could be read, and the file as it was is `{}`",
                path.display(),
                counted(*messages, "message"),
                aside.display()
            ),
            Self::Unreadable { path, aside } => write!(
                formatter,
                "nothing in session `{}` could be read: it is kept as `{}`, and a new session begins",
                path.display(),
                aside.display()
            ),
            Self::Empty(path) => write!(
                formatter,
                "session `{}` was empty: a new session begins",
                path.display()
            ),
            Self::Unknown { path, lines } => write!(
                formatter,
                "session `{}` has {} of a newer zot: kept, but not understood",
                path.display(),
                counted(*lines as u64, "line")
            ),
            Self::Cancelled { calls } => write!(
                formatter,
                "this session has {} without a result: the model is told of a cancellation",
                counted(*calls as u64, "tool call")
            ),
            Self::Uncalled { messages } => write!(
                formatter,
                "this session has {} of tool results whose calls are lost: the model gets them as text",
                counted(*messages as u64, "message")
            ),
            Self::Off { path, why } => write!(
                formatter,
                "this session is not kept: `{}` cannot be written: {why}",
                path.display()
            ),
            Self::NoneYet => write!(formatter, "no session to continue here: a new one begins"),
        }
    }
}
