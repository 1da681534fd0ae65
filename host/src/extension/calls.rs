//! The tools that one extension is having run by `call_tool`, by the ids it chose.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use zot_protocol::Id;

use super::call_chain::CallChain;

#[derive(Debug, Default)]
pub(crate) struct Calls(Mutex<HashMap<Id, CallChain>>);

impl Calls {
    /// Notes a call; `false` if there is one with this id.
    pub(crate) fn begin(&self, id: &Id, chain: &CallChain) -> bool {
        let mut calls = self.lock();
        if calls.contains_key(id) {
            return false;
        }
        calls.insert(id.clone(), chain.clone());
        true
    }

    /// Forgets a call that has ended; `false` if it was taken back before.
    pub(crate) fn end(&self, id: &Id) -> bool {
        self.lock().remove(id).is_some()
    }

    /// Takes a call back; `false` if there is none with this id.
    pub(crate) fn cancel(&self, id: &Id) -> bool {
        let call = self.lock().remove(id);
        call.inspect(CallChain::cancel).is_some()
    }

    /// Takes all calls back, when nobody is left to be answered.
    pub(crate) fn cancel_all(&self) {
        let calls = std::mem::take(&mut *self.lock());
        calls.values().for_each(CallChain::cancel);
    }

    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Id, CallChain>> {
        // Nothing in here panics half-way through a change.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
