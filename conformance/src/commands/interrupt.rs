//! Runs a future that Ctrl-C and other signals can interrupt. An interrupt stops all started
//! processes and leaves no temporary directory behind.

use std::{thread, time::Duration};

use tokio::{
    runtime::Builder,
    signal::unix::{SignalKind, signal},
};

/// How long tasks may take to release their resources.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);
/// How long the spawner's thread may take to kill the started processes. Its direct children die
/// with this process anyway; this time is for their descendants.
const KILL_TIMEOUT: Duration = Duration::from_millis(200);

/// A signal ended the program.
#[derive(Debug, thiserror::Error)]
#[error("interrupted by signal {0}")]
pub(crate) struct Interrupted(i32);

impl Interrupted {
    /// The exit status that a shell reports for the signal.
    pub(crate) fn status(&self) -> u8 {
        u8::try_from(128 + self.0).unwrap_or(u8::MAX)
    }
}

/// Runs a future to completion on its own runtime. If interrupted, stops its tasks and returns
/// [`Interrupted`].
pub(super) fn block_on<T>(future: impl Future<Output = T>) -> anyhow::Result<T> {
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let ended = runtime.block_on(async {
        tokio::select! {
            value = future => Ok(value),
            number = interrupted() => Err(number),
        }
    });
    match ended {
        Ok(value) => {
            // Do not wait for tasks, because a pending read of stdin cannot be cancelled.
            runtime.shutdown_background();
            Ok(value)
        }
        Err(number) => {
            runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
            thread::sleep(KILL_TIMEOUT);
            Err(Interrupted(number).into())
        }
    }
}

/// Waits for a signal that ends the program, and returns its number.
async fn interrupted() -> i32 {
    let kinds = [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    ];
    let (mut signals, mut numbers) = (Vec::new(), Vec::new());
    for kind in kinds {
        // If no handler can be installed, the signal's default action still terminates the program.
        if let Ok(listener) = signal(kind) {
            signals.push(listener);
            numbers.push(kind.as_raw_value());
        }
    }
    std::future::poll_fn(|context| {
        for (listener, number) in signals.iter_mut().zip(&numbers) {
            if listener.poll_recv(context).is_ready() {
                return std::task::Poll::Ready(*number);
            }
        }
        std::task::Poll::Pending
    })
    .await
}
