use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};

use super::LogFile;

/// The buffer size for a stream with a lot of output. Apart from one line and the tail, this is all
/// the memory that a stream uses.
const CHUNK: usize = 64 << 10;
/// The buffer size for all other streams, which are the vast majority.
const SMALL_CHUNK: usize = 2 << 10;

/// A flood ends after this long without output.
const FLOOD_PAUSE: Duration = Duration::from_secs(1);

/// Copies a stream, such as a process's standard error, to a log until it ends.
///
/// Keeps reading even if the log cannot be written, so that the process never blocks on a full
/// pipe. Run it as a task. The stream ends when the last process that has it open exits or closes
/// it, which may be before or after the process itself exits. Needs a tokio runtime with timers
/// enabled.
pub async fn pump(mut reader: impl AsyncRead + Unpin, log: &LogFile) {
    let mut chunk = vec![0; SMALL_CHUNK];
    let mut flooded = false;
    loop {
        let read = reader.read(&mut chunk);
        let read = if flooded {
            let Ok(read) = tokio::time::timeout(FLOOD_PAUSE, read).await else {
                blocking(log, LogFile::settle).await;
                flooded = false;
                continue;
            };
            read
        } else {
            read.await
        };
        match read {
            Ok(0) => break,
            Ok(n) => {
                let bytes = std::mem::take(&mut chunk);
                let feed = move |log: &LogFile| {
                    log.feed(&bytes[..n]);
                    (bytes, log.is_flooded())
                };
                let Some(back) = blocking(log, feed).await else {
                    return;
                };
                (chunk, flooded) = back;
                if n == chunk.len() {
                    chunk.resize(CHUNK, 0);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                let text = format!("cannot read standard error: {error}");
                blocking(log, move |log| log.note(&text)).await;
                break;
            }
        }
    }
    blocking(log, LogFile::finish).await;
}

/// Writes on a thread that may block. Returns `None` if the runtime is shutting down.
async fn blocking<T: Send + 'static>(
    log: &LogFile,
    write: impl FnOnce(&LogFile) -> T + Send + 'static,
) -> Option<T> {
    let log = log.clone();
    tokio::task::spawn_blocking(move || write(&log)).await.ok()
}
