//! Where the agent tells what it does.

use tokio::sync::mpsc;
use zot_protocol::rpc;

/// Told in order. Whoever does not take them in holds up the agent, and with it the provider's socket: nothing piles up.
#[derive(Debug, Clone)]
pub(crate) struct Events(mpsc::Sender<rpc::Event>);

/// How many events may wait to be taken in.
const WAITING: usize = 64;

impl Events {
    /// An outlet, and the other end of it.
    pub(crate) fn channel() -> (Self, mpsc::Receiver<rpc::Event>) {
        let (to, from) = mpsc::channel(WAITING);
        (Self(to), from)
    }

    /// Tells. Where nobody listens any more, nothing is told.
    pub(crate) async fn tell(&self, event: impl Into<rpc::Event>) {
        let _ = self.0.send(event.into()).await;
    }

    /// Resolves when nobody listens any more.
    pub(crate) async fn deserted(&self) {
        self.0.closed().await;
    }
}
