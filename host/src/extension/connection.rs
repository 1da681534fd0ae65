//! One extension's stream: validates, decodes, correlates. The only place that knows ids.

mod alarm;
mod incoming;
mod memory;
mod reader;
mod request;

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use tokio::sync::{Notify, watch};
use zot_protocol::{FromExtension, FromHost, HelloAck, Id, NoteLevel, limits::Limits};

pub use memory::Peer;

use super::{
    call_chain::CallChain,
    outbox::{NotSent, Outbox, Sent},
    pending::{Ids, Pending, RequestError},
    registered::Registered,
};
pub(crate) use reader::Output;

/// What a connection tells its owner, in the order in which it happened. None of these may block.
pub trait Listener: Send + Sync {
    /// Something that is neither a reply nor a registration: a note, a panel, a call.
    fn frame(&self, frame: FromExtension);
    /// It has become ready, or has changed its registrations since.
    fn changed(&self);
    /// A line for the extension's log.
    fn log(&self, line: &str);
    /// A line for the user about the extension.
    fn note(&self, level: NoteLevel, line: &str);
}

/// Sees every line of both directions as it passes, in the order in which they are read and written. It is called where
/// nothing else goes on meanwhile, so it must not block, and must not call the host.
pub trait Tap: Send + Sync {
    /// A line from the extension, as it came.
    fn heard(&self, extension: &str, line: &[u8]);
    /// A line to the extension.
    fn said(&self, extension: &str, line: &[u8]);
}

/// Where a connection is in its life.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// It has not said `hello`.
    Starting,
    /// It has said `hello` and may register things.
    Registering,
    /// It can be asked.
    Ready,
    /// It is over; why, in words that follow its name.
    Ended(Arc<str>),
}

/// The host's end of one extension.
pub struct Connection {
    name: Arc<str>,
    limits: Limits,
    ids: Arc<Ids>,
    outbox: Outbox,
    pending: Pending,
    registered: Mutex<Arc<Registered>>,
    stage: watch::Sender<Stage>,
    /// The host has asked it to go: its end is no failure.
    leaving: AtomicBool,
    /// Tells the reading side to look again: when something is due, and whether to stop.
    look: Notify,
    stop_reason: Mutex<Option<String>>,
    listener: Arc<dyn Listener>,
    tap: Option<Arc<dyn Tap>>,
}

impl Connection {
    pub(crate) fn new(
        name: &str,
        limits: Limits,
        ids: Arc<Ids>,
        outbox: Outbox,
        listener: Arc<dyn Listener>,
        tap: Option<Arc<dyn Tap>>,
    ) -> Self {
        if let Some(tap) = tap.clone() {
            let name = name.to_owned();
            outbox.set_witness(Box::new(move |line| {
                tap.said(&name, line.trim_ascii_end());
            }));
        }
        Self {
            name: name.into(),
            outbox,
            limits,
            ids,
            pending: Pending::default(),
            registered: Mutex::default(),
            stage: watch::Sender::new(Stage::Starting),
            leaving: AtomicBool::new(false),
            look: Notify::new(),
            stop_reason: Mutex::new(None),
            listener,
            tap,
        }
    }

    /// Its name, which is its manifest's.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it is in its life, now and as it goes on.
    pub fn stage(&self) -> watch::Receiver<Stage> {
        self.stage.subscribe()
    }

    /// Whether it can be asked.
    pub fn is_ready(&self) -> bool {
        *self.stage.borrow() == Stage::Ready
    }

    /// Whether it is over.
    pub fn has_ended(&self) -> bool {
        matches!(*self.stage.borrow(), Stage::Ended(_))
    }

    /// What it has registered so far.
    pub fn registered(&self) -> Arc<Registered> {
        Arc::clone(&lock(&self.registered))
    }

    /// The tool call `id` of the host, while it waits for its result.
    pub(crate) fn running(&self, id: &Id) -> Option<CallChain> {
        self.pending.running(id)
    }

    /// Says `shutdown` and closes its input once that is written. Before it is ready, the end of its input says it all.
    pub(crate) fn shut_down(&self) {
        self.leaving.store(true, Ordering::SeqCst);
        if self.is_ready() {
            let _ = self.send(&zot_protocol::Shutdown::default().into());
        }
        self.outbox.finish();
    }

    /// Waits until it has taken what it was sent, or is gone.
    pub(crate) async fn caught_up(&self) {
        self.outbox.drained().await;
    }

    /// Whether the host has asked it to go.
    pub(crate) fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::SeqCst)
    }

    /// Ends the connection from this side.
    pub(crate) fn disconnect(&self, why: impl Into<String>) {
        lock(&self.stop_reason).get_or_insert(why.into());
        self.look.notify_one();
    }

    /// Reads the extension's output to its end, and answers its `hello` with `ack`. `exit` resolves
    /// when the process has exited.
    pub(crate) async fn run(
        &self,
        output: Output,
        ack: HelloAck,
        exit: impl Future<Output = String>,
    ) {
        // Pending requests fail even if this task panics.
        let mut end = End {
            connection: self,
            why: "was let go: its task has failed".to_owned(),
        };
        let ended = self.read((output, ack), exit).await;
        end.why = ended.unwrap_or_else(|broken_off| broken_off);
    }

    /// Fails everything that waits, and says why.
    fn end(&self, why: &str) {
        let why = if self.is_leaving() {
            "was shut down"
        } else {
            why
        };
        self.stage.send_replace(Stage::Ended(why.into()));
        self.outbox.close();
        self.pending.fail_all(&RequestError::Closed(why.to_owned()));
        self.listener.log(why);
        self.listener.changed();
    }

    fn become_ready(&self) {
        let first = self.stage.send_if_modified(|stage| {
            let first = *stage == Stage::Registering;
            if first {
                *stage = Stage::Ready;
            }
            first
        });
        if first {
            self.listener.changed();
        }
    }

    /// Sends a frame. One that does not fit into the queue ends the connection: nothing is dropped in silence.
    pub(crate) fn send(&self, frame: &FromHost) -> Result<(), RequestError> {
        self.send_as(frame, None)
    }

    /// Sends a frame that can be withdrawn by the number of its request, until it is being written.
    fn send_as(&self, frame: &FromHost, request: Option<u64>) -> Result<(), RequestError> {
        let mut line = serde_json::to_vec(frame).expect("frames serialise");
        if line.len() > self.limits.frame_bytes {
            return Err(RequestError::TooLarge {
                bytes: line.len(),
                limit: self.limits.frame_bytes,
            });
        }
        line.push(b'\n');
        match self.outbox.send(line, request) {
            Ok(Sent::AsBefore) => Ok(()),
            Ok(Sent::BacklogBegins) => {
                self.look.notify_one();
                Ok(())
            }
            Err(NotSent::Closed) => Err(RequestError::Closed(self.closed_reason())),
            Err(NotSent::Full) => {
                self.disconnect(format!("was disconnected: {}", RequestError::QueueFull));
                Err(RequestError::QueueFull)
            }
        }
    }

    fn closed_reason(&self) -> String {
        match &*self.stage.borrow() {
            Stage::Ended(why) => why.to_string(),
            // It was the host that closed it.
            _ if self.is_leaving() => "was shut down".to_owned(),
            _ => "has closed its standard input".to_owned(),
        }
    }
}

/// Ends the connection when it is dropped.
struct End<'c> {
    connection: &'c Connection,
    why: String,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.connection.end(&self.why);
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Connection")
            .field("name", &self.name)
            .field("stage", &*self.stage.borrow())
            .finish_non_exhaustive()
    }
}

/// Nothing in the crate panics while it holds a lock.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
