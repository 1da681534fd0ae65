//! Reads a command's output, stores it, and reports progress.

use std::time::{Duration, Instant};

use tokio::{io::AsyncReadExt, process::ChildStdout, time::timeout};

use super::{lines::Lines, output::Output};

/// After the shell has exited, its output counts as complete when nothing arrives for this long.
const IDLE: Duration = Duration::from_millis(20);
/// The maximum time to keep draining the pipe, since background processes may still write to it.
const DRAIN: Duration = Duration::from_millis(200);

pub(in crate::tool) struct Pump<P> {
    stdout: Option<ChildStdout>,
    buffer: Vec<u8>,
    /// `None` only while a blocking write is running.
    output: Option<Output>,
    lines: Lines<P>,
}

impl<P: FnMut(String)> Pump<P> {
    pub(in crate::tool) fn new(stdout: Option<ChildStdout>, output: Output, progress: P) -> Self {
        Self {
            stdout,
            buffer: vec![0; 64 << 10],
            output: Some(output),
            lines: Lines::new(progress),
        }
    }

    /// Reads output until `over` resolves.
    pub(in crate::tool) async fn until<T>(&mut self, over: impl Future<Output = T>) -> T {
        let mut over = std::pin::pin!(over);
        loop {
            // Check for the end first, so that endless output cannot delay it.
            tokio::select! {
                biased;
                result = &mut over => return result,
                size = read(&mut self.stdout, &mut self.buffer) => self.moved(size).await,
            }
        }
    }

    /// Reads what is left in the pipe.
    pub(in crate::tool) async fn drain(&mut self) {
        let start = Instant::now();
        while self.stdout.is_some() && start.elapsed() < DRAIN {
            match timeout(IDLE, read(&mut self.stdout, &mut self.buffer)).await {
                Ok(size) => self.moved(size).await,
                Err(_) => return,
            }
        }
    }

    /// Returns the output for the model.
    pub(super) fn finish(mut self) -> String {
        self.lines.finish();
        self.output.map(Output::text).unwrap_or_default()
    }

    async fn moved(&mut self, size: usize) {
        let bytes = &self.buffer[..size];
        self.lines.push(bytes, Instant::now());
        let Some(mut output) = self.output.take() else {
            return;
        };
        if !output.writes(size) {
            output.push(bytes);
            self.output = Some(output);
            return;
        }
        let bytes = bytes.to_vec();
        let writing = tokio::task::spawn_blocking(move || {
            output.push(&bytes);
            output
        });
        self.output = writing.await.ok();
    }
}

/// Reads the next bytes. Never resolves without a pipe; drops the pipe at its end.
async fn read(stdout: &mut Option<ChildStdout>, buffer: &mut [u8]) -> usize {
    let Some(pipe) = stdout else {
        return std::future::pending().await;
    };
    match pipe.read(buffer).await {
        Ok(size) if size > 0 => size,
        _ => {
            *stdout = None;
            0
        }
    }
}
