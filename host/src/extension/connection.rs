//! One extension's stream: validates, decodes, correlates. The only place that knows ids.

mod alarm;
mod heard;
mod memory;
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
    task::yield_now,
    time::Instant,
};
use zot_protocol::{FromExtension, FromHost, HelloAck, Id, NoteLevel, limits::Limits};

use alarm::Alarm;
pub use memory::Peer;

use super::{
    call_chain::CallChain,
    outbox::{NotSent, Outbox, Pipe, Sent},
    pending::{Ids, Pending, RequestError},
    registered::Registered,
    wire::{Line, LineReader},
};

/// How long its output is still waited for when a process has exited; a descendant may hold it open.
const OUTPUT_AFTER_EXIT: Duration = Duration::from_millis(100);
/// How long its status is waited for when its output has ended. Longer, because a crash ends the output first, and the
/// process after it has written its core.
const EXIT_AFTER_OUTPUT: Duration = Duration::from_secs(1);
/// So many lines are handled before everything else has a turn.
const LINES_AT_A_TURN: usize = 16;
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
    /// Tells the reading side to look again: when something is due, and whether to stop.
    look: Notify,
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
    stall_counted_from: Instant,
}

/// What is known of the process's end while its output is still read.
#[derive(Default)]
struct Ending {
    status: Option<String>,
    drained_by: Option<Instant>,
}

impl Ending {
    fn exited(&mut self, status: String) {
        self.status = Some(status);
        self.expect_end();
    }

    fn expect_end(&mut self) {
        let soon = Instant::now() + OUTPUT_AFTER_EXIT;
        self.drained_by.get_or_insert(soon);
    }
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
        self.look.notify_one();
    }

    /// Reads `stdout` to its end. `exit` resolves when the process has exited.
    pub(crate) async fn run(
        &self,
        ack: HelloAck,
        stdout: impl AsyncRead + Unpin,
        exit: impl Future<Output = String>,
    ) {
        // Whatever happens to this task, nobody waits for it in vain.
        let mut end = End {
            connection: self,
            why: "was let go: its task has failed".to_owned(),
        };
        let ended = self.read(ack, stdout, exit).await;
        end.why = ended.unwrap_or_else(|broken_off| broken_off);
    }

    /// Fails everything that waits, and says why.
    fn end(&self, why: &str) {
        let why = if self.is_leaving() {
            "was shut down"
        } else {
            why
        };
        let why: Arc<str> = format!("{} {why}", self.name).into();
        self.stage.send_replace(Stage::Ended(Arc::clone(&why)));
        self.outbox.close();
        self.pending
            .fail_all(&RequestError::Closed(why.to_string()));
        self.listener.log(&why);
        self.listener.changed();
    }

    async fn read(
        &self,
        ack: HelloAck,
        stdout: impl AsyncRead + Unpin,
        exit: impl Future<Output = String>,
    ) -> Result<String, String> {
        let mut lines = LineReader::new(stdout, self.limits.frame_bytes);
        let start = Instant::now();
        let mut reading = Reading {
            ack: Some(ack),
            hello_by: start + self.limits.hello,
            patience: Some(start + self.limits.hello.min(self.limits.hello_notice)),
            garbage: 0,
            unknown_types: HashSet::new(),
            stall_counted_from: start,
        };
        let mut process = Ending::default();
        let mut written = false;
        let mut alarm = Alarm::new();
        let writing = self.outbox.drive();
        pin!(exit, writing);
        loop {
            if let Some(why) = lock(&self.stop_reason).take() {
                return Err(why);
            }
            let more = self.hear(&mut lines, &mut reading)?;
            if lines.has_ended() && !more {
                return Ok(self.end_of_output(process.status, exit).await);
            }
            alarm.set(self.next_alarm(&reading, &process));
            // Whoever sends without a pause must not keep the others from their turn: what is read comes last.
            tokio::select! {
                biased;
                () = alarm.rings() => self.alarmed(&mut reading, &mut process)?,
                status = &mut exit, if process.status.is_none() => process.exited(status),
                result = &mut writing, if !written => {
                    written = true;
                    if let Err(error) = result {
                        self.input_closed(&error);
                        process.expect_end();
                    }
                }
                () = self.look.notified() => {}
                () = yield_now(), if more => {}
                read = lines.fill(), if !more => {
                    read.map_err(|error| format!("could not be read from: {error}"))?;
                }
            }
        }
    }

    /// Handles what has been read, some lines at a time; `true` if there is more.
    fn hear(
        &self,
        lines: &mut LineReader<impl AsyncRead + Unpin>,
        reading: &mut Reading,
    ) -> Result<bool, String> {
        for _ in 0..LINES_AT_A_TURN {
            match lines.buffered() {
                Some(line) => self.heard(line, reading)?,
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// When something is due that no other event will tell.
    fn next_alarm(&self, reading: &Reading, process: &Ending) -> Option<Instant> {
        let due = [
            reading.patience,
            process.drained_by,
            self.stall(reading),
            self.pending.alarm(),
        ];
        due.into_iter().flatten().min()
    }

    /// When it has taken nothing for too long, if it takes nothing from now on.
    fn stall(&self, reading: &Reading) -> Option<Instant> {
        let since = self.outbox.stalled_since()?.max(reading.stall_counted_from);
        Some(since + self.limits.write_stall)
    }

    /// Something may be due.
    fn alarmed(&self, reading: &mut Reading, process: &mut Ending) -> Result<(), String> {
        let now = Instant::now();
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if self.pending.alarm().is_some_and(|alarm| alarm <= now) {
            self.pending.expire(now);
        }
        if is_due(process.drained_by) {
            return Err(match process.status.take() {
                Some(status) => format!("ended: {status}"),
                // Alive, and nothing can be said to it.
                None => "closed its standard input".to_owned(),
            });
        }
        if is_due(reading.patience) {
            self.out_of_patience(reading)?;
        }
        if is_due(self.stall(reading)) {
            if self.pending.is_empty() {
                let limit = self.limits.write_stall;
                return Err(format!("was disconnected: it read nothing for {limit:?}"));
            }
            // It may be too busy with a request to read; that time does not count.
            reading.stall_counted_from = now;
        }
        Ok(())
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
        match tokio::time::timeout(EXIT_AFTER_OUTPUT, exit).await {
            Ok(status) => format!("ended: {status}"),
            Err(_) => "closed its standard output".to_owned(),
        }
    }

    fn input_closed(&self, error: &io::Error) {
        self.listener
            .log(&format!("its standard input is closed: {error}"));
        let closed = RequestError::Closed(format!("{} has closed its standard input", self.name));
        self.pending.fail_all(&closed);
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
            Ok(Sent::AsBefore) => Ok(()),
            Ok(Sent::BacklogBegins) => {
                self.look.notify_one();
                Ok(())
            }
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
            // It was the host that closed it.
            _ if self.is_leaving() => format!("{} was shut down", self.name),
            _ => format!("{} has closed its standard input", self.name),
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
