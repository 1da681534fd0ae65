use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};

use super::LogFile;

/// How much is read at once from one who says much, and so all the memory that a stream costs, besides one line and the tail.
const CHUNK: usize = 64 << 10;
/// How much from one who does not, as most never do.
const SMALL_CHUNK: usize = 2 << 10;

/// After this long without a byte a flood counts as over.
const CALM: Duration = Duration::from_secs(1);

/// Moves a stream, a process's standard error, to a log until it ends.
///
/// It goes on reading whether or not the log can be written, so that the process never blocks on a full pipe. Run it
/// as a task. The stream ends when the last process that holds it has ended or closed it, which may be later than the
/// exit of the process itself, or earlier. Needs a runtime with timers.
pub async fn pump(mut reader: impl AsyncRead + Unpin, log: &LogFile) {
    let mut chunk = vec![0; SMALL_CHUNK];
    let mut flooded = false;
    loop {
        let read = reader.read(&mut chunk);
        let read = if flooded {
            let Ok(read) = tokio::time::timeout(CALM, read).await else {
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
                let text = format!("cannot read the standard error: {error}");
                blocking(log, move |log| log.note(&text)).await;
                break;
            }
        }
    }
    blocking(log, LogFile::finish).await;
}

/// Writes where it may block. `None` when the runtime is shutting down.
async fn blocking<T: Send + 'static>(
    log: &LogFile,
    write: impl FnOnce(&LogFile) -> T + Send + 'static,
) -> Option<T> {
    let log = log.clone();
    tokio::task::spawn_blocking(move || write(&log)).await.ok()
}
