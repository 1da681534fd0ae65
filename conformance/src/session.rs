//! A session with one extension process, in which the harness acts as the host.

mod history;
mod pipes;
mod received_line;

use std::{
    collections::HashSet,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    io::AsyncWriteExt,
    process::ChildStdin,
    sync::mpsc::UnboundedReceiver,
    time::{sleep_until, timeout},
};
use zot_process::{Exit, Process, SpawnError, Spawner};
use zot_protocol::{
    FromHost,
    validate::{self, SpreadJson},
};

pub(crate) use history::History;
pub(crate) use history::{Panel, REPLIES};
pub(crate) use received_line::ReceivedLine;

use self::pipes::{Arrival, RawLine, Reader, Stderr};
use crate::{
    check,
    exchange::{Action, Entry, Exchange, Party, SHOWN_BYTES},
    target::Target,
    verdict::Finding,
};

/// How long a write may stall before we report that the extension does not read stdin.
const WRITE_STALL: Duration = Duration::from_secs(5);
/// How long to wait for remaining output after the process exits, or for the process to exit after
/// the end of its output.
const LAST_LINES: Duration = Duration::from_secs(1);
/// Maximum number of frames to store for shrinking a failure, and the maximum size of each.
const SENT: usize = 100;
const SENT_BYTES: usize = 512 << 10;
/// Maximum number of entries of an exchange. Longer exchanges are truncated.
const ENTRIES: usize = 20_000;

/// A rule that a frame broke.
#[derive(Debug, Clone)]
pub(crate) struct Violation {
    /// The check whose rule it is.
    pub(crate) check: &'static str,
    /// What is wrong with the frame.
    pub(crate) finding: Finding,
}

impl Violation {
    /// Returns the finding with the check's id before its text.
    pub(crate) fn into_finding(self) -> Finding {
        self.finding.prefixed(self.check)
    }
}

/// The data that all sessions of a check collect.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    /// The exchanges, one per process.
    pub(crate) exchanges: Vec<Exchange>,
    /// The rules that frames broke.
    pub(crate) violations: Vec<Violation>,
    /// The types of the received frames, and `image` or `panel` for frames that contain one.
    pub(crate) seen: HashSet<String>,
}

/// Where sessions store the collected data when they end.
pub(crate) type Sink = Arc<Mutex<Collected>>;

/// Called for every entry of an exchange as it happens.
pub(crate) type Observer = Arc<dyn Fn(&Entry) + Send + Sync>;

/// How a process is started.
#[derive(Clone)]
pub(crate) struct Start {
    /// Spawns the process.
    pub(crate) spawner: Spawner,
    /// Whether to enforce the manifest's permissions, as `zot` does.
    pub(crate) confined: bool,
    /// Multiplies the harness's timeouts.
    pub(crate) scale: f64,
    /// The timeout for `hello`; `None` uses the manifest's or the protocol's.
    pub(crate) startup: Option<Duration>,
    /// Called for every entry of an exchange as it happens.
    pub(crate) observer: Option<Observer>,
    /// The directories of an earlier process; `None` creates new ones.
    pub(crate) directories: Option<Arc<TempDir>>,
}

impl Start {
    /// Creates options that start each process the way `zot` does, in new directories.
    pub(crate) fn new(
        scale: f64,
        startup: Option<Duration>,
        observer: Option<Observer>,
    ) -> std::io::Result<Self> {
        Ok(Self {
            spawner: Spawner::new()?,
            confined: true,
            scale,
            startup,
            observer,
            directories: None,
        })
    }

    /// The scaled timeout for `hello`.
    pub(crate) fn hello_limit(&self, target: &Target) -> Duration {
        let limit = self.startup.unwrap_or(target.hello_limit());
        limit.mul_f64(self.scale)
    }
}

/// A session with a running extension process.
pub(crate) struct Session {
    process: Process,
    stdin: Option<ChildStdin>,
    arrivals: UnboundedReceiver<Arrival>,
    reader: Reader,
    stderr: Stderr,
    #[cfg(target_os = "linux")]
    handle: Option<rustix::fd::OwnedFd>,
    started: Instant,
    /// The frames sent since the handshake, except large ones.
    sent: Vec<Value>,
    received: Vec<ReceivedLine>,
    history: History,
    spread: SpreadJson,
    violations: Vec<Violation>,
    /// Violations by lines that may be part of a frame that is spread over several lines. If they
    /// are, a single violation replaces these.
    held: Vec<Violation>,
    exchange: Exchange,
    minted: u64,
    scale: f64,
    /// Whether to answer `call_tool` with an error, as a host without tools does.
    answers_calls: bool,
    observer: Option<Observer>,
    sink: Sink,
    directories: Arc<TempDir>,
}

/// Why the extension did not send the expected line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitError {
    /// The process has exited.
    Exited(Exit),
    /// The process is running, but closed its stdout.
    Closed,
    /// The timeout expired.
    Deadline(Duration),
    /// The process does not read stdin, so the frame could not be sent.
    Unread,
    /// The process sent so much output that we stopped reading.
    Flooded,
}

impl Session {
    /// Starts a process with temporary directories as its `cwd` and `data_dir`.
    pub(crate) async fn start(
        target: &Target,
        how: &Start,
        sink: Sink,
    ) -> Result<Self, SpawnError> {
        let directories = match &how.directories {
            Some(directories) => Arc::clone(directories),
            None => new_directories().map_err(|source| SpawnError::Other {
                program: "a temporary directory".into(),
                source,
            })?,
        };
        let root = directories.path();
        let spec = target.spec(&root.join("cwd"), &root.join("data"), how.confined);
        let mut process = how.spawner.spawn(spec).await?;
        let started = Instant::now();
        let stdin = process.take_stdin();
        let (reader, arrivals) = Reader::start(process.take_stdout(), started);
        let stderr = Stderr::start(process.take_stderr());
        Ok(Self {
            #[cfg(target_os = "linux")]
            handle: handle_of(&process),
            process,
            stdin,
            arrivals,
            reader,
            stderr,
            started,
            sent: Vec::new(),
            received: Vec::new(),
            history: History::default(),
            spread: SpreadJson::default(),
            violations: Vec::new(),
            held: Vec::new(),
            exchange: Exchange::default(),
            minted: 0,
            scale: how.scale,
            answers_calls: true,
            observer: how.observer.clone(),
            sink,
            directories,
        })
    }

    /// Leaves `call_tool` frames for the caller to answer.
    pub(crate) fn leave_calls(&mut self) {
        self.answers_calls = false;
    }

    /// The user's working directory.
    pub(crate) fn cwd(&self) -> std::path::PathBuf {
        self.directories.path().join("cwd")
    }

    /// The extension's data directory.
    pub(crate) fn data_dir(&self) -> std::path::PathBuf {
        self.directories.path().join("data")
    }

    /// The directories, for starting another process with the same data.
    pub(crate) fn directories(&self) -> Arc<TempDir> {
        Arc::clone(&self.directories)
    }

    /// Scales one of the harness's timeouts.
    pub(crate) fn scaled(&self, duration: Duration) -> Duration {
        duration.mul_f64(self.scale)
    }

    /// Returns a new request id. Its length does not depend on the process id, so that frames have
    /// the same size in every run.
    pub(crate) fn new_id(&mut self) -> String {
        self.minted += 1;
        format!("c{:06x}-{}", self.process.id(), self.minted)
    }

    /// Sends a frame.
    ///
    /// # Panics
    ///
    /// If the frame is invalid, which is a bug in the harness.
    pub(crate) async fn send(&mut self, frame: &Value) -> Result<(), WaitError> {
        if let Err(refusal) = validate::value::<FromHost>(frame) {
            panic!("zot-conform created an invalid frame: {refusal}\n{frame}");
        }
        self.send_as_is(frame).await
    }

    /// Sends a frame without validating it.
    pub(crate) async fn send_as_is(&mut self, frame: &Value) -> Result<(), WaitError> {
        self.announce(frame);
        let mut line = frame.to_string();
        if self.sent.len() < SENT && line.len() < SENT_BYTES {
            self.sent.push(frame.clone());
        }
        self.remember(Party::Host, line_action(&line));
        line.push('\n');
        self.write(line.as_bytes()).await
    }

    /// The frames sent since the handshake.
    pub(crate) fn sent(&self) -> &[Value] {
        &self.sent
    }

    /// Forgets the frames sent so far, at the end of the handshake.
    pub(crate) fn forget_sent(&mut self) {
        self.sent.clear();
    }

    /// Records a frame that is about to be sent as bytes.
    pub(crate) fn announce(&mut self, frame: &Value) {
        self.history.sent(frame, self.received.len());
    }

    /// The number of lines that had been received when the request with this id was sent.
    pub(crate) fn asked_at(&self, id: &str) -> usize {
        self.history.request(id).map_or(0, |asked| asked.from)
    }

    /// Reports whether a request with this id was sent.
    pub(crate) fn has_asked(&self, id: &str) -> bool {
        self.history.request(id).is_some()
    }

    /// Sends raw bytes.
    pub(crate) async fn send_raw(&mut self, bytes: &[u8]) -> Result<(), WaitError> {
        let text = String::from_utf8_lossy(bytes);
        let text = text.strip_suffix('\n').unwrap_or(&text);
        self.remember(Party::Host, line_action(text));
        self.write(bytes).await
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), WaitError> {
        let Some(stdin) = &mut self.stdin else {
            return Err(WaitError::Unread);
        };
        let mut rest = bytes;
        while !rest.is_empty() {
            let wrote = tokio::select! {
                wrote = timeout(WRITE_STALL.mul_f64(self.scale), stdin.write(rest)) => wrote,
                exit = self.process.wait() => return Err(WaitError::Exited(exit)),
            };
            match wrote {
                Ok(Ok(n)) if n > 0 => rest = &rest[n..],
                Ok(_) => return Err(self.gone(Duration::from_millis(500)).await),
                Err(_) => return Err(WaitError::Unread),
            }
        }
        Ok(())
    }

    /// Finds out why stdin is closed: either the process exited, or it closed stdin.
    async fn gone(&self, within: Duration) -> WaitError {
        match timeout(within, self.process.wait()).await {
            Ok(exit) => WaitError::Exited(exit),
            Err(_) => WaitError::Unread,
        }
    }

    /// Returns the index of the first matching line at or after `from`, waiting for it if
    /// necessary.
    pub(crate) async fn find(
        &mut self,
        from: usize,
        within: Duration,
        wanted: impl Fn(&ReceivedLine) -> bool,
    ) -> Result<usize, WaitError> {
        let deadline = Instant::now() + within;
        let mut at = from;
        loop {
            while at < self.received.len() {
                if wanted(&self.received[at]) {
                    return Ok(at);
                }
                at += 1;
            }
            self.receive(deadline, within).await?;
        }
    }

    /// Waits for a reply of this type and id.
    pub(crate) async fn reply(
        &mut self,
        kind: &str,
        id: &str,
        within: Duration,
    ) -> Result<ReceivedLine, WaitError> {
        let wanted = |received: &ReceivedLine| received.is(kind) && received.id() == Some(id);
        let at = self.find(0, within, wanted).await?;
        Ok(self.received[at].clone())
    }

    /// When the last `tool_progress` for the call with this id arrived.
    pub(crate) fn last_progress(&self, id: &str) -> Option<Duration> {
        let is_progress = |line: &&ReceivedLine| line.is("tool_progress") && line.id() == Some(id);
        let since = &self.received[self.asked_at(id)..];
        since.iter().rev().find(is_progress).map(|line| line.at)
    }

    /// Reads lines for a while.
    pub(crate) async fn listen(&mut self, during: Duration) {
        let deadline = Instant::now() + during;
        while self.receive(deadline, during).await.is_ok() {}
    }

    /// All lines received so far.
    pub(crate) fn received(&self) -> &[ReceivedLine] {
        &self.received
    }

    /// Waits for one more line.
    async fn receive(&mut self, deadline: Instant, within: Duration) -> Result<(), WaitError> {
        let arrival = tokio::select! {
            biased;
            arrival = self.arrivals.recv() => arrival,
            () = sleep_until(deadline.into()) => return Err(WaitError::Deadline(within)),
        };
        let Some(arrival) = arrival else {
            if self.reader.gave_up() {
                return Err(WaitError::Flooded);
            }
            // Stdout has ended: the process is exiting, or it closed stdout and keeps running.
            let left = deadline.saturating_duration_since(Instant::now());
            let grace = left.min(LAST_LINES);
            return Err(match timeout(grace, self.process.wait()).await {
                Ok(exit) => WaitError::Exited(exit),
                Err(_) => WaitError::Closed,
            });
        };
        // Judge a line by when it arrived, with some leeway, because this task may run late.
        let late = self.started + arrival.at > deadline + LAST_LINES;
        if let Some(call) = self.take_in(arrival) {
            self.answer_call(&call).await;
        }
        if late {
            return Err(WaitError::Deadline(within));
        }
        Ok(())
    }

    /// Answers `call_tool` with an error, because this host has no tools.
    async fn answer_call(&mut self, call: &Value) {
        let answer = serde_json::json!({
            "type": "tool_result", "id": call["id"], "name": call["name"], "is_error": true,
            "content": [{"type": "text", "text": "zot-conform has no tools to call"}],
        });
        if validate::value::<FromHost>(&answer).is_ok() {
            let _ = Box::pin(self.send_as_is(&answer)).await;
        }
    }

    /// Stops or resumes reading stdout.
    pub(crate) fn stall(&mut self, stalled: bool) {
        self.reader.stall(stalled);
        let note = if stalled {
            "stopped reading"
        } else {
            "resumed reading"
        };
        self.remember(Party::Host, Action::Note(note.to_owned()));
    }

    /// Stops reading stdout for a while. Returns immediately.
    pub(crate) fn stall_for(&mut self, during: Duration) {
        self.reader.stall_for(during);
        let note = format!("stopped reading for {during:?}");
        self.remember(Party::Host, Action::Note(note));
    }

    /// Makes the stdout pipe as small as the system allows.
    pub(crate) fn narrow(&self) {
        self.reader.narrow();
    }

    /// Closes stdin.
    pub(crate) fn close_stdin(&mut self) {
        if self.stdin.take().is_some() {
            self.history.must_exit = true;
            self.remember(Party::Host, Action::Note("closed stdin".to_owned()));
        }
    }

    /// Sends a signal to the process.
    pub(crate) fn signal(&mut self, signal: rustix::process::Signal, name: &str) {
        self.remember(Party::Host, Action::Note(name.to_owned()));
        self.history.must_exit = true;
        #[cfg(target_os = "linux")]
        if let Some(handle) = &self.handle {
            // The process may have exited already.
            let _ = rustix::process::pidfd_send_signal(handle, signal);
            return;
        }
        let pid = i32::try_from(self.process.id()).ok();
        let pid = pid.and_then(rustix::process::Pid::from_raw);
        if let (Some(pid), None) = (pid, self.process.exited()) {
            let _ = rustix::process::kill_process(pid, signal);
        }
    }

    /// Waits for the process to exit, and reads lines until it does.
    pub(crate) async fn exit(&mut self, within: Duration) -> Option<Exit> {
        let deadline = Instant::now() + within;
        let mut open = true;
        while self.process.exited().is_none() {
            tokio::select! {
                arrival = self.arrivals.recv(), if open => match arrival {
                    Some(arrival) => drop(self.take_in(arrival)),
                    None => open = false,
                },
                _ = self.process.wait() => break,
                () = sleep_until(deadline.into()) => return None,
            }
        }
        // Read the remaining output, but not forever: a grandchild may keep the pipe open.
        self.listen(LAST_LINES).await;
        let exit = self.process.exited()?;
        self.remember(Party::Extension, Action::Note(exit.to_string()));
        Some(exit)
    }

    /// Stores a line. Returns it if it is a `call_tool` that must be answered.
    fn take_in(&mut self, Arrival { at, line }: Arrival) -> Option<Value> {
        let whole = match &line {
            RawLine::Whole(bytes) => self.spread.push(bytes),
            RawLine::TooLong { .. } => None,
        };
        let mut received = ReceivedLine::new(at, line);
        if whole.is_some() {
            self.held.clear();
        }
        received.hints.extend(whole);
        let broken = check::violations(&received, &self.history);
        if self.spread.is_open() && received.value.is_null() {
            self.held.extend(broken);
        } else {
            self.violations.append(&mut self.held);
            self.violations.extend(broken);
        }
        self.history.record_received(&received);
        let entry = Action::Line(received.shown.clone(), received.bytes);
        self.remember_at(at, Party::Extension, entry);
        let call = received.is("call_tool").then(|| received.value.clone());
        self.received.push(received);
        call.filter(|_| self.answers_calls)
    }

    /// The exit status, if the process has exited.
    pub(crate) fn exited(&self) -> Option<Exit> {
        self.process.exited()
    }

    /// The descendants of the extension process that are still running.
    pub(crate) async fn descendants(&self) -> Vec<zot_process::Descendant> {
        self.process.descendants().await
    }

    /// Waits until stderr has been read to the end.
    pub(crate) async fn stderr_ended(&self) {
        self.stderr.ended().await;
    }

    /// The last part of stderr.
    pub(crate) fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// The time since the process was started.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    fn remember(&mut self, who: Party, action: Action) {
        self.remember_at(self.started.elapsed(), who, action);
    }

    fn remember_at(&mut self, at: Duration, who: Party, action: Action) {
        let entry = Entry { at, who, action };
        if let Some(observer) = &self.observer {
            observer(&entry);
        }
        if self.exchange.entries.len() < ENTRIES {
            self.exchange.entries.push(entry);
        }
    }
}

/// Passes the collected data to the sink, and kills the process.
impl Drop for Session {
    fn drop(&mut self) {
        self.exchange.stderr = self.stderr.text();
        let mut collected = self.sink.lock();
        collected.exchanges.push(std::mem::take(&mut self.exchange));
        collected.violations.append(&mut self.violations);
        collected.violations.append(&mut self.held);
        for received in &self.received {
            collected.seen.extend(received.contents());
        }
    }
}

fn new_directories() -> std::io::Result<Arc<TempDir>> {
    let directories = tempfile::Builder::new().prefix("zot-conform-").tempdir()?;
    std::fs::create_dir(directories.path().join("cwd"))?;
    std::fs::create_dir(directories.path().join("data"))?;
    Ok(Arc::new(directories))
}

fn line_action(line: &str) -> Action {
    Action::Line(cut(line).to_owned(), line.len())
}

/// Truncates a line to the length that is shown.
pub(crate) fn cut(line: &str) -> &str {
    &line[..line.floor_char_boundary(SHOWN_BYTES)]
}

/// Opens a pidfd for the process, so that a signal never reaches a reused PID.
#[cfg(target_os = "linux")]
fn handle_of(process: &Process) -> Option<rustix::fd::OwnedFd> {
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    let pid = Pid::from_raw(i32::try_from(process.id()).ok()?)?;
    let handle = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    // If the process is still running now, the pidfd refers to it.
    process.exited().is_none().then_some(handle)
}
