//! A connection without a process, for tests that pause tokio's clock, which does not work with a
//! real child process.

use std::sync::Arc;

use tokio::io::{DuplexStream, duplex};
use zot_protocol::{HelloAck, limits::Limits};

use super::{Connection, Listener};
use crate::extension::{
    outbox::{Outbox, QueueBudget},
    pending::Ids,
};

/// The capacity of a pipe on Linux.
const PIPE_BYTES: usize = 64 * 1024;

/// The extension's ends of the pipes.
#[derive(Debug)]
#[non_exhaustive]
pub struct Peer {
    /// Reads what the host sends.
    pub stdin: DuplexStream,
    /// Writes to the host. Dropping it ends the connection.
    pub stdout: DuplexStream,
}

impl Connection {
    /// Creates a connection whose other end is in this program, and a task that reads it to the
    /// end.
    pub fn in_memory(
        name: &str,
        limits: Limits,
        ack: HelloAck,
        listener: Arc<dyn Listener>,
    ) -> (Arc<Self>, Peer) {
        let (our_input, stdin) = duplex(PIPE_BYTES);
        let (stdout, our_output) = duplex(PIPE_BYTES);
        let ids = Arc::<Ids>::default();
        let outbox = Outbox::new(Box::new(our_input), &QueueBudget::new(&limits), &limits);
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
