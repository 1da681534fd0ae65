//! What was written before: in memory, and in a file that all sessions share.
//!
//! The file has one JSON string a line and is only ever added to, under a lock, until it is twice as long as it may be;
//! then the newest are written anew and put in its place. What cannot be read in it is left out.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::Path,
};

/// So many are kept.
const MOST: usize = 1000;
/// So many bytes of the file are read; it may become twice as long.
const MOST_BYTES: u64 = 1024 * 1024;
/// A longer entry is for this session only.
const LONGEST: usize = 64 * 1024;

/// The prompts of before, oldest first.
#[derive(Debug, Default)]
pub(crate) struct History {
    entries: Vec<String>,
    /// How many of the last ones the file does not have.
    new: usize,
    /// The entry that is shown, and what was written when looking back began.
    shown: Option<(usize, String)>,
}

impl History {
    /// Reads the file; one that is not there is an empty history.
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

    /// Adds to the file what was written since the last time. Others may do the same at once.
    pub(crate) fn store(&mut self, path: &Path) -> io::Result<()> {
        let from = self.entries.len() - self.new.min(self.entries.len());
        let mut lines = String::new();
        for entry in self.entries[from..]
            .iter()
            .filter(|entry| entry.len() <= LONGEST)
        {
            lines.push_str(&serde_json::to_string(entry)?);
            lines.push('\n');
        }
        if !lines.is_empty() {
            let mut file = locked(path)?;
            // The last line may be torn: the disk was full, the power went.
            let whole = ends_with_line(&mut file)?;
            if !whole {
                lines.insert(0, '\n');
            }
            file.write_all(lines.as_bytes())?;
            if file.metadata()?.len() > 2 * MOST_BYTES {
                shorten(&mut file, path)?;
            }
        }
        self.new = 0;
        Ok(())
    }

    /// Adds an entry, unless it is the last one again.
    pub(crate) fn push(&mut self, entry: &str) {
        self.shown = None;
        if entry.trim().is_empty() || self.entries.last().is_some_and(|last| last == entry) {
            return;
        }
        self.entries.push(entry.to_owned());
        self.new += 1;
        if self.entries.len() > MOST {
            self.entries.remove(0);
        }
    }

    /// The entry before the one that is shown; what is written now comes back with [`History::newer`].
    pub(super) fn older(&mut self, written: String) -> Option<String> {
        let (shown, draft) = self.shown.take().unwrap_or((self.entries.len(), written));
        let older = shown.checked_sub(1);
        self.shown = Some((older.unwrap_or(shown), draft));
        older.map(|older| self.entries[older].clone())
    }

    /// The entry behind the one that is shown, or what was written when looking back began.
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

    /// Something else is written: looking back begins anew.
    pub(super) fn leave(&mut self) {
        self.shown = None;
    }
}

/// The file, made if need be, to add to it, with nobody else doing so.
fn locked(path: &Path) -> io::Result<File> {
    loop {
        // Only the user's own: prompts say more than one thinks.
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .open(path)?;
        file.lock()?;
        // Another may have put a shorter one in its place meanwhile.
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

/// The newest entries.
fn read(file: &mut File) -> io::Result<Vec<String>> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MOST_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(2 * MOST_BYTES).read_to_end(&mut bytes)?;
    let lines = bytes.split(|byte| *byte == b'\n');
    let mut entries: Vec<String> = lines
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect();
    entries.drain(..entries.len().saturating_sub(MOST));
    Ok(entries)
}

/// Puts a file with the newest entries in the place of this one.
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
    fn what_is_stored_is_loaded_and_others_are_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("history");
        assert_eq!(History::load(&path).expect("none").entries, [""; 0]);
        let mut mine = written(&["one", "two\nlines", "two\nlines", " "]);
        let mut yours = written(&["three"]);
        mine.store(&path).expect("stored");
        yours.store(&path).expect("stored");
        mine.push("four");
        mine.store(&path).expect("stored");
        mine.store(&path).expect("nothing to store");
        let all = History::load(&path).expect("loaded");
        assert_eq!(all.entries, ["one", "two\nlines", "three", "four"]);
        let mode = fs::metadata(&path).expect("there").mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn what_cannot_be_read_is_left_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("history");
        fs::write(&path, b"\"one\"\n\0\0\0\n{}\n\xff\n\"tw").expect("written");
        written(&["three"]).store(&path).expect("stored");
        assert_eq!(
            History::load(&path).expect("loaded").entries,
            ["one", "three"]
        );
    }

    #[test]
    fn neither_file_nor_memory_grows_for_ever() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("history");
        let mut history = History::default();
        for number in 0..3000 {
            history.push(&format!("{number} {}", "x".repeat(1000)));
            if number % 10 == 0 {
                history.store(&path).expect("stored");
            }
        }
        history.push(&"y".repeat(LONGEST + 1));
        history.store(&path).expect("stored");
        assert_eq!(history.entries.len(), MOST);
        assert!(fs::metadata(&path).expect("there").len() <= 2 * MOST_BYTES);
        let loaded = History::load(&path).expect("loaded");
        assert!(
            loaded
                .entries
                .last()
                .is_some_and(|last| last.starts_with("2999 "))
        );
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }

    #[test]
    fn many_write_at_once_and_nothing_is_lost() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("history");
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let path = &path;
                scope.spawn(move || {
                    for number in 0..50 {
                        written(&[&format!("{writer} {number}")])
                            .store(path)
                            .expect("stored");
                    }
                });
            }
        });
        assert_eq!(History::load(&path).expect("loaded").entries.len(), 200);
    }
}
