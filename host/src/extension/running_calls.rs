//! The running `call_tool` calls of one extension.

use parking_lot::Mutex;
use zot_protocol::Id;

use super::call_chain::{CallChain, Caller};

#[derive(Debug)]
pub(crate) struct RunningCalls {
    /// The extension, as the caller in its call chains.
    pub(crate) caller: Caller,
    /// `None` once the extension is shutting down or gone; it can make no more calls.
    open: Mutex<Option<Vec<RunningCall>>>,
}

#[derive(Debug)]
struct RunningCall {
    /// The id that the extension chose.
    id: Id,
    chain: CallChain,
    /// Whether the extension has cancelled it. It still counts until it has ended, but gets no
    /// answer, and its id can be used again.
    is_cancelled: bool,
}

impl RunningCalls {
    pub(crate) fn new(extension: &str) -> Self {
        Self {
            caller: Caller::new(extension),
            open: Mutex::new(Some(Vec::new())),
        }
    }

    /// Adds a call, whose id must not be in use. Returns false if the extension is shutting down.
    pub(crate) fn begin(&self, id: &Id, chain: &CallChain) -> bool {
        let mut open = self.open.lock();
        let Some(calls) = open.as_mut() else {
            return false;
        };
        calls.push(RunningCall {
            id: id.clone(),
            chain: chain.clone(),
            is_cancelled: false,
        });
        true
    }

    /// Reports whether a call with this id is running and has not been cancelled.
    pub(crate) fn is_running(&self, id: &Id) -> bool {
        let open = self.open.lock();
        let mut calls = open.iter().flatten();
        calls.any(|call| call.id == *id && !call.is_cancelled)
    }

    /// Removes a call that has ended. Returns whether the extension waits for an answer.
    pub(crate) fn end(&self, chain: &CallChain) -> bool {
        let mut open = self.open.lock();
        let Some(calls) = open.as_mut() else {
            return false;
        };
        let at = calls.iter().position(|call| call.chain.is(chain));
        at.is_some_and(|at| !calls.swap_remove(at).is_cancelled)
    }

    /// Cancels a call. Returns false if there is none with this id.
    pub(crate) fn cancel(&self, id: &Id) -> bool {
        let mut open = self.open.lock();
        let mut calls = open.iter_mut().flatten();
        let Some(call) = calls.find(|call| call.id == *id && !call.is_cancelled) else {
            return false;
        };
        call.is_cancelled = true;
        call.chain.cancel();
        true
    }

    /// Cancels all calls and accepts no more.
    pub(crate) fn close(&self) {
        let calls = self.open.lock().take().unwrap_or_default();
        for call in calls {
            call.chain.cancel();
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.open.lock().is_none()
    }

    /// The number of calls that have not ended, including cancelled ones.
    pub(crate) fn count(&self) -> usize {
        self.open.lock().as_ref().map_or(0, Vec::len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancelled_call_counts_until_it_ends_and_does_not_end_another_with_its_id() {
        let calls = RunningCalls::new("weather");
        let (first, second) = (CallChain::new("a"), CallChain::new("a"));
        let id = Id::from("x");
        assert!(calls.begin(&id, &first) && calls.is_running(&id));
        assert!(calls.cancel(&id) && !calls.cancel(&id));
        assert!(!calls.is_running(&id) && calls.begin(&id, &second));
        assert_eq!(calls.count(), 2);
        assert!(!calls.end(&first), "it gets no answer");
        assert!(calls.is_running(&id) && !second.is_cancelled());
        assert_eq!(calls.count(), 1);
        calls.close();
        assert!(second.is_cancelled() && !calls.end(&second));
        assert!(!calls.begin(&id, &first) && calls.is_closed());
    }
}
