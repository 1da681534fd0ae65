//! Previews of changes to files, shown before and after a change is made.

use std::{
    fs::Metadata,
    io::{self, Read},
    time::Duration,
};

use similar::TextDiff;

use super::workspace::{FileError, Files, OpenedPath};
use crate::Preview;

/// The maximum size of a file whose changes are previewed, in bytes.
pub(super) const FILE: u64 = 4 << 20;
/// The maximum size of a preview, in bytes. Users do not read more than that.
const PREVIEW: usize = 256 << 10;
/// The time limit for a detailed diff. After that, it is finished with less detail.
const DIFFING: Duration = Duration::from_millis(500);

/// Reads a file. Returns its size if that is more than `limit`.
pub(super) fn read(
    files: &Files,
    path: &str,
    limit: u64,
) -> Result<Result<(Metadata, Vec<u8>), u64>, FileError> {
    let (file, found) = match files.open(path)? {
        OpenedPath::File(file, found) => (file, found),
        OpenedPath::Folder(_) => return Err(FileError::Folder(path.to_owned())),
    };
    if found.len() > limit {
        return Ok(Err(found.len()));
    }
    let mut content = Vec::new();
    let read = file.take(limit + 1).read_to_end(&mut content);
    read.map_err(|error| FileError::io(path, error))?;
    let size = content.len() as u64;
    Ok(if size > limit {
        Err(size)
    } else {
        Ok((found, content))
    })
}

/// Returns the difference as a preview. A preview must show everything: a diff that is too long, or
/// that cannot be shown because the content is not text, is replaced by the reason.
pub(super) fn of(path: &str, old: &[u8], new: &[u8]) -> Preview {
    if !is_text(old) || !is_text(new) {
        return Preview::Unavailable(format!("no diff: `{path}` is not plain UTF-8 text"));
    }
    match diff(path, old, new, PREVIEW) {
        (text, true) => Preview::Diff(text),
        (_, false) => Preview::Unavailable("no diff: it would be too long".to_owned()),
    }
}

/// Reports whether the content is UTF-8 text whose lines end with LF or CRLF. With other line
/// endings, a line of the diff would not be a line on the screen.
fn is_text(content: &[u8]) -> bool {
    let has_lone_cr =
        memchr::memchr_iter(b'\r', content).any(|at| content.get(at + 1) != Some(&b'\n'));
    std::str::from_utf8(content).is_ok() && !content.contains(&0) && !has_lone_cr
}

/// Returns a unified diff of at most `limit` bytes, and whether it is complete.
pub(super) fn diff(path: &str, old: &[u8], new: &[u8], limit: usize) -> (String, bool) {
    let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(new));
    let diff = TextDiff::configure()
        .timeout(DIFFING)
        .diff_lines(old.as_ref(), new.as_ref());
    // A newline in the name must not look like a line of the diff.
    let name = path.replace(char::is_control, "\u{fffd}");
    let mut shown = Vec::new();
    let full = diff
        .unified_diff()
        .context_radius(3)
        .header(&name, &name)
        .to_writer(Bounded(&mut shown, limit));
    (String::from_utf8_lossy(&shown).into_owned(), full.is_ok())
}

/// A writer that stops after a number of bytes.
struct Bounded<'b>(&'b mut Vec<u8>, usize);

impl io::Write for Bounded<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.1.saturating_sub(self.0.len()).min(bytes.len());
        self.0.extend_from_slice(&bytes[..room]);
        Ok(room)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
