//! Return types of handlers: a value, a `Result`, or a future of either.

use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
};

/// A return type of a handler: anything that converts into `Out`, or a future of it.
///
/// You never need to name this trait. It lets one method accept both plain and async closures.
/// `When` is either [`Now`] or [`Later`] and is always inferred.
///
/// The future runs on the thread of its request, so it need not be `Send` and may block. There is
/// no reactor: for a library that needs tokio, create your own runtime and call its `block_on` in a
/// plain closure.
#[diagnostic::on_unimplemented(
    message = "a handler cannot return `{Self}` as a `{Out}`",
    label = "`{Self}` does not convert into `{Out}`",
    note = "a handler returns something that converts into `{Out}`, a `Result` of it, or a future of either"
)]
pub trait Answer<Out, When> {
    /// Returns the answer, waiting for it if necessary.
    fn resolve(self) -> Out;
}

/// The handler returns its answer directly.
#[derive(Debug)]
pub enum Now {}

/// The handler returns a future.
#[derive(Debug)]
pub enum Later {}

impl<Out, T: Into<Out>> Answer<Out, Now> for T {
    fn resolve(self) -> Out {
        self.into()
    }
}

impl<Out, F: Future<Output: Into<Out>>> Answer<Out, Later> for F {
    fn resolve(self) -> Out {
        block_on(self).into()
    }
}

/// The result of a handler that sends no reply, such as an event or panel key handler. The handler
/// can also return a `Result`; an error is logged.
#[derive(Debug)]
pub struct Handled(pub(crate) Result<(), String>);

impl From<()> for Handled {
    fn from((): ()) -> Self {
        Self(Ok(()))
    }
}

impl<E: std::fmt::Display> From<Result<(), E>> for Handled {
    fn from(result: Result<(), E>) -> Self {
        Self(result.map_err(|error| error.to_string()))
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future to completion on this thread.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        thread::park();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_future_woken_by_another_thread_completes() {
        let mut polled = false;
        let future = std::future::poll_fn(move |context| {
            if polled {
                return Poll::Ready(7);
            }
            polled = true;
            let waker = context.waker().clone();
            thread::spawn(move || waker.wake());
            Poll::Pending
        });
        assert_eq!(block_on(future), 7);
    }

    #[test]
    fn handlers_can_return_values_results_and_futures() {
        fn resolve<W>(answer: impl Answer<Handled, W>) -> Result<(), String> {
            answer.resolve().0
        }
        assert_eq!(resolve(()), Ok(()));
        assert_eq!(resolve(Err::<(), _>("no")), Err("no".into()));
        assert_eq!(
            resolve(async { Err::<(), _>("later") }),
            Err("later".into())
        );
    }
}
