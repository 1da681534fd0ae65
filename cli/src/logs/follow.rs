//! What is added to a log, across its rotations.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use super::file::{self, Identity};

/// Reads what is added to a log.
#[derive(Debug)]
pub(crate) struct Follower {
    path: PathBuf,
    /// The file that is read, and how far; `None` while there is none.
    current: Option<File>,
    at: u64,
}

impl Follower {
    /// Goes on in `current` from `at`.
    pub(super) fn new(path: &Path, current: Option<File>, at: u64) -> Self {
        Self {
            path: path.to_owned(),
            current,
            at,
        }
    }

    /// From the start of a log that is not there yet.
    pub(crate) fn from_start(path: &Path) -> Self {
        Self::new(path, None, 0)
    }

    /// What was added since it was last asked.
    pub(crate) fn more(&mut self) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        // Looked at before the file is read: who is renamed after that is read to its end the next time.
        let there = Identity::at(&self.path);
        let mut read = None;
        if let Some(file) = &mut self.current {
            read = Some(Identity::of(&file.metadata()?));
            self.at = read_on(file, self.at, &mut text)?;
        }
        if there == read {
            return Ok(text);
        }
        // Between a rename and the first line after it there is none.
        self.current = file::open(&self.path)?;
        let mut known = vec![read];
        if let Some(file) = &self.current {
            known.push(Some(Identity::of(&file.metadata()?)));
        }
        let older = file::older(&self.path);
        let before = Identity::at(&older);
        // It was rotated twice since: the one in between has only its older name. Looked at last, so that a rotation
        // meanwhile shows as the file that was just opened.
        if read.is_some()
            && before.is_some()
            && !known.contains(&before)
            && let Some(mut between) = file::open(&older)?
        {
            read_on(&mut between, 0, &mut text)?;
        }
        self.at = 0;
        if let Some(file) = &mut self.current {
            self.at = read_on(file, 0, &mut text)?;
        }
        Ok(text)
    }
}

/// Reads to the end; one that was cut is read from its start.
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
    fn nothing_is_lost_or_read_twice_when_it_is_rotated() {
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
        assert_eq!(more(), "4\n", "and nobody has written since");
        assert_eq!(more(), "");
        append("5\n");
        assert_eq!(more(), "5\n");
        append("6\n");
        rotate();
        append("7\n");
        rotate();
        append("8\n");
        assert_eq!(more(), "6\n7\n8\n", "twice in between");
        append("and more\n");
        assert_eq!(more(), "and more\n");
        fs::write(&path, "9\n").unwrap();
        assert_eq!(more(), "9\n", "cut by somebody");
        fs::remove_file(&path).unwrap();
        assert_eq!(more(), "");
        append("a\n");
        assert_eq!(more(), "a\n");
    }
}
