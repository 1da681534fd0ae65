//! The running `call_tool` calls of one extension, by the ids that it chose.

use std::collections::HashMap;

use parking_lot::Mutex;
use zot_protocol::Id;

use super::call_chain::{CallChain, Caller};

#[derive(Debug)]
pub(crate) struct RunningCalls {
    /// The extension, as the caller in its call chains.
    pub(crate) caller: Caller,
    /// `None` once the extension is shutting down or gone; it can make no more calls.
    open: Mutex<Option<HashMap<Id, CallChain>>>,
}

impl RunningCalls {
    pub(crate) fn new(extension: &str) -> Self {
        Self {
            caller: Caller::new(extension),
            open: Mutex::new(Some(HashMap::new())),
        }
    }

    /// Adds a call, whose id must not be in use. Returns false if the extension is shutting down.
    pub(crate) fn begin(&self, id: &Id, chain: &CallChain) -> bool {
        let mut open = self.open.lock();
        let Some(calls) = open.as_mut() else {
            return false;
        };
        calls.insert(id.clone(), chain.clone());
        true
    }

    pub(crate) fn is_running(&self, id: &Id) -> bool {
        let open = self.open.lock();
        open.as_ref().is_some_and(|calls| calls.contains_key(id))
    }

    /// Removes a finished call. Returns false if it has already been cancelled.
    pub(crate) fn end(&self, id: &Id) -> bool {
        self.remove(id).is_some()
    }

    /// Cancels a call. Returns false if there is none with this id.
    pub(crate) fn cancel(&self, id: &Id) -> bool {
        self.remove(id).inspect(CallChain::cancel).is_some()
    }

    /// Cancels all calls and accepts no more.
    pub(crate) fn close(&self) {
        let calls = self.open.lock().take().unwrap_or_default();
        calls.values().for_each(CallChain::cancel);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.open.lock().is_none()
    }

    pub(crate) fn count(&self) -> usize {
        self.open.lock().as_ref().map_or(0, HashMap::len)
    }

    fn remove(&self, id: &Id) -> Option<CallChain> {
        self.open.lock().as_mut()?.remove(id)
    }
}
