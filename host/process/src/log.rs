//! The log for a process's standard error.

mod appender;
mod flood;
mod lines;
mod pump;
mod tail;
mod time;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use appender::Appender;
use flood::Flood;
use lines::Lines;
use parking_lot::Mutex;
pub use pump::pump;
use tail::Tail;
pub use time::untimed;

/// The limits of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogLimits {
    /// The maximum size of the file, in bytes. A write that would exceed it starts a new file; the
    /// full one is kept as `NAME.1`, replacing the previous one. Default: 1 MiB.
    pub file: u64,
    /// The maximum length of a line, in bytes. Longer lines are truncated, with a note of how many
    /// bytes are missing. Default: 8 KiB.
    pub line: usize,
    /// How many bytes may arrive in a burst before lines are dropped. Default: 256 KiB.
    pub burst: u64,
    /// How many bytes may arrive per second on average. Default: 64 KiB.
    pub rate: u64,
    /// How many bytes of the end of the stream are kept in memory for [`LogFile::tail`]. Default: 4
    /// KiB.
    pub tail: usize,
}

impl Default for LogLimits {
    fn default() -> Self {
        Self {
            file: 1 << 20,
            line: 8 << 10,
            burst: 256 << 10,
            rate: 64 << 10,
            tail: 4 << 10,
        }
    }
}

/// A log file with the standard error of one process and notes about it. Several processes may
/// share the file.
///
/// - Complete lines are appended in single writes under a lock, so writers never interleave. A
///   writer that finds the file rotated continues in the new one.
/// - Each line starts with the time at which it was written.
/// - Lines that arrive too fast are dropped, and a line in the log reports how many.
/// - A log that cannot be opened or written is not an error: lines are counted until it works
///   again, and [`problem`](Self::problem) reports what is wrong.
/// - The file is created with access for its owner only. Anything at its path that is not a
///   regular file, such as a symlink, is refused.
///
/// Clones are cheap and share the file. Buffered output is written when the last clone is dropped.
/// Logging a line blocks for as long as a small file write takes; [`pump`] does this on the
/// runtime's blocking threads.
#[derive(Debug, Clone)]
pub struct LogFile {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    /// Never locked during I/O, so that reading the tail does not wait for a disk.
    tail: Mutex<Tail>,
    writer: Mutex<Writer>,
}

#[derive(Debug)]
struct Writer {
    lines: Lines,
    flood: Flood,
    appender: Appender,
}

impl LogFile {
    /// Creates a log at this path. The file and its directory are created with the first line.
    pub fn new(path: impl Into<PathBuf>, limits: &LogLimits) -> Self {
        let path = path.into();
        Self {
            inner: Arc::new(Inner {
                path: path.clone(),
                tail: Mutex::new(Tail::new(limits.tail)),
                writer: Mutex::new(Writer {
                    lines: Lines::new(limits.line),
                    flood: Flood::new(limits.burst, limits.rate, Instant::now())
                        .per_line(time::STAMP_BYTES),
                    appender: Appender::new(path, limits.file),
                }),
            }),
        }
    }

    /// Appends bytes of the process's standard error, which need not end with a newline.
    pub fn feed(&self, bytes: &[u8]) {
        self.inner.tail.lock().push(bytes);
        self.inner.writer.lock().feed(bytes);
    }

    /// Writes a note from the host. Each line is marked `[zot]` and is never dropped as part of a
    /// flood.
    pub fn note(&self, text: &str) {
        let mut writer = self.inner.writer.lock();
        let mut out = Vec::new();
        for line in text.lines() {
            writer
                .lines
                .whole(format!("[zot] {line}").as_bytes(), &mut out);
        }
        writer.appender.append(&out);
    }

    /// Flushes the end of a stream: a last line without a newline, and the count of dropped lines.
    pub fn finish(&self) {
        self.inner.writer.lock().finish();
    }

    /// Returns the end of the standard error as text, to quote in error messages. Includes dropped
    /// lines, and starts at the beginning of a line if possible.
    pub fn tail(&self) -> String {
        self.inner.tail.lock().text()
    }

    /// Returns why lines cannot be written at present; `None` if they can.
    pub fn problem(&self) -> Option<String> {
        self.inner.writer.lock().appender.problem.clone()
    }

    /// Returns the path of the log.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Reports whether there are dropped lines whose count has not been written yet.
    fn is_flooded(&self) -> bool {
        self.inner.writer.lock().flood.dropped > 0
    }

    /// Writes the count of dropped lines after a pause in the stream.
    fn settle(&self) {
        self.inner.writer.lock().settle();
    }
}

impl Writer {
    fn feed(&mut self, bytes: &[u8]) {
        let mut out = Vec::new();
        let (flood, now) = (&mut self.flood, Instant::now());
        self.lines
            .feed(bytes, |line| flood.pass(line, now, &mut out));
        self.appender.append(&out);
    }

    fn settle(&mut self) {
        let mut out = Vec::new();
        self.flood.report(&mut out);
        self.appender.append(&out);
    }

    fn finish(&mut self) {
        let mut out = Vec::new();
        let (flood, now) = (&mut self.flood, Instant::now());
        self.lines.finish(|line| flood.pass(line, now, &mut out));
        self.flood.report(&mut out);
        self.appender.append(&out);
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.finish();
    }
}
