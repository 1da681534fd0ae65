//! The channel for the agent's events.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use zot_protocol::rpc;

use crate::extension::notes::HeldNotes;

/// The maximum number of unread events in the channel.
const CAPACITY: usize = 64;

/// Sends events in order. The channel is bounded to apply back-pressure: a slow reader slows down
/// the agent and the provider's socket instead of building up a backlog.
#[derive(Debug, Clone)]
pub(crate) struct Events {
    to: mpsc::Sender<rpc::Event>,
    sent: Arc<AtomicU64>,
    handled: watch::Receiver<u64>,
    /// Cancels the operation that sends the events.
    cancel: CancellationToken,
}

impl Events {
    /// Creates the sender and its stream. `cancel` cancels the operation that sends the events.
    pub(crate) fn channel(cancel: CancellationToken) -> (Self, EventStream) {
        let (to, from) = mpsc::channel(CAPACITY);
        let handled = watch::Sender::new(0);
        let events = Self {
            to,
            sent: Arc::default(),
            handled: handled.subscribe(),
            cancel,
        };
        let stream = EventStream {
            from,
            received: 0,
            handled,
        };
        (events, stream)
    }

    /// Sends an event. Does nothing if the stream is gone.
    pub(crate) async fn send(&self, event: impl Into<rpc::Event>) {
        if self.to.send(event.into()).await.is_ok() {
            self.sent.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Passes on notes about an event that has just been sent, after its reader has handled it. A
    /// reader that has stopped reading cannot hold up a cancelled operation.
    pub(crate) async fn release(&self, notes: HeldNotes) {
        if notes.any() {
            let sent = self.sent.load(Ordering::SeqCst);
            let mut handled = self.handled.clone();
            tokio::select! {
                // Fails if the stream is gone, in which case the order no longer matters.
                _ = handled.wait_for(|handled| *handled >= sent) => {}
                () = self.cancel.cancelled() => {}
            }
        }
    }

    /// Resolves when the stream is gone.
    pub(crate) async fn closed(&self) {
        self.to.closed().await;
    }
}

/// The events of a running prompt or compaction, in order. Dropping the stream cancels the
/// operation.
#[derive(Debug)]
pub struct EventStream {
    from: mpsc::Receiver<rpc::Event>,
    received: u64,
    /// The number of events that the caller has handled: those it received before its latest call
    /// to `next` or `ready`.
    handled: watch::Sender<u64>,
}

impl EventStream {
    /// Waits for the next event. Returns `None` after the last one. Notes about an event reach the
    /// [`Hooks`](crate::Hooks) only when the caller asks for the next event, so handle each event
    /// before that.
    pub async fn next(&mut self) -> Option<rpc::Event> {
        self.mark_handled();
        let event = self.from.recv().await;
        self.received += u64::from(event.is_some());
        event
    }

    /// Returns the next event if it is already available.
    pub fn ready(&mut self) -> Option<rpc::Event> {
        self.mark_handled();
        let event = self.from.try_recv().ok();
        self.received += u64::from(event.is_some());
        event
    }

    fn mark_handled(&self) {
        self.handled.send_if_modified(|handled| {
            let is_new = *handled != self.received;
            *handled = self.received;
            is_new
        });
    }
}
