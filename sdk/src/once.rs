//! A value that is set once. A thread or a future can wait for it.

use std::{
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use parking_lot::{Condvar, Mutex};

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

    /// Sets the value, unless it is set already.
    pub(crate) fn set(&self, value: T) {
        let mut state = self.0.state.lock();
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
        self.0.state.lock().value.clone()
    }

    /// Waits for the value.
    pub(crate) fn wait(&self) -> T {
        let mut state = self.0.state.lock();
        loop {
            if let Some(value) = &state.value {
                return value.clone();
            }
            self.0.set.wait(&mut state);
        }
    }

    /// Waits for the value, up to `at_most`.
    pub(crate) fn wait_for(&self, at_most: Duration) -> Option<T> {
        let mut state = self.0.state.lock();
        let is_unset = |state: &mut OnceState<T>| state.value.is_none();
        self.0.set.wait_while_for(&mut state, is_unset, at_most);
        state.value.clone()
    }

    pub(crate) fn poll(&self, context: &mut Context<'_>) -> Poll<T> {
        let mut state = self.0.state.lock();
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
