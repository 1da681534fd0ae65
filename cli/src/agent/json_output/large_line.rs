//! A large line, serialised piece by piece, so that its complete JSON is never in memory.

use std::io::{self, BufWriter, Write};

use serde::Serialize;
use tokio::sync::mpsc;

use crate::clean;

const PIECE: usize = 64 * 1024;
/// Maximum number of pieces that are serialised ahead of the writer.
const CAPACITY: usize = 2;

#[derive(Debug)]
pub(super) struct LargeLine(mpsc::Receiver<Vec<u8>>);

impl LargeLine {
    pub(super) fn new(line: impl Serialize + Send + 'static) -> Self {
        let (to, pieces) = mpsc::channel(CAPACITY);
        tokio::task::spawn_blocking(move || {
            let mut to = BufWriter::with_capacity(PIECE, PieceSender(to));
            // Ignore errors: a write fails only if the receiver was dropped, and then the rest of
            // the line is not needed.
            let _ = clean::write_json(&mut to, &line)
                .map_err(io::Error::from)
                .and_then(|()| to.write_all(b"\n"))
                .and_then(|()| to.flush());
        });
        Self(pieces)
    }

    /// Returns the next piece; `None` after the last. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
        self.0.recv().await
    }
}

struct PieceSender(mpsc::Sender<Vec<u8>>);

impl Write for PieceSender {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = &bytes[..bytes.len().min(PIECE)];
        match self.0.blocking_send(piece.to_vec()) {
            Ok(()) => Ok(piece.len()),
            Err(_) => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A writer that fails when a maximum number of bytes is exceeded.
pub(super) struct Bounded<'v> {
    pub(super) to: &'v mut Vec<u8>,
    pub(super) left: usize,
}

impl Write for Bounded<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.left {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.left -= bytes.len();
        self.to.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
