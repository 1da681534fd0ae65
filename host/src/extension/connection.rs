//! One extension's stream: validates, decodes, correlates. The only place that knows ids.

mod heard;
mod request;

use std::{
    collections::HashSet,
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::AsyncRead,
    pin,
    sync::{Notify, watch},
    task::coop::consume_budget,
    time::{Instant, sleep_until},
};
use zot_protocol::{FromExtension, FromHost, HelloAck, Id, NoteLevel, limits::Limits};

use super::{
    call_chain::CallChain,
    outbox::{NotSent, Outbox, Pipe},
    pending::{Ids, Pending, RequestError},
    registered::Registered,
    wire::{Line, LineReader},
};

/// How long one end of a process waits for the other: its output may still be on the way when it has exited, and its
/// status may not be known yet when its output has ended.
const OTHER_END: Duration = Duration::from_millis(100);
/// Garbage after this many lines in a row is counted, not logged.
const GARBAGE_LOGGED: usize = 10;
/// So many unknown types are named in the log; a stream of made-up ones must not fill memory.
const UNKNOWN_TYPES_NAMED: usize = 64;

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

/// Sees every line of both directions as it passes.
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
    /// It is over; why, in one line that names the extension.
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
    stop: Notify,
    stop_reason: Mutex<Option<String>>,
    listener: Arc<dyn Listener>,
    tap: Option<Arc<dyn Tap>>,
}

/// What the reading side keeps between lines.
struct Reading {
    ack: Option<HelloAck>,
    hello_by: Instant,
    /// When it is no longer waited for in silence: for `hello`, then for `ready`.
    patience: Option<Instant>,
    garbage: usize,
    unknown_types: HashSet<String>,
}

impl Connection {
    pub(crate) fn new(
        name: &str,
        limits: Limits,
        ids: Arc<Ids>,
        stdin: Pipe,
        listener: Arc<dyn Listener>,
        tap: Option<Arc<dyn Tap>>,
    ) -> Self {
        Self {
            name: name.into(),
            outbox: Outbox::new(stdin, limits.queue_frames, limits.queue_bytes),
            limits,
            ids,
            pending: Pending::default(),
            registered: Mutex::default(),
            stage: watch::Sender::new(Stage::Starting),
            leaving: AtomicBool::new(false),
            stop: Notify::new(),
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

    /// What it has registered so far.
    pub fn registered(&self) -> Arc<Registered> {
        Arc::clone(&lock(&self.registered))
    }

    /// The tool call `id` of the host, while it waits for its result.
    pub(crate) fn running(&self, id: &Id) -> Option<CallChain> {
        self.pending.running(id)
    }

    /// Says `shutdown` and closes its input once that is written.
    pub(crate) fn shut_down(&self) {
        self.leaving.store(true, Ordering::SeqCst);
        let _ = self.send(&zot_protocol::Shutdown::default().into());
        self.outbox.finish();
    }

    /// Whether the host has asked it to go.
    pub(crate) fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::SeqCst)
    }

    /// Ends the connection from this side.
    pub(crate) fn disconnect(&self, why: impl Into<String>) {
        lock(&self.stop_reason).get_or_insert(why.into());
        self.stop.notify_one();
    }

    /// Reads `stdout` to its end, and returns why it ended. `exit` resolves when the process has exited.
    pub(crate) async fn run(
        &self,
        ack: HelloAck,
        stdout: impl AsyncRead + Unpin,
        exit: impl Future<Output = String>,
    ) -> Arc<str> {
        let mut why = self.read(ack, stdout, exit).await;
        if self.is_leaving() {
            "was shut down".clone_into(&mut why);
        }
        let why: Arc<str> = format!("{} {why}", self.name).into();
        self.stage.send_replace(Stage::Ended(Arc::clone(&why)));
        self.outbox.close();
        self.pending
            .fail_all(&RequestError::Closed(why.to_string()));
        self.listener.log(&why);
        self.listener.changed();
        why
    }

    async fn read(
        &self,
        ack: HelloAck,
        stdout: impl AsyncRead + Unpin,
        exit: impl Future<Output = String>,
    ) -> String {
        let mut lines = LineReader::new(stdout, self.limits.frame_bytes);
        let start = Instant::now();
        let mut reading = Reading {
            ack: Some(ack),
            hello_by: start + self.limits.hello,
            patience: Some(start + self.limits.hello.min(self.limits.hello_notice)),
            garbage: 0,
            unknown_types: HashSet::new(),
        };
        let mut written = false;
        let mut exited: Option<String> = None;
        let mut drained_by: Option<Instant> = None;
        // An extension may be too busy with a request to read; that time does not count as a stall.
        let mut counted_from = Instant::now();
        pin!(exit);
        let writing = self.outbox.drive();
        pin!(writing);
        loop {
            let stall = self
                .outbox
                .stalled_since()
                .map(|since| since.max(counted_from) + self.limits.write_stall);
            tokio::select! {
                biased;
                () = self.stop.notified() => return self.reason("was disconnected"),
                line = lines.next() => match line {
                    Ok(Some(line)) => {
                        if let Err(why) = self.heard(line, &mut reading) {
                            return why;
                        }
                        // A flood arrives in large chunks; whoever else runs on this thread has a turn in between.
                        consume_budget().await;
                    }
                    Ok(None) => return self.end_of_output(exited, exit).await,
                    Err(error) => return format!("could not be read from: {error}"),
                },
                status = &mut exit, if exited.is_none() => {
                    exited = Some(status);
                    drained_by = Some(Instant::now() + OTHER_END);
                }
                () = maybe(drained_by) => return format!("ended: {}", exited.unwrap_or_default()),
                result = &mut writing, if !written => {
                    written = true;
                    self.write_ended(&result);
                }
                () = self.outbox.backlog() => {}
                () = maybe(reading.patience) => {
                    if let Err(why) = self.out_of_patience(&mut reading) {
                        return why;
                    }
                }
                () = maybe(stall) => {
                    // There may have been progress since the timer was set.
                    let due = |since: Instant| since.max(counted_from) + self.limits.write_stall <= Instant::now();
                    if self.outbox.stalled_since().is_some_and(due) {
                        if self.pending.is_empty() {
                            return format!("was disconnected: it read nothing for {:?}", self.limits.write_stall);
                        }
                        counted_from = Instant::now();
                    }
                }
            }
        }
    }

    /// Its output is closed. Whether it has exited, and how, is known in a moment or it is alive.
    async fn end_of_output(
        &self,
        exited: Option<String>,
        exit: std::pin::Pin<&mut impl Future<Output = String>>,
    ) -> String {
        if let Some(status) = exited {
            return format!("ended: {status}");
        }
        match tokio::time::timeout(OTHER_END, exit).await {
            Ok(status) => format!("ended: {status}"),
            Err(_) => self.reason("closed its standard output"),
        }
    }

    fn reason(&self, otherwise: &str) -> String {
        lock(&self.stop_reason)
            .take()
            .unwrap_or_else(|| otherwise.to_owned())
    }

    fn write_ended(&self, result: &io::Result<()>) {
        if let Err(error) = result {
            self.listener
                .log(&format!("its standard input is closed: {error}"));
            let closed =
                RequestError::Closed(format!("{} has closed its standard input", self.name));
            self.pending.fail_all(&closed);
        }
    }

    /// `hello` has not come in time, or no `ready` has come and nothing else either.
    fn out_of_patience(&self, reading: &mut Reading) -> Result<(), String> {
        if reading.ack.is_some() {
            if Instant::now() >= reading.hello_by {
                return Err(format!(
                    "was ended: no hello within {:?}",
                    self.limits.hello
                ));
            }
            reading.patience = Some(reading.hello_by);
            let waiting = format!(
                "has not said hello for {:?}; it is waited for until {:?} are over",
                self.limits.hello_notice, self.limits.hello
            );
            self.listener.log(&waiting);
            self.listener.note(NoteLevel::Info, &waiting);
            return Ok(());
        }
        reading.patience = None;
        self.become_ready();
        Ok(())
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
        let mut line = serde_json::to_vec(frame).expect("frames serialise");
        if line.len() > self.limits.frame_bytes {
            return Err(RequestError::TooLarge {
                bytes: line.len(),
                limit: self.limits.frame_bytes,
            });
        }
        if let Some(tap) = &self.tap {
            tap.said(&self.name, &line);
        }
        line.push(b'\n');
        match self.outbox.send(line) {
            Ok(()) => Ok(()),
            Err(NotSent::Closed) => Err(RequestError::Closed(self.closed_reason())),
            Err(NotSent::Full) => {
                let why = "was disconnected: it does not read what it is sent";
                self.disconnect(why);
                Err(RequestError::Closed(format!("{} {why}", self.name)))
            }
        }
    }

    fn closed_reason(&self) -> String {
        match &*self.stage.borrow() {
            Stage::Ended(why) => why.to_string(),
            _ => format!("{} has closed its standard input", self.name),
        }
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

/// Resolves at a time, or never.
async fn maybe(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}
