//! The prompt history: in memory, and in a file that all sessions share.
//!
//! The file has one JSON string per line. Entries are appended under a lock. When the file exceeds
//! twice [`MAX_BYTES`], it is replaced with a file that has only the newest entries. Invalid lines
//! are ignored.

use std::{
    collections::HashSet,
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::Path,
};

const MAX_ENTRIES: usize = 1000;
/// Maximum number of bytes to read from the end of the file, which can grow to twice this size.
const MAX_BYTES: u64 = 1024 * 1024;
/// Entries longer than this are not stored in the file.
const MAX_ENTRY_BYTES: usize = 64 * 1024;

/// Earlier prompts, oldest first.
#[derive(Debug, Default)]
pub(crate) struct History {
    entries: Vec<String>,
    /// Number of entries at the end that have not been written to the file yet.
    new: usize,
    /// The index of the displayed entry, and the draft from before browsing started.
    shown: Option<(usize, String)>,
}

impl History {
    /// Reads the file. If it is missing, the history is empty.
    pub(crate) fn load(path: &Path) -> io::Result<Self> {
        let entries = match File::open(path) {
            Ok(mut file) => read(&mut file)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        Ok(Self {
            entries,
            ..Self::default()
        })
    }

    /// Appends new entries to the file. Other processes may do the same concurrently.
    pub(crate) fn store(&mut self, path: &Path) -> io::Result<()> {
        let from = self.entries.len() - self.new.min(self.entries.len());
        let mut lines = String::new();
        for entry in self.entries[from..]
            .iter()
            .filter(|entry| entry.len() <= MAX_ENTRY_BYTES)
        {
            lines.push_str(&serde_json::to_string(entry)?);
            lines.push('\n');
        }
        if !lines.is_empty() {
            let mut file = locked(path)?;
            // The last line can be incomplete if the disk was full or the power failed. If so,
            // begin a new line.
            let whole = ends_with_line(&mut file)?;
            if !whole {
                lines.insert(0, '\n');
            }
            file.write_all(lines.as_bytes())?;
            if file.metadata()?.len() > 2 * MAX_BYTES {
                shorten(&mut file, path)?;
            }
        }
        self.new = 0;
        Ok(())
    }

    /// Adds an entry, unless it is blank or the same as the last one.
    pub(crate) fn push(&mut self, entry: &str) {
        self.shown = None;
        if entry.trim().is_empty() || self.entries.last().is_some_and(|last| last == entry) {
            return;
        }
        self.entries.push(entry.to_owned());
        self.new += 1;
        if self.entries.len() > MAX_ENTRIES {
            self.entries.remove(0);
        }
    }

    /// Returns the entries, newest first, without repetitions.
    pub(crate) fn newest_first(&self) -> Vec<&str> {
        let mut seen = HashSet::new();
        let entries = self.entries.iter().rev().map(String::as_str);
        entries.filter(|entry| seen.insert(*entry)).collect()
    }

    /// Returns the entry before the displayed one. `written` is the draft, which [`History::newer`]
    /// returns after the last entry.
    pub(super) fn older(&mut self, written: String) -> Option<String> {
        let (shown, draft) = self.shown.take().unwrap_or((self.entries.len(), written));
        let older = shown.checked_sub(1);
        self.shown = Some((older.unwrap_or(shown), draft));
        older.map(|older| self.entries[older].clone())
    }

    /// Returns the entry after the displayed one, or the draft.
    pub(super) fn newer(&mut self) -> Option<String> {
        let (shown, draft) = self.shown.take()?;
        match self.entries.get(shown + 1) {
            Some(entry) => {
                self.shown = Some((shown + 1, draft));
                Some(entry.clone())
            }
            None => Some(draft),
        }
    }

    /// Stops browsing the history, because the text was replaced.
    pub(super) fn stop_browsing(&mut self) {
        self.shown = None;
    }
}

/// Opens the file for appending, creating it if necessary, and locks it.
fn locked(path: &Path) -> io::Result<File> {
    loop {
        // Prompts can contain secrets, so only the user may read the file.
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .open(path)?;
        file.lock()?;
        // Another process may have replaced the file before we got the lock.
        match fs::metadata(path) {
            Ok(now) if now.ino() == file.metadata()?.ino() => return Ok(file),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
}

fn ends_with_line(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// Reads the newest entries.
fn read(file: &mut File) -> io::Result<Vec<String>> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MAX_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(2 * MAX_BYTES).read_to_end(&mut bytes)?;
    let lines = bytes.split(|byte| *byte == b'\n');
    let mut entries: Vec<String> = lines
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect();
    entries.drain(..entries.len().saturating_sub(MAX_ENTRIES));
    Ok(entries)
}

/// Replaces the file with one that has only the newest entries.
fn shorten(file: &mut File, path: &Path) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut shorter = tempfile::NamedTempFile::new_in(folder)?;
    for entry in read(file)? {
        serde_json::to_writer(&mut shorter, &entry)?;
        shorter.write_all(b"\n")?;
    }
    shorter.flush()?;
    shorter.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(entries: &[&str]) -> History {
        let mut history = History::default();
        for entry in entries {
            history.push(entry);
        }
        history
    }

    #[test]
    fn sessions_append_to_a_shared_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history");
        assert_eq!(History::load(&path).unwrap().entries, [""; 0]);
        let mut mine = written(&["one", "two\nlines", "two\nlines", " "]);
        let mut yours = written(&["three"]);
        mine.store(&path).unwrap();
        yours.store(&path).unwrap();
        mine.push("four");
        mine.store(&path).unwrap();
        mine.store(&path).unwrap();
        let all = History::load(&path).unwrap();
        assert_eq!(all.entries, ["one", "two\nlines", "three", "four"]);
        let mode = fs::metadata(&path).unwrap().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn invalid_lines_are_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history");
        fs::write(&path, b"\"one\"\n\0\0\0\n{}\n\xff\n\"tw").unwrap();
        written(&["three"]).store(&path).unwrap();
        assert_eq!(History::load(&path).unwrap().entries, ["one", "three"]);
    }

    #[test]
    fn file_and_memory_are_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history");
        let mut history = History::default();
        for number in 0..3000 {
            history.push(&format!("{number} {}", "x".repeat(1000)));
            if number % 10 == 0 {
                history.store(&path).unwrap();
            }
        }
        history.push(&"y".repeat(MAX_ENTRY_BYTES + 1));
        history.store(&path).unwrap();
        assert_eq!(history.entries.len(), MAX_ENTRIES);
        assert!(fs::metadata(&path).unwrap().len() <= 2 * MAX_BYTES);
        let loaded = History::load(&path).unwrap();
        assert!(
            loaded
                .entries
                .last()
                .is_some_and(|last| last.starts_with("2999 "))
        );
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn concurrent_writers_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history");
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let path = &path;
                scope.spawn(move || {
                    for number in 0..50 {
                        written(&[&format!("{writer} {number}")])
                            .store(path)
                            .unwrap();
                    }
                });
            }
        });
        assert_eq!(History::load(&path).unwrap().entries.len(), 200);
    }
}
