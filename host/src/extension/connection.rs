//! The connection to one extension: validates and decodes frames, and matches replies to requests.
//! This is the only module that handles request ids.

mod in_memory;
mod incoming;
mod reader;
mod request;
mod timer;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use zot_protocol::{FromExtension, FromHost, HelloAck, Id, NoteLevel, limits::Limits};

pub use in_memory::Peer;

use super::{
    call_chain::CallChain,
    outbox::{NotSent, Outbox, Sent},
    pending::{Ids, Pending, RequestError},
    registered::Registered,
};
pub(crate) use reader::OutputPipe;

/// Receives the events of a connection, in order. No method may block.
pub trait Listener: Send + Sync {
    /// A frame that is neither a reply nor a registration, such as a note, a panel or a call.
    fn frame(&self, frame: FromExtension);
    /// The extension became ready, changed its registrations or exited.
    fn changed(&self);
    /// A line for the extension's log.
    fn log(&self, line: &str);
    /// A line for the user about the extension.
    fn note(&self, level: NoteLevel, line: &str);
}

/// Sees every line in both directions, in order. Called from the read and write paths, so it must
/// not block or call the host.
pub trait Tap: Send + Sync {
    /// A line from the extension, unmodified.
    fn received(&self, extension: &str, line: &[u8]);
    /// A line to the extension.
    fn sent(&self, extension: &str, line: &[u8]);
}

/// The state of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// The extension has not sent `hello`.
    Starting,
    /// It has sent `hello` and is registering its commands and tools.
    Registering,
    /// It accepts requests.
    Ready,
    /// It has ended. The reason completes a sentence that starts with the extension's name.
    Ended(Arc<str>),
}

/// The host's end of the connection to one extension.
pub struct Connection {
    name: Arc<str>,
    limits: Limits,
    ids: Arc<Ids>,
    outbox: Outbox,
    pending: Pending,
    registered: Mutex<Arc<Registered>>,
    stage: watch::Sender<Stage>,
    /// Whether the host has asked the extension to shut down, in which case its exit is not a
    /// failure.
    shutting_down: AtomicBool,
    /// Wakes the reader to check its deadlines and whether to stop.
    reader_wakeup: Notify,
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
            outbox.set_observer(Box::new(move |line| {
                tap.sent(&name, line.trim_ascii_end());
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
            shutting_down: AtomicBool::new(false),
            reader_wakeup: Notify::new(),
            stop_reason: Mutex::new(None),
            listener,
            tap,
        }
    }

    /// The extension's name in its manifest.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns a receiver for the state of the connection.
    pub fn stage(&self) -> watch::Receiver<Stage> {
        self.stage.subscribe()
    }

    /// Reports whether the extension accepts requests.
    pub fn is_ready(&self) -> bool {
        *self.stage.borrow() == Stage::Ready
    }

    /// Reports whether the connection has ended.
    pub fn has_ended(&self) -> bool {
        matches!(*self.stage.borrow(), Stage::Ended(_))
    }

    /// The extension's current registrations.
    pub fn registered(&self) -> Arc<Registered> {
        Arc::clone(&self.registered.lock())
    }

    /// Returns the call chain of the pending tool call `id`.
    pub(crate) fn running(&self, id: &Id) -> Option<CallChain> {
        self.pending.running(id)
    }

    /// Sends `shutdown`, then closes the extension's standard input. If the extension is not ready
    /// yet, only closes its input.
    pub(crate) fn shut_down(&self) {
        self.shutting_down.store(true, Ordering::SeqCst);
        if self.is_ready() {
            let _ = self.send(&zot_protocol::Shutdown::default().into());
        }
        self.outbox.finish();
    }

    /// Waits until everything sent has been written, or the connection has ended.
    pub(crate) async fn drained(&self) {
        self.outbox.drained().await;
    }

    /// Reports whether the host has asked the extension to shut down.
    pub(crate) fn is_shutting_down(&self) -> bool {
        self.shutting_down.load(Ordering::SeqCst)
    }

    /// Ends the connection from the host's side.
    pub(crate) fn disconnect(&self, why: impl Into<String>) {
        self.stop_reason.lock().get_or_insert(why.into());
        self.reader_wakeup.notify_one();
    }

    /// Reads the extension's output to its end, and answers its `hello` with `ack`. `exit` resolves
    /// when the process has exited.
    pub(crate) async fn run(
        &self,
        output: OutputPipe,
        ack: HelloAck,
        exit: impl Future<Output = String>,
    ) {
        // Pending requests fail even if this task panics.
        let mut end = EndGuard {
            connection: self,
            why: "was disconnected: its reader task panicked".to_owned(),
        };
        let ended = self.read((output, ack), exit).await;
        end.why = ended.unwrap_or_else(|broken_off| broken_off);
    }

    /// Ends the connection and fails all pending requests with this reason.
    fn end(&self, why: &str) {
        let why = if self.is_shutting_down() {
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

    /// Sends a frame. A full queue ends the connection, so that no frame is silently dropped.
    pub(crate) fn send(&self, frame: &FromHost) -> Result<(), RequestError> {
        self.send_as(frame, None)
    }

    /// Sends a frame that can be withdrawn by its request number until its first byte is written.
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
            Ok(Sent::Unchanged) => Ok(()),
            Ok(Sent::BacklogStarted) => {
                self.reader_wakeup.notify_one();
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
            // The host closed the pipe itself.
            _ if self.is_shutting_down() => "was shut down".to_owned(),
            _ => "has closed its standard input".to_owned(),
        }
    }
}

/// Ends the connection when it is dropped.
struct EndGuard<'c> {
    connection: &'c Connection,
    why: String,
}

impl Drop for EndGuard<'_> {
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
