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

/// Why a call was not started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BeginError {
    /// A call with this id is running.
    IdInUse,
    /// The extension is shutting down.
    Closed,
}

impl RunningCalls {
    pub(crate) fn new(extension: &str) -> Self {
        Self {
            caller: Caller::new(extension),
            open: Mutex::new(Some(HashMap::new())),
        }
    }

    /// Adds a call.
    pub(crate) fn begin(&self, id: &Id, chain: &CallChain) -> Result<(), BeginError> {
        let mut open = self.open.lock();
        let calls = open.as_mut().ok_or(BeginError::Closed)?;
        if calls.contains_key(id) {
            return Err(BeginError::IdInUse);
        }
        calls.insert(id.clone(), chain.clone());
        Ok(())
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
