//! Messages that the user sends while a prompt is running. They are delivered before the next model
//! call of that prompt, so that the user can correct the agent without aborting it.

use std::collections::VecDeque;

use parking_lot::Mutex;

use super::turn::Prompt;

/// The maximum number of messages that wait to be delivered, and their maximum total size in bytes.
const MAX_MESSAGES: usize = 16;
const MAX_BYTES: usize = 32 << 20;

/// Why a message cannot be delivered to the running prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SteerError {
    /// No prompt is running.
    #[error("no prompt is running")]
    Idle,
    /// Too many messages are waiting, or they are too large.
    #[error("too many messages are waiting for the agent, or they are too large")]
    Full,
}

/// Messages waiting to be delivered to the running prompt.
#[derive(Debug, Default)]
pub(super) struct Steering(Mutex<Messages>);

#[derive(Debug, Default)]
struct Messages {
    /// Whether a running prompt will take the messages.
    is_open: bool,
    waiting: VecDeque<Prompt>,
    bytes: usize,
}

impl Steering {
    /// Accepts messages from now on.
    pub(super) fn open(&self) {
        self.0.lock().is_open = true;
    }

    pub(super) fn push(&self, prompt: Prompt) -> Result<(), SteerError> {
        let mut messages = self.0.lock();
        if !messages.is_open {
            return Err(SteerError::Idle);
        }
        let bytes = messages.bytes + prompt.bytes();
        if messages.waiting.len() == MAX_MESSAGES || bytes > MAX_BYTES {
            return Err(SteerError::Full);
        }
        messages.bytes = bytes;
        messages.waiting.push_back(prompt);
        Ok(())
    }

    /// Takes all waiting messages.
    pub(super) fn take(&self) -> VecDeque<Prompt> {
        let mut messages = self.0.lock();
        messages.bytes = 0;
        std::mem::take(&mut messages.waiting)
    }

    /// Takes all waiting messages. If there are none, the prompt is over, so no more are accepted.
    /// Both happen under one lock, so that no message is accepted and then lost.
    pub(super) fn take_or_close(&self) -> VecDeque<Prompt> {
        let mut messages = self.0.lock();
        messages.is_open = !messages.waiting.is_empty();
        messages.bytes = 0;
        std::mem::take(&mut messages.waiting)
    }

    /// Accepts no more messages and drops those that are waiting.
    pub(super) fn close(&self) {
        *self.0.lock() = Messages::default();
    }
}
