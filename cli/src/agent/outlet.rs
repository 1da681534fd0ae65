//! Lines of JSON to standard output, from a thread of their own: a reader that stops reading holds up whoever tells,
//! and nothing else.

use std::{
    io::{self, Write},
    thread::{self, JoinHandle},
};

use serde::Serialize;
use tokio::sync::mpsc;

/// Lines that come at once go out together, up to so many bytes.
const BATCH: usize = 64 * 1024;
/// So many batches may wait to be written.
const WAITING: usize = 2;

/// Nobody reads any more.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("standard output is closed")]
pub(crate) struct Gone;

/// Where lines are told.
#[derive(Debug)]
pub(crate) struct Outlet {
    batch: Vec<u8>,
    to: mpsc::Sender<Vec<u8>>,
    writer: JoinHandle<io::Result<()>>,
}

impl Outlet {
    pub(crate) fn new() -> io::Result<Self> {
        let (to, mut batches) = mpsc::channel::<Vec<u8>>(WAITING);
        let writer = thread::Builder::new()
            .name("stdout".to_owned())
            .spawn(move || {
                let mut stdout = io::stdout().lock();
                while let Some(batch) = batches.blocking_recv() {
                    stdout.write_all(&batch)?;
                    stdout.flush()?;
                }
                Ok(())
            })?;
        Ok(Self {
            batch: Vec::new(),
            to,
            writer,
        })
    }

    /// Tells a line. It goes out with the next [`flush`](Self::flush), or when there are many.
    pub(crate) async fn tell(&mut self, line: &impl Serialize) -> Result<(), Gone> {
        serde_json::to_writer(&mut self.batch, line).expect("events and answers are JSON");
        self.batch.push(b'\n');
        if self.batch.len() < BATCH {
            return Ok(());
        }
        self.flush().await
    }

    /// Hands over what was told.
    pub(crate) async fn flush(&mut self) -> Result<(), Gone> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(4096));
        self.to.send(batch).await.map_err(|_| Gone)
    }

    /// Resolves when nobody reads any more, as far as that is known: somebody must have written.
    pub(crate) async fn gone(&self) {
        self.to.closed().await;
    }

    /// Waits until everything is written.
    pub(crate) async fn finish(mut self) -> Result<(), Gone> {
        self.flush().await?;
        drop(self.to);
        let joined = tokio::task::spawn_blocking(|| self.writer.join()).await;
        match joined {
            Ok(Ok(Ok(()))) => Ok(()),
            _ => Err(Gone),
        }
    }
}
