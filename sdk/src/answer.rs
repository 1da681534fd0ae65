//! What a handler may return: a value, a `Result`, or a future of either.

use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
};

/// What a handler that owes an `Out` may return: anything that becomes one, at once or in a future.
///
/// You never name this trait. It is what lets one method take plain closures and async ones; `When` is either [`Now`] or
/// [`Later`] and always inferred.
///
/// The future is run on the thread of its request, so it need not be `Send` and may block. It brings no reactor: with a
/// library that needs tokio's, keep a runtime of your own and call its `block_on` in a plain closure.
#[diagnostic::on_unimplemented(
    message = "a handler cannot answer a `{Out}` with `{Self}`",
    label = "returns `{Self}`, which does not become a `{Out}`",
    note = "a handler returns what becomes a `{Out}`, a `Result` of it, or a future of either"
)]
pub trait Answer<Out, When> {
    /// Waits for the answer, where it is not there yet.
    fn resolve(self) -> Out;
}

/// The handler has answered when it returns.
#[derive(Debug)]
pub enum Now {}

/// The handler has returned a future.
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

/// The end of a handler that owes nobody a reply: of an event, of a panel's key. A `Result` may end one too; its error
/// goes to the log.
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

/// Runs a future on this thread.
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
    fn a_future_that_is_woken_by_another_thread_ends() {
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
    fn plain_values_results_and_futures_are_answers() {
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
