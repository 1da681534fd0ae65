//! A line that is large: written into pieces as they are taken, so that there is never a second one of it.

use std::io::{self, BufWriter, Write};

use serde::Serialize;
use tokio::sync::mpsc;

use crate::clean;

/// How large a piece is.
const PIECE: usize = 64 * 1024;
/// So many may wait to be taken.
const WAITING: usize = 2;

/// A large line, piece by piece.
#[derive(Debug)]
pub(super) struct Large(mpsc::Receiver<Vec<u8>>);

impl Large {
    pub(super) fn new(line: impl Serialize + Send + 'static) -> Self {
        let (to, pieces) = mpsc::channel(WAITING);
        tokio::task::spawn_blocking(move || {
            let mut to = BufWriter::with_capacity(PIECE, Pieces(to));
            // It ends early where nobody takes the pieces any more.
            let _ = clean::write_json(&mut to, &line)
                .map_err(io::Error::from)
                .and_then(|()| to.write_all(b"\n"))
                .and_then(|()| to.flush());
        });
        Self(pieces)
    }

    /// The next piece; `None` after the last. May be cancelled.
    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
        self.0.recv().await
    }
}

struct Pieces(mpsc::Sender<Vec<u8>>);

impl Write for Pieces {
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

/// Takes so many bytes and no more.
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
