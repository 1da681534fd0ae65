//! Reads the output pipes of a process: the lines of stdout, and the last part of stderr.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    process::{ChildStderr, ChildStdout},
    sync::{
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
        watch,
    },
};
use zot_protocol::limits::FRAME_BYTES;

/// Maximum number of bytes of stderr to store.
const STDERR_BYTES: usize = 64 << 10;
/// Limits on the output of one session, after which we stop reading.
const OUTPUT_BYTES: usize = 256 << 20;
const OUTPUT_LINES: usize = 50_000;

/// A line and when it arrived.
pub(super) struct Arrival {
    pub(super) at: Duration,
    pub(super) line: RawLine,
}

/// The bytes of a line, without its newline.
pub(super) enum RawLine {
    Whole(Vec<u8>),
    /// A line that exceeds the maximum length of a frame: its beginning and its full length.
    TooLong {
        start: Vec<u8>,
        length: usize,
    },
}

/// Reads stdout to the end in a separate task.
pub(super) struct Reader {
    stalled: watch::Sender<bool>,
    gave_up: Arc<AtomicBool>,
    #[cfg(target_os = "linux")]
    pipe: Option<rustix::fd::OwnedFd>,
}

impl Reader {
    pub(super) fn start(
        stdout: Option<ChildStdout>,
        started: Instant,
    ) -> (Self, UnboundedReceiver<Arrival>) {
        let (to, arrivals) = unbounded_channel();
        let (stalled, watching) = watch::channel(false);
        let gave_up = Arc::new(AtomicBool::new(false));
        #[cfg(target_os = "linux")]
        let pipe = stdout.as_ref().and_then(|stdout| {
            use std::os::fd::AsFd;
            stdout.as_fd().try_clone_to_owned().ok()
        });
        if let Some(stdout) = stdout {
            tokio::spawn(read(stdout, to, watching, started, Arc::clone(&gave_up)));
        }
        let reader = Self {
            stalled,
            gave_up,
            #[cfg(target_os = "linux")]
            pipe,
        };
        (reader, arrivals)
    }

    /// Reports whether the reader stopped because there was too much output.
    pub(super) fn gave_up(&self) -> bool {
        self.gave_up.load(Ordering::Relaxed)
    }

    pub(super) fn stall(&self, stalled: bool) {
        self.stalled.send_replace(stalled);
    }

    /// Stops reading for a while, in the background.
    pub(super) fn stall_for(&self, during: Duration) {
        self.stall(true);
        let stalled = self.stalled.clone();
        tokio::spawn(async move {
            tokio::time::sleep(during).await;
            stalled.send_replace(false);
        });
    }

    /// Shrinks the pipe to one page, which is small enough to show whether the process waits for
    /// its reader. Does nothing on systems without resizable pipes.
    pub(super) fn narrow(&self) {
        #[cfg(target_os = "linux")]
        if let Some(pipe) = &self.pipe {
            let _ = rustix::pipe::fcntl_setpipe_size(pipe, 4096);
        }
    }
}

async fn read(
    stdout: ChildStdout,
    to: UnboundedSender<Arrival>,
    mut stalled: watch::Receiver<bool>,
    started: Instant,
    gave_up: Arc<AtomicBool>,
) {
    // The buffer is small, so that a stalled reader has buffered at most one page.
    let mut stdout = BufReader::with_capacity(4096, stdout);
    let mut line = Vec::new();
    let mut length = 0;
    let (mut total, mut lines) = (0, 0);
    loop {
        if *stalled.borrow_and_update() && stalled.wait_for(|stalled| !stalled).await.is_err() {
            return;
        }
        let chunk = tokio::select! {
            chunk = stdout.fill_buf() => chunk,
            changed = stalled.changed() => match changed {
                Ok(()) => continue,
                Err(_) => return,
            },
        };
        let chunk = chunk.unwrap_or_default();
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let part = &chunk[..end.unwrap_or(chunk.len())];
        length += part.len();
        let room = (FRAME_BYTES + 2).saturating_sub(line.len());
        line.extend_from_slice(&part[..part.len().min(room)]);
        let ended = chunk.is_empty();
        let used = end.map_or(chunk.len(), |end| end + 1);
        total += used;
        stdout.consume(used);
        if end.is_some() || (ended && length > 0) {
            let bytes = std::mem::take(&mut line);
            // A carriage return before the newline is not counted.
            let whole =
                length <= FRAME_BYTES || (length == FRAME_BYTES + 1 && bytes.ends_with(b"\r"));
            let line = if whole {
                RawLine::Whole(bytes)
            } else {
                RawLine::TooLong {
                    start: bytes[..super::SHOWN_BYTES].to_vec(),
                    length,
                }
            };
            length = 0;
            lines += 1;
            let at = started.elapsed();
            if to.send(Arrival { at, line }).is_err() {
                return;
            }
        }
        if total > OUTPUT_BYTES || lines > OUTPUT_LINES {
            // Set this before the channel closes, because the receiver checks it then.
            gave_up.store(true, Ordering::Relaxed);
            return;
        }
        if ended {
            return;
        }
    }
}

/// Reads stderr to the end and stores the last part.
pub(super) struct Stderr {
    kept: Arc<Mutex<Vec<u8>>>,
    ended: watch::Receiver<bool>,
}

impl Stderr {
    pub(super) fn start(stderr: Option<ChildStderr>) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (end, ended) = watch::channel(stderr.is_none());
        if let Some(mut stderr) = stderr {
            let kept = Arc::clone(&kept);
            tokio::spawn(async move {
                let mut chunk = vec![0; 8192];
                while let Ok(n @ 1..) = stderr.read(&mut chunk).await {
                    let mut kept = kept.lock();
                    kept.extend_from_slice(&chunk[..n]);
                    let over = kept.len().saturating_sub(STDERR_BYTES);
                    kept.drain(..over);
                }
                end.send_replace(true);
            });
        }
        Self { kept, ended }
    }

    /// Waits until the end of stderr.
    pub(super) async fn ended(&self) {
        let mut ended = self.ended.clone();
        let _ = ended.wait_for(|ended| *ended).await;
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.kept.lock())
            .trim_end()
            .to_owned()
    }
}
