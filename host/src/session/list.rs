//! What sessions there are, without reading them: the beginning of a file has its head and title, its end the count.

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

/// So much of a file's beginning is read: a head has a path in it, and a title is short.
const BEGINNING: u64 = 4 * 1024;
/// Where a path is very long.
const LONG_BEGINNING: u64 = 64 * 1024;
/// So much of a file's end.
const END: i64 = 256;

/// A session, for a list to choose from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// Its file.
    pub path: PathBuf,
    /// Its head.
    pub head: Head,
    /// The first thing that the user said, in one line; `None` where nothing was said yet.
    pub title: Option<String>,
    /// When it was last written.
    pub updated: SystemTime,
    /// How many messages it has, from before a compaction too.
    pub messages: u64,
}

/// What is in a directory of sessions, the last written first.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Listed {
    /// The sessions.
    pub sessions: Vec<Entry>,
    /// Files whose beginning cannot be read, or is of a newer version.
    pub unreadable: Vec<PathBuf>,
}

/// The files of a directory that are named as sessions are, the last written first.
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
    // The name begins with the time it was made: the younger one first, where the clock is too coarse.
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
            // Somebody has just made it.
            Ok(None) if len == 0 => {}
            Ok(None) => listed.unreadable.push(path),
            // Somebody has just taken it away, or it is not for us.
            Err(_) => {}
        }
    }
    listed
}

/// `None`: its beginning is none of a session.
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

/// How many messages a file has, by its last whole line.
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
    // Only a head, or an end that is torn, or of a newer version: all of it.
    file.rewind()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(Contents::read(&bytes).count())
}
