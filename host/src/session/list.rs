//! Lists sessions without reading whole files: the head and title are at the start of a file, and
//! the message count is at its end.

use std::{
    cmp::Reverse,
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    time::SystemTime,
};

use memchr::memrchr;

use super::{
    contents::Contents,
    line::{Head, Line, count_at_end, parse},
};
use crate::untrusted::{Follow, open_regular};

/// How much of the start of a file to read. This is enough for the head, with its path, and a short
/// title.
const BEGINNING: u64 = 4 * 1024;
/// How much of the start to read if the head contains a very long path.
const LONG_BEGINNING: u64 = 64 * 1024;
/// How much of the end of a file to read.
const END: i64 = 256;

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// The file.
    pub path: PathBuf,
    /// The head.
    pub head: Head,
    /// The user's first message on one line; `None` if there is none yet.
    pub title: Option<String>,
    /// The time of the last write.
    pub updated: SystemTime,
    /// The number of messages, including those before a compaction.
    pub messages: u64,
}

/// The sessions in a directory, most recent first.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Listed {
    /// The sessions.
    pub sessions: Vec<Entry>,
    /// Files whose start cannot be read, or is from a newer version.
    pub unreadable: Vec<PathBuf>,
}

/// Returns the session files in a directory, most recent first.
pub(super) fn files(dir: &Path) -> Vec<(PathBuf, SystemTime, u64)> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Vec::new();
    };
    let files = entries.filter_map(|entry| {
        let path = entry.ok()?.path();
        if path.extension()? != "jsonl" {
            return None;
        }
        let file = fs::symlink_metadata(&path).ok()?;
        let time = file.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        file.is_file().then_some((path, time, file.len()))
    });
    let mut files: Vec<_> = files.collect();
    // Names begin with the creation time, which breaks ties between equal modification times.
    files.sort_by(|(left, left_time, _), (right, right_time, _)| {
        Reverse((left_time, left)).cmp(&Reverse((right_time, right)))
    });
    files
}

pub(super) fn list(dir: &Path) -> Listed {
    let mut listed = Listed::default();
    for (path, updated, len) in files(dir) {
        match entry(&path, updated) {
            Ok(Some(entry)) => listed.sessions.push(entry),
            // The file has just been created, and its head is not written yet.
            Ok(None) if len == 0 => {}
            Ok(None) => listed.unreadable.push(path),
            // The file has just been removed, or is not accessible.
            Err(_) => {}
        }
    }
    listed
}

/// Reads the entry of a session. Returns `None` if the file does not start like a session.
pub(super) fn entry(path: &Path, updated: SystemTime) -> io::Result<Option<Entry>> {
    let Some(mut file) = open_regular(path, Follow::Never)? else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    file.by_ref().take(BEGINNING).read_to_end(&mut bytes)?;
    if !bytes.contains(&b'\n') {
        let more = LONG_BEGINNING - BEGINNING;
        file.by_ref().take(more).read_to_end(&mut bytes)?;
    }
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let Some(Line::Head(head)) = lines.next().and_then(parse) else {
        return Ok(None);
    };
    let title = lines.find_map(|line| match parse(line) {
        Some(Line::Title(title)) => Some(title),
        _ => None,
    });
    Ok(Some(Entry {
        path: path.to_owned(),
        head,
        title,
        updated,
        messages: count(&mut file)?,
    }))
}

/// Returns the number of messages from the last complete line.
fn count(file: &mut File) -> io::Result<u64> {
    let len = file.seek(SeekFrom::End(0))?;
    let back = END.min(i64::try_from(len).unwrap_or(END));
    file.seek(SeekFrom::End(-back))?;
    let mut end = Vec::new();
    file.by_ref()
        .take(END.unsigned_abs())
        .read_to_end(&mut end)?;
    let last = memrchr(b'\n', &end).and_then(|newline| count_at_end(&end[..newline]));
    if let Some(count) = last {
        return Ok(count);
    }
    // There is only a head, or the end is incomplete or from a newer version: read the whole file.
    file.rewind()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(Contents::read(&bytes).count())
}
