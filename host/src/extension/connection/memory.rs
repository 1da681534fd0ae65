//! A connection without a process, for tests on paused time: a clock that is paused and a real child go their own ways.

use std::sync::Arc;

use tokio::io::{DuplexStream, duplex};
use zot_protocol::{HelloAck, limits::Limits};

use super::{Connection, Listener};
use crate::extension::{
    outbox::{Budget, Outbox},
    pending::Ids,
};

/// As much as a pipe holds on Linux.
const PIPE_BYTES: usize = 64 * 1024;

/// The extension's ends of the pipes.
#[derive(Debug)]
#[non_exhaustive]
pub struct Peer {
    /// What the host says.
    pub stdin: DuplexStream,
    /// What the host hears. Dropped, it is the end of the extension.
    pub stdout: DuplexStream,
}

impl Connection {
    /// A connection whose other end is in this program. It is read from until its end by a task of its own.
    pub fn memory(
        name: &str,
        limits: Limits,
        ack: HelloAck,
        listener: Arc<dyn Listener>,
    ) -> (Arc<Self>, Peer) {
        let (our_input, stdin) = duplex(PIPE_BYTES);
        let (stdout, our_output) = duplex(PIPE_BYTES);
        let ids = Arc::<Ids>::default();
        let outbox = Outbox::new(Box::new(our_input), &Budget::new(&limits), &limits);
        let connection = Self::new(name, limits, ids, outbox, listener, None);
        let connection = Arc::new(connection);
        let reader = Arc::clone(&connection);
        tokio::spawn(async move {
            let exit = std::future::pending();
            reader.run(Box::new(our_output), ack, exit).await;
        });
        (connection, Peer { stdin, stdout })
    }
}
