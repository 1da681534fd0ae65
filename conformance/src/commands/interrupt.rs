//! Work that can be interrupted: what was started ends with it, and no temporary directory is left.

use std::{process, thread, time::Duration};

use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{SignalKind, signal},
};

/// How long tasks have to let go of what they hold.
const LETTING_GO: Duration = Duration::from_secs(2);
/// How long the thread that kills what was started has for it. What it started itself dies with this process at the
/// latest, so this is for what those have started.
const KILLING: Duration = Duration::from_millis(200);

/// Runs to the end, on a runtime of its own. Interrupted, it ends the program as the signal would.
pub(super) fn block_on<T>(future: impl Future<Output = T>) -> anyhow::Result<T> {
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        tokio::select! {
            value = future => Ok(value),
            number = interrupted() => Err(number),
        }
    });
    match ended {
        Ok(value) => {
            // A read of the standard input cannot be called off.
            runtime.shutdown_background();
            Ok(value)
        }
        Err(number) => {
            runtime.shutdown_timeout(LETTING_GO);
            thread::sleep(KILLING);
            process::exit(128 + number)
        }
    }
}

/// The number of the signal that asks for the end.
async fn interrupted() -> i32 {
    let kinds = [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    ];
    let (mut signals, mut numbers) = (Vec::new(), Vec::new());
    for kind in kinds {
        // Without a handler the signal ends the program by itself.
        if let Ok(heard) = signal(kind) {
            signals.push(heard);
            numbers.push(kind.as_raw_value());
        }
    }
    std::future::poll_fn(|context| {
        for (heard, number) in signals.iter_mut().zip(&numbers) {
            if heard.poll_recv(context).is_ready() {
                return std::task::Poll::Ready(*number);
            }
        }
        std::task::Poll::Pending
    })
    .await
}

fn runtime() -> anyhow::Result<Runtime> {
    Ok(Builder::new_multi_thread().enable_all().build()?)
}
