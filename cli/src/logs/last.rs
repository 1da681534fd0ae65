//! The last lines of a log, and the bytes appended after them.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

use zot_process::untimed;

use super::{
    file::{self, Identity},
    follow::Follower,
};

/// The maximum number of bytes to read, four times the size at which a log is rotated.
const MAX_BYTES: u64 = 4 << 20;

/// Returns the last `count` lines and a follower for later ones, or `None` if there is no log.
pub(crate) fn last(path: &Path, count: usize) -> io::Result<Option<(Vec<u8>, Follower)>> {
    // Retry if the log is rotated while the two files are opened, because lines could then be
    // repeated or lost.
    loop {
        let before = Identity::at(path);
        let older = file::open(&file::older(path))?;
        let current = file::open(path)?;
        if Identity::at(path) != before {
            continue;
        }
        if older.is_none() && current.is_none() {
            return Ok(None);
        }
        let mut text = Vec::new();
        let (mut current_text, mut at) = (Vec::new(), 0);
        if let Some(current) = &current {
            (current_text, at) = end_of(current)?;
        }
        let wanted = count.saturating_sub(lines_of(&current_text));
        if wanted > 0
            && let Some(older) = &older
        {
            text = end_of(older)?.0;
            text.drain(..start_of_last(&text, wanted));
            if !text.is_empty() && !text.ends_with(b"\n") {
                text.push(b'\n');
            }
        }
        let from = start_of_last(&current_text, count);
        text.extend_from_slice(&current_text[from..]);
        return Ok(Some((text, Follower::new(path, current, at, older))));
    }
}

/// Reads the end of a file. Returns the bytes and the offset after them.
fn end_of(mut file: &File) -> io::Result<(Vec<u8>, u64)> {
    let size = file.metadata()?.len();
    let from = size.saturating_sub(MAX_BYTES);
    file.seek(SeekFrom::Start(from))?;
    let mut text = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut text)?;
    let end = from + text.len() as u64;
    Ok((text, end))
}

fn lines_of(text: &[u8]) -> usize {
    text.split_inclusive(|&byte| byte == b'\n').count()
}

/// Returns the offset at which the last `count` lines start.
fn start_of_last(text: &[u8], count: usize) -> usize {
    if count == 0 {
        return text.len();
    }
    let body = text.strip_suffix(b"\n").unwrap_or(text);
    let mut ends = (0..body.len()).rev().filter(|&at| body[at] == b'\n');
    ends.nth(count - 1).map_or(0, |at| at + 1)
}

/// The end of a log at some point in time.
#[derive(Debug)]
pub(crate) struct Mark(Follower);

impl Mark {
    /// Marks the current end of the log. Treats an unreadable log as empty.
    pub(crate) fn of(path: &Path) -> Self {
        let end = last(path, 0).ok().flatten();
        Self(end.map_or_else(|| Follower::from_start(path), |(_, follower)| follower))
    }

    /// Returns the lines written since the mark, without their timestamps.
    pub(crate) fn since(mut self) -> Vec<String> {
        let text = self.0.more().unwrap_or_default();
        String::from_utf8_lossy(&text)
            .lines()
            .map(|line| untimed(line).to_owned())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_start_of_the_last_lines() {
        for (text, count, rest) in [
            ("a\nb\nc\n", 2, "b\nc\n"),
            ("a\nb\nc", 2, "b\nc"),
            ("a\nb\n", 5, "a\nb\n"),
            ("a\n", 0, ""),
            ("", 3, ""),
            ("\n\n\n", 2, "\n\n"),
        ] {
            let from = start_of_last(text.as_bytes(), count);
            assert_eq!(&text[from..], rest, "{text:?}, {count}");
        }
    }

    #[test]
    fn missing_lines_come_from_the_rotated_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ext-a.log");
        assert!(last(&path, 3).unwrap().is_none());
        std::fs::write(file::older(&path), "1\n2\n3\n").unwrap();
        std::fs::write(&path, "4\n5\n").unwrap();
        for (count, text) in [(1, "5\n"), (3, "3\n4\n5\n"), (9, "1\n2\n3\n4\n5\n")] {
            let (found, _) = last(&path, count).unwrap().unwrap();
            assert_eq!(String::from_utf8(found).unwrap(), text);
        }
        std::fs::remove_file(&path).unwrap();
        let (found, _) = last(&path, 2).unwrap().unwrap();
        assert_eq!(found, b"2\n3\n");
    }
}
