//! The output of a command. The model sees its start and its end; longer output is also stored in a
//! file.

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, Write},
    path::PathBuf,
    sync::Arc,
};

use super::super::scratch::Scratch;

/// How much output to keep.
#[derive(Debug, Clone, Copy)]
pub(super) struct OutputLimits {
    pub(super) head: usize,
    pub(super) tail: usize,
    /// The maximum size of the file.
    pub(super) file: u64,
}

pub(in crate::tool) struct Output {
    kept: OutputLimits,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    spill: Spill,
}

/// The file with the whole output.
enum Spill {
    /// Not needed yet. The file would be created in this folder.
    Not(Arc<Scratch>),
    Open(Spilled),
    Failed(io::Error),
}

struct Spilled {
    scratch: Arc<Scratch>,
    file: File,
    path: PathBuf,
    written: u64,
    /// How many earlier outputs were deleted to make room.
    removed: usize,
    /// Whether output has been dropped because the file or the scratch folder is full.
    full: bool,
    /// Whether the model knows the path. Otherwise the file is removed.
    referenced: bool,
}

impl Drop for Spilled {
    fn drop(&mut self) {
        if self.referenced {
            self.scratch.close(&self.path);
        } else {
            self.scratch.discard(&self.path, self.written);
        }
    }
}

impl Output {
    pub(super) fn new(scratch: Arc<Scratch>, kept: OutputLimits) -> Self {
        Self {
            kept,
            head: Vec::new(),
            tail: VecDeque::new(),
            total: 0,
            spill: Spill::Not(scratch),
        }
    }

    /// Creates an output that is written to a file in full, unless it exceeds a size limit. Also
    /// returns the file's path.
    pub(in crate::tool) fn in_file(
        scratch: &Arc<Scratch>,
        limit: u64,
    ) -> io::Result<(Self, PathBuf)> {
        let mut spilled = Spilled::begin(scratch)?;
        spilled.referenced = true;
        let path = spilled.path.clone();
        let kept = OutputLimits {
            head: 0,
            tail: 0,
            file: limit,
        };
        let output = Self {
            spill: Spill::Open(spilled),
            ..Self::new(Arc::clone(scratch), kept)
        };
        Ok((output, path))
    }

    /// Reports whether adding `size` bytes would write to the file.
    pub(super) fn writes(&self, size: usize) -> bool {
        match &self.spill {
            Spill::Not(_) => self.total + size as u64 > (self.kept.head + self.kept.tail) as u64,
            Spill::Open(spilled) => spilled.written < self.kept.file && !spilled.full,
            Spill::Failed(_) => false,
        }
    }

    /// Adds output. May write to the file, which blocks.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        if let Spill::Not(scratch) = &self.spill
            && self.total > (self.kept.head + self.kept.tail) as u64
        {
            self.spill = match Spilled::begin(scratch) {
                Ok(mut spilled) => {
                    // `head` and `tail` contain the whole output so far.
                    let (a, b) = self.tail.as_slices();
                    let parts = [self.head.as_slice(), a, b];
                    let limit = self.kept.file;
                    match parts.iter().try_for_each(|part| spilled.add(part, limit)) {
                        Ok(()) => Spill::Open(spilled),
                        Err(error) => Spill::Failed(error),
                    }
                }
                Err(error) => Spill::Failed(error),
            };
        }
        if let Spill::Open(spilled) = &mut self.spill
            && let Err(error) = spilled.add(bytes, self.kept.file)
        {
            self.spill = Spill::Failed(error);
        }
        let room = (self.kept.head - self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..room]);
        self.tail.extend(&bytes[room..]);
        let over = self.tail.len().saturating_sub(self.kept.tail);
        self.tail.drain(..over);
    }

    /// Returns the text for the model. Invalid UTF-8 is replaced; control characters are kept.
    pub(super) fn text(mut self) -> String {
        let left_out = self.total - (self.head.len() + self.tail.len()) as u64;
        let tail: Vec<u8> = self.tail.drain(..).collect();
        if left_out == 0 {
            self.head.extend_from_slice(&tail);
            return String::from_utf8_lossy(&self.head).into_owned();
        }
        let rest = match &mut self.spill {
            Spill::Open(spilled) => {
                spilled.referenced = true;
                let path = spilled.path.display();
                let mut rest = if spilled.written < self.total {
                    format!("the first {} bytes are in {path}", spilled.written)
                } else {
                    format!("the full output is in {path}")
                };
                if spilled.removed > 0 {
                    let oldest = match spilled.removed {
                        1 => "oldest output".to_owned(),
                        more => format!("{more} oldest outputs"),
                    };
                    let note = format!("; deleted the {oldest} of this session to make room");
                    rest.push_str(&note);
                }
                rest
            }
            Spill::Failed(error) => format!("the full output could not be saved: {error}"),
            Spill::Not(_) => "the full output was not saved".to_owned(),
        };
        // Split at line endings if there are any, so that no partial line looks like a whole one.
        let head = match memchr::memrchr(b'\n', &self.head) {
            Some(end) => &self.head[..=end],
            None => &self.head[..],
        };
        let tail = match memchr::memchr(b'\n', &tail) {
            Some(end) if end + 1 < tail.len() => &tail[end + 1..],
            _ => &tail[..],
        };
        let left_out = self.total - (head.len() + tail.len()) as u64;
        let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
        format!(
            "{head}\n[… {left_out} of {} bytes omitted; {rest} …]\n{tail}",
            self.total
        )
    }
}

impl Spilled {
    fn begin(scratch: &Arc<Scratch>) -> io::Result<Self> {
        let (file, path) = scratch.output()?;
        Ok(Self {
            scratch: Arc::clone(scratch),
            file,
            path,
            written: 0,
            removed: 0,
            full: false,
            referenced: false,
        })
    }

    fn add(&mut self, bytes: &[u8], limit: u64) -> io::Result<()> {
        // Once output has been dropped, later output would be in the wrong place.
        if self.full {
            return Ok(());
        }
        let wanted = (bytes.len() as u64).min(limit - self.written);
        let (room, removed) = self.scratch.room_for(wanted);
        self.removed += removed;
        self.full = room < bytes.len() as u64;
        let bytes = &bytes[..usize::try_from(room).unwrap_or(bytes.len())];
        self.written += room;
        self.file.write_all(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn scratch(folder: &tempfile::TempDir) -> Arc<Scratch> {
        Arc::new(Scratch::new(folder.path().to_owned()))
    }

    const SMALL: OutputLimits = OutputLimits {
        head: 10,
        tail: 10,
        file: 100,
    };

    fn run(pieces: &[&str], kept: OutputLimits) -> (String, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let mut output = Output::new(scratch(&folder), kept);
        for piece in pieces {
            output.push(piece.as_bytes());
        }
        let text = output.text();
        let files = fs::read_dir(folder.path().join("output"))
            .map(|files| {
                files
                    .map(|file| fs::read_to_string(file.unwrap().path()).unwrap())
                    .collect()
            })
            .unwrap_or_default();
        (text, files)
    }

    #[test]
    fn short_output_is_complete_and_leaves_no_file() {
        let (text, files) = run(&["01234567", "89abc", "defghij"], SMALL);
        assert_eq!(text, "0123456789abcdefghij");
        assert_eq!(files.len(), 0);
    }

    #[test]
    fn long_output_is_shortened_and_stored_in_a_file() {
        let (text, files) = run(&["one\ntwo\n", "three\nfour\nfive\n", "six\n"], SMALL);
        assert!(
            text.starts_with("one\ntwo\n\n[… 11 of 28 bytes omitted"),
            "{text}"
        );
        assert!(text.ends_with("…]\nfive\nsix\n"), "{text}");
        assert_eq!(files, ["one\ntwo\nthree\nfour\nfive\nsix\n"]);
    }

    #[test]
    fn the_file_has_a_size_limit() {
        let (text, files) = run(&["x".repeat(150).as_str(), "y"], SMALL);
        assert!(text.contains("the first 100 bytes are in"), "{text}");
        assert_eq!(files, ["x".repeat(100)]);
    }

    #[test]
    fn an_unreferenced_file_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let outputs = folder.path().join("output");
        let mut output = Output::new(scratch(&folder), SMALL);
        output.push(&[b'x'; 50]);
        assert_eq!(fs::read_dir(&outputs).unwrap().count(), 1);
        drop(output);
        assert_eq!(fs::read_dir(&outputs).unwrap().count(), 0);
    }
}
