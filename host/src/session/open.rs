//! Opens a session file in any state, and repairs it.

use std::{
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use super::{
    Notice, Session, SessionError,
    contents::Contents,
    line::{Head, Line, Mark, Out, WithPrefix, count_at_end},
    lock::{self, Access},
    transcript::{self, Repairs},
    writer::Writer,
};
use crate::{
    agent::prefix::{Prefix, Told},
    file::{Locked, replace, set_aside},
    message::Message,
};

/// An opened session and its history.
#[derive(Debug)]
#[non_exhaustive]
pub struct Opened {
    /// The session to write to.
    pub session: Session,
    /// The transcript for the model: all messages since the last compaction or clear, after the
    /// summary if there is one. It is valid: every call has a result.
    pub transcript: Vec<Message>,
    /// The start of every request, if it was stored.
    pub(crate) prefix: Option<Prefix>,
    /// The state that the model was last told about.
    pub(crate) told: Told,
    /// The messages before the last compaction or clear, for display only.
    pub earlier: Vec<Message>,
    /// What to show in addition to the messages of the transcript. Each mark is paired with the
    /// number of messages before it.
    pub(crate) marks: Vec<(usize, Mark)>,
    /// The provider last used.
    pub provider: String,
    /// The model last used.
    pub model: String,
    /// Notices to show to the user.
    pub notices: Vec<Notice>,
}

impl Opened {
    /// Creates an empty session.
    pub(super) fn fresh(head: &Head, writer: Option<Writer>, notices: Vec<Notice>) -> Self {
        Self {
            session: Session::new(head.id.clone(), writer),
            transcript: Vec::new(),
            prefix: None,
            told: Told::default(),
            earlier: Vec::new(),
            marks: Vec::new(),
            provider: head.provider.clone(),
            model: head.model.clone(),
            notices,
        }
    }

    /// Returns a remark for the user if a different model continues the session.
    pub(crate) fn remark_on_model(&self, provider: &str, model: &str) -> Option<String> {
        let is_same = self.provider == provider && self.model == model;
        (!is_same && !self.transcript.is_empty()).then(|| {
            format!(
                "continuing with {provider} {model}; this session used {} {}",
                self.provider, self.model
            )
        })
    }

    /// Prepares a session that someone else may have written: its system prompt is rebuilt, and its
    /// remarks become visible.
    fn distrust(&mut self) {
        if let Some(prefix) = &mut self.prefix {
            prefix.distrust();
        }
        let messages = self.transcript.iter_mut().chain(&mut self.earlier);
        for message in messages.filter(|message| message.has_remarks()) {
            *message = message.with_visible_remarks();
        }
    }

    /// Creates a session with these contents. Its transcript is repaired if necessary.
    pub(super) fn of(
        contents: Contents,
        writer: Option<Writer>,
        head: &Head,
        path: &Path,
        mut notices: Vec<Notice>,
    ) -> Self {
        if contents.unknown > 0 {
            notices.push(Notice::Unknown {
                path: path.to_owned(),
                lines: contents.unknown,
            });
        }
        let mut opened = Self::fresh(head, writer, notices);
        for (_, line) in contents.lines {
            match line {
                Line::Message(message) => {
                    opened.session.messages += 1;
                    opened.transcript.push(message);
                }
                Line::Mark(mark) => opened.marks.push((opened.transcript.len(), mark)),
                Line::Compaction(summary) => {
                    opened.marks.clear();
                    opened.earlier.append(&mut opened.transcript);
                    opened.transcript.push(summary);
                }
                Line::Clear => {
                    opened.marks.clear();
                    opened.earlier.append(&mut opened.transcript);
                }
                Line::Model { provider, model } => {
                    (opened.provider, opened.model) = (provider, model);
                }
                Line::Prefix(stored) => {
                    // The reasoning so far is valid only with the previous prefix.
                    let is_same = |old: &Prefix| old.is_same(&stored.prefix);
                    let is_new = opened.prefix.as_ref().is_some_and(|old| !is_same(old));
                    opened.prefix = Some(stored.prefix);
                    if is_new {
                        opened
                            .transcript
                            .iter_mut()
                            .for_each(Message::drop_thinking);
                    }
                    opened.told = stored.told;
                }
                Line::Told(told) => opened.told = told,
                Line::Title(title) => opened.session.title = Some(title),
                Line::ExtensionCall(_) | Line::Head(_) | Line::NewerHead(_) | Line::Unknown => {}
            }
        }
        let repairs = transcript::repair(&mut opened.transcript);
        let Repairs {
            new_calls, results, ..
        } = repairs;
        if new_calls > 0 {
            opened.notices.push(Notice::Cancelled { calls: new_calls });
        }
        if results > 0 {
            opened.notices.push(Notice::Uncalled { messages: results });
        }
        opened
    }
}

/// Who owns the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileOwner {
    /// zot: the file is in its own directory, where every file is or was a session.
    Zot,
    /// The user, who gave the path. A file that was never a session is not changed.
    User,
}

/// Opens the file at `path` and repairs it if necessary. Returns `None` if it does not exist.
/// `fresh` is the head to use if a new session begins in the file.
pub(super) fn open(
    path: &Path,
    owner: FileOwner,
    fresh: Head,
) -> Result<Option<Opened>, SessionError> {
    let Some(access) = lock::open(path)? else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    match &access {
        Access::Write(file) => (&**file).read_to_end(&mut bytes),
        Access::Read(file, _) => (&*file).read_to_end(&mut bytes),
    }
    .map_err(|error| SessionError::read(path, error))?;
    let contents = Contents::read(&bytes);
    if let Some(version) = contents.newer {
        return Err(SessionError::Newer {
            path: path.to_owned(),
            version,
        });
    }
    if !contents.is_session() && owner == FileOwner::User && !was_session(&bytes) {
        return Err(SessionError::NotASession(path.to_owned()));
    }
    let head = contents.head.clone().unwrap_or(fresh);
    let mut notices = Vec::new();
    let repaired = match access {
        Access::Write(file) => repair(path, file, &bytes, &contents, &head, &mut notices),
        Access::Read(_, why) => Err(why),
    };
    let writer = match repaired {
        Ok((file, len)) => Some(Writer::of(path.to_owned(), file, len)),
        Err(why) => {
            notices.push(Notice::Off {
                path: path.to_owned(),
                why: why.to_string(),
            });
            None
        }
    };
    if !contents.is_session() {
        return Ok(Some(Opened::fresh(&head, writer, notices)));
    }
    let mut opened = Opened::of(contents, writer, &head, path, notices);
    if owner == FileOwner::User {
        opened.distrust();
    }
    Ok(Some(opened))
}

/// Reports whether an unreadable file was once a session: it is blank, or begins like one.
fn was_session(bytes: &[u8]) -> bool {
    const BEGINNING: &[u8] = br#"{"type":"session""#;
    let nothing = |byte: &u8| *byte == 0 || byte.is_ascii_whitespace();
    bytes.iter().all(nothing) || bytes.starts_with(BEGINNING) || BEGINNING.starts_with(bytes)
}

/// Prepares a file for appending. Returns it with its length. First backs up everything that it
/// removes.
fn repair(
    path: &Path,
    file: Locked,
    bytes: &[u8],
    contents: &Contents,
    head: &Head,
    notices: &mut Vec<Notice>,
) -> io::Result<(Locked, u64)> {
    let path = path.to_owned();
    if !contents.is_session() {
        notices.push(if bytes.is_empty() {
            Notice::Empty(path)
        } else {
            let aside = set_aside(&path, "bad", bytes)?;
            Notice::Unreadable { path, aside }
        });
        file.set_len(0)?;
        return extended(file, 0, &head_line(head));
    }
    if contents.is_damaged() {
        let aside = set_aside(&path, "bad", bytes)?;
        let whole = composed(head, contents, bytes, usize::MAX, FileOwner::Zot);
        let file = replace(&real(&path), &whole, |new| {
            Locked::try_new(new).map_err(|(_, error)| error.into())
        })?;
        notices.push(Notice::Damaged {
            path,
            aside,
            messages: contents.count(),
        });
        return Ok((file, whole.len() as u64));
    }
    let (whole, rest) = bytes.split_at(contents.whole);
    if contents.torn {
        let aside = set_aside(&path, "torn", rest)?;
        notices.push(Notice::Torn {
            path,
            aside,
            bytes: rest.len(),
        });
    }
    if !rest.is_empty() {
        file.set_len(whole.len() as u64)?;
    }
    let newline: &[u8] = if contents.open_end { b"\n" } else { b"" };
    extended(file, whole.len() as u64, newline)
}

fn extended(file: Locked, len: u64, with: &[u8]) -> io::Result<(Locked, u64)> {
    if let Err(error) = (&*file).write_all(with) {
        let _ = file.set_len(len);
        return Err(error);
    }
    Ok((file, len + with.len() as u64))
}

/// Resolves a symlink, so that the user's link stays in place.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

pub(super) fn head_line(head: &Head) -> Vec<u8> {
    let mut line = Vec::new();
    Out::Session(head).write(&mut line);
    line
}

/// Combines the head with the original lines that end at or before `end`.
pub(super) fn composed(
    head: &Head,
    contents: &Contents,
    bytes: &[u8],
    end: usize,
    owner: FileOwner,
) -> Vec<u8> {
    let mut whole = head_line(head);
    for (place, line) in contents
        .lines
        .iter()
        .take_while(|(place, _)| place.end <= end)
    {
        let bytes = &bytes[place.clone()];
        if owner == FileOwner::Zot || !write_distrusted(line, bytes, &mut whole) {
            whole.extend_from_slice(bytes);
        }
        if !whole.ends_with(b"\n") {
            whole.push(b'\n');
        }
    }
    whole
}

/// Writes a line of a file that someone else may have written, without the instructions that only
/// zot may give: a system prompt, and remarks, which the user does not see. Returns false, and
/// writes nothing, if the line contains none.
fn write_distrusted(line: &Line, bytes: &[u8], to: &mut Vec<u8>) -> bool {
    let n = count_at_end(bytes).unwrap_or_default();
    match line {
        Line::Prefix(stored) => {
            let WithPrefix { mut prefix, told } = (**stored).clone();
            prefix.distrust();
            let told = &told;
            Out::Prefix {
                prefix: &prefix,
                told,
                n,
            }
            .write(to);
        }
        Line::Message(message) if message.has_remarks() => {
            let message = &message.with_visible_remarks();
            Out::Message { message, n }.write(to);
        }
        Line::Compaction(message) if message.has_remarks() => {
            let message = &message.with_visible_remarks();
            Out::Compaction { message, n }.write(to);
        }
        _ => return false,
    }
    true
}
