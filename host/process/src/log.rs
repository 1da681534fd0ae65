//! The log that a process's standard error goes to.

mod appender;
mod flood;
mod lines;
mod pump;
mod tail;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use appender::Appender;
use flood::Flood;
use lines::Lines;
pub use pump::pump;
use tail::Tail;

/// The bounds of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogLimits {
    /// The largest size of the file, in bytes. A write that would pass it begins a new file, and the full one is kept
    /// as `NAME.1` in place of the one before. 1 MiB.
    pub file: u64,
    /// The longest line, in bytes. Longer ones are cut, and say how much was left out. 8 KiB.
    pub line: usize,
    /// How many bytes may come at once before lines are left out. 256 KiB.
    pub burst: u64,
    /// How many bytes may come per second in the long run. 64 KiB.
    pub rate: u64,
    /// How many bytes of the end of the stream are kept in memory for [`LogFile::tail`]. 4 KiB.
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

/// A log file that several processes may share, filled with the standard error of one process and with notes about it.
///
/// - Whole lines are appended in single writes under a lock, so writers never interleave; whoever finds that another
///   has rotated the file goes on in the new one.
/// - What comes too fast is counted, not written, and one line says how many lines were left out.
/// - A log that cannot be opened or written is no error for anybody: lines are counted until it works again, and
///   [`problem`](Self::problem) says what is wrong.
/// - The file is created for its owner alone; anything at its path that is not a file, a symlink above all, is refused.
///
/// Clones are cheap and share the file. What is left over is written when the last one is dropped. Writing blocks, for
/// as long as a small write to a file takes; [`pump`] does it on the runtime's threads for blocking work.
#[derive(Debug, Clone)]
pub struct LogFile {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    /// Locked without any I/O meanwhile, so that asking for the tail never waits for a disk.
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
    /// A log at this path. The file and its directory are made when the first line is written.
    pub fn new(path: impl Into<PathBuf>, limits: &LogLimits) -> Self {
        let path = path.into();
        Self {
            inner: Arc::new(Inner {
                path: path.clone(),
                tail: Mutex::new(Tail::new(limits.tail)),
                writer: Mutex::new(Writer {
                    lines: Lines::new(limits.line),
                    flood: Flood::new(limits.burst, limits.rate, Instant::now()),
                    appender: Appender::new(path, limits.file),
                }),
            }),
        }
    }

    /// Adds bytes of the process's standard error, which need not end at a line's end.
    pub fn feed(&self, bytes: &[u8]) {
        lock(&self.inner.tail).push(bytes);
        self.writer().feed(bytes);
    }

    /// Writes a line of the host's own, marked `[zot]`. It is never left out for a flood.
    pub fn note(&self, text: &str) {
        let mut writer = self.writer();
        let mut out = Vec::new();
        for line in text.lines() {
            writer
                .lines
                .whole(format!("[zot] {line}").as_bytes(), &mut out);
        }
        writer.appender.append(&out);
    }

    /// Writes what is left over at the end of a stream: a last line without its newline, and the count of a flood.
    pub fn finish(&self) {
        self.writer().finish();
    }

    /// The end of the standard error, as text: what an error message about the process quotes. It has everything that
    /// was fed, left out of the file or not, beginning at a line's start where that is possible.
    pub fn tail(&self) -> String {
        lock(&self.inner.tail).text()
    }

    /// Why lines cannot be written at present.
    pub fn problem(&self) -> Option<String> {
        self.writer().appender.problem().map(ToOwned::to_owned)
    }

    /// The log's path.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        lock(&self.inner.writer)
    }

    /// Whether lines have been left out and not yet counted in the file.
    fn is_flooded(&self) -> bool {
        self.writer().flood.left_out() > 0
    }

    /// Says that a flood is over, when nothing has come for a while.
    fn settle(&self) {
        self.writer().settle();
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

/// A panic in another thread leaves at worst half a line behind.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The path of the older file beside `path`.
fn older(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".1");
    name.into()
}
