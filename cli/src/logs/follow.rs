//! Follows a log across rotations.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use super::file::{self, Identity};

/// Reads the bytes that are appended to a log.
#[derive(Debug)]
pub(crate) struct Follower {
    path: PathBuf,
    /// The file being read; `None` if there is none yet.
    current: Option<File>,
    at: u64,
    /// The rotated file, already read or not needed. Kept open so that no other file can reuse its
    /// inode.
    older: Option<File>,
}

impl Follower {
    /// Continues in `current` from offset `at`.
    pub(super) fn new(path: &Path, current: Option<File>, at: u64, older: Option<File>) -> Self {
        Self {
            path: path.to_owned(),
            current,
            at,
            older,
        }
    }

    /// Starts at the beginning of a log that does not exist yet.
    pub(crate) fn from_start(path: &Path) -> Self {
        Self::new(path, None, 0, None)
    }

    /// Returns the bytes that were appended since the last call.
    pub(crate) fn more(&mut self) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        // Check this before reading: if the file is renamed afterwards, the next call reads the
        // rest of it.
        let there = Identity::at(&self.path);
        let mut read = None;
        if let Some(file) = &mut self.current {
            read = Some(Identity::of(&file.metadata()?));
            self.at = read_on(file, self.at, &mut text)?;
        }
        if there == read {
            return Ok(text);
        }
        // After a rotation, the file does not exist until the first line is written.
        let new = file::open(&self.path)?;
        let older = file::open(&file::older(&self.path))?;
        // `older` was opened after `new`. If the log was rotated in between, `older` is therefore
        // the same file as `new`, which is in `known`.
        if let Some(mut between) = older {
            let mut known = vec![];
            for file in [&self.current, &new, &self.older].into_iter().flatten() {
                known.push(Identity::of(&file.metadata()?));
            }
            // If the log was rotated twice since the last call, the file in between only exists
            // under the rotated name.
            if !known.contains(&Identity::of(&between.metadata()?)) {
                read_on(&mut between, 0, &mut text)?;
            }
            self.older = Some(between);
        }
        self.current = new;
        self.at = 0;
        if let Some(file) = &mut self.current {
            self.at = read_on(file, 0, &mut text)?;
        }
        Ok(text)
    }
}

/// Reads to the end of the file. A truncated file is read from its start.
fn read_on(file: &mut File, from: u64, text: &mut Vec<u8>) -> io::Result<u64> {
    let from = if file.metadata()?.len() < from {
        0
    } else {
        from
    };
    file.seek(SeekFrom::Start(from))?;
    Ok(from + file.read_to_end(text)? as u64)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn rotation_neither_loses_nor_repeats_lines() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ext-a.log");
        let append = |text: &str| {
            let file = fs::OpenOptions::new().append(true).create(true).open(&path);
            io::Write::write_all(&mut file.unwrap(), text.as_bytes()).unwrap();
        };
        let rotate = || fs::rename(&path, file::older(&path)).unwrap();
        let mut follower = Follower::from_start(&path);
        let mut more = || String::from_utf8(follower.more().unwrap()).unwrap();
        assert_eq!(more(), "");
        append("1\n");
        assert_eq!(more(), "1\n");
        append("2\n");
        rotate();
        append("3\n");
        assert_eq!(more(), "2\n3\n");
        append("4\n");
        rotate();
        assert_eq!(more(), "4\n", "rotated, and nothing written since");
        assert_eq!(more(), "");
        append("5\n");
        assert_eq!(more(), "5\n");
        append("6\n");
        rotate();
        append("7\n");
        rotate();
        append("8\n");
        assert_eq!(more(), "6\n7\n8\n", "rotated twice");
        append("and more\n");
        assert_eq!(more(), "and more\n");
        fs::write(&path, "9\n").unwrap();
        assert_eq!(more(), "9\n", "truncated");
        fs::remove_file(&path).unwrap();
        assert_eq!(more(), "");
        append("a\n");
        assert_eq!(more(), "a\n");
    }
}
