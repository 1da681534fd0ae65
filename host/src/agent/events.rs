//! The channel for the agent's events.

use tokio::sync::mpsc;
use zot_protocol::rpc;

/// Sends events in order. The channel is bounded to apply back-pressure: a slow reader slows down
/// the agent and the provider's socket instead of building up a backlog.
#[derive(Debug, Clone)]
pub(crate) struct Events(mpsc::Sender<rpc::Event>);

/// The maximum number of unread events in the channel.
const CAPACITY: usize = 64;

impl Events {
    /// Creates the sender and its receiver.
    pub(crate) fn channel() -> (Self, mpsc::Receiver<rpc::Event>) {
        let (to, from) = mpsc::channel(CAPACITY);
        (Self(to), from)
    }

    /// Sends an event. Does nothing if the receiver is gone.
    pub(crate) async fn send(&self, event: impl Into<rpc::Event>) {
        let _ = self.0.send(event.into()).await;
    }

    /// Resolves when the receiver is gone.
    pub(crate) async fn closed(&self) {
        self.0.closed().await;
    }
}
