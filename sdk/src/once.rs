//! A value that is set once and waited for, by a thread or by a future.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

/// A slot for one value, shared by its clones.
#[derive(Debug)]
pub(crate) struct Once<T>(Arc<Inner<T>>);

#[derive(Debug)]
struct Inner<T> {
    state: Mutex<OnceState<T>>,
    set: Condvar,
}

#[derive(Debug)]
struct OnceState<T> {
    value: Option<T>,
    wakers: Vec<Waker>,
}

impl<T> Clone for Once<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Clone> Once<T> {
    pub(crate) fn new() -> Self {
        let state = Mutex::new(OnceState {
            value: None,
            wakers: Vec::new(),
        });
        let set = Condvar::new();
        Self(Arc::new(Inner { state, set }))
    }

    fn state(&self) -> MutexGuard<'_, OnceState<T>> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the value, unless it is set already.
    pub(crate) fn set(&self, value: T) {
        let mut state = self.state();
        if state.value.is_some() {
            return;
        }
        state.value = Some(value);
        let wakers = std::mem::take(&mut state.wakers);
        drop(state);
        self.0.set.notify_all();
        wakers.into_iter().for_each(Waker::wake);
    }

    pub(crate) fn get(&self) -> Option<T> {
        self.state().value.clone()
    }

    /// Waits for the value.
    pub(crate) fn wait(&self) -> T {
        let mut state = self.state();
        loop {
            if let Some(value) = &state.value {
                return value.clone();
            }
            let waited = self.0.set.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits for the value, up to `at_most`.
    pub(crate) fn wait_for(&self, at_most: Duration) -> Option<T> {
        let start = Instant::now();
        let mut state = self.state();
        while state.value.is_none() {
            let left = at_most.checked_sub(start.elapsed())?;
            let waited = self.0.set.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.value.clone()
    }

    pub(crate) fn poll(&self, context: &mut Context<'_>) -> Poll<T> {
        let mut state = self.state();
        match &state.value {
            Some(value) => Poll::Ready(value.clone()),
            None => {
                if !state.wakers.iter().any(|it| it.will_wake(context.waker())) {
                    state.wakers.push(context.waker().clone());
                }
                Poll::Pending
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_value_is_kept() {
        let once = Once::new();
        assert_eq!(once.wait_for(Duration::ZERO), None);
        once.set(1);
        once.set(2);
        assert_eq!((once.get(), once.wait()), (Some(1), 1));
    }

    #[test]
    fn a_waiting_thread_is_woken() {
        let once = Once::new();
        let same = once.clone();
        let waiting = std::thread::spawn(move || same.wait());
        once.set("now");
        assert_eq!(waiting.join().expect("no panic"), "now");
    }
}
