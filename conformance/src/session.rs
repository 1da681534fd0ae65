//! One process of the extension, with the harness as its host.

mod heard;
mod history;
mod pipes;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    io::AsyncWriteExt,
    process::ChildStdin,
    sync::mpsc::UnboundedReceiver,
    time::{sleep_until, timeout},
};
use zot_process::{Exit, Process, SpawnError, Spawner};
use zot_protocol::{FromHost, validate};

pub use heard::Heard;
pub use history::History;
pub(crate) use history::{Panel, REPLIES};

use self::pipes::{Arrival, Reader, Stderr};
use crate::{
    check,
    exchange::{Action, Entry, Exchange, Party, SHOWN_BYTES},
    target::Target,
    verdict::Finding,
};

/// How long a write may make no progress before the extension counts as one that does not read.
const WRITE_STALL: Duration = Duration::from_secs(5);
/// How long what is left in the pipe of a process that has exited, or its exit once its pipe has ended, may take to be
/// seen on a busy machine.
const LAST_LINES: Duration = Duration::from_secs(1);
/// How many frames, and how large, are kept for sending them again.
const SENT: usize = 100;
const SENT_BYTES: usize = 512 << 10;
/// How many moments of an exchange are kept; a flood is counted and not kept.
const ENTRIES: usize = 20_000;

/// A rule that a frame broke.
#[derive(Debug, Clone)]
pub struct Violation {
    /// The check whose rule it is.
    pub check: &'static str,
    /// What is wrong with the frame.
    pub finding: Finding,
}

/// What all sessions of a check leave behind.
#[derive(Debug, Default)]
pub struct Collected {
    /// One per process that was started.
    pub exchanges: Vec<Exchange>,
    /// Which rules their frames broke.
    pub violations: Vec<Violation>,
    /// How many frames of each type came; `image` and `panel` count what is within others.
    pub seen: HashMap<String, usize>,
}

/// Where sessions leave what they have seen when they end.
pub type Sink = Arc<Mutex<Collected>>;

/// Told of every moment as it passes.
pub type Onlooker = Arc<dyn Fn(&Entry) + Send + Sync>;

/// How a process is started.
#[derive(Clone)]
pub struct Start {
    /// Who starts it.
    pub spawner: Spawner,
    /// Held to what its manifest declares, as `zot` does it.
    pub confined: bool,
    /// Multiplies the deadlines that are the harness's own.
    pub scale: f64,
    /// Told of every moment as it passes.
    pub onlooker: Option<Onlooker>,
    /// The directories of an earlier process; without them it has new ones.
    pub directories: Option<Arc<TempDir>>,
}

/// A running process of the extension.
pub struct Session {
    process: Process,
    stdin: Option<ChildStdin>,
    arrivals: UnboundedReceiver<Arrival>,
    reader: Reader,
    stderr: Stderr,
    #[cfg(target_os = "linux")]
    handle: Option<rustix::fd::OwnedFd>,
    started: Instant,
    /// The frames that were sent since the handshake, as far as they are small enough to be sent again.
    sent: Vec<Value>,
    heard: Vec<Heard>,
    /// How many of `heard` have been given to whoever reads them one by one.
    taken: usize,
    history: History,
    violations: Vec<Violation>,
    exchange: Exchange,
    minted: u64,
    scale: f64,
    /// Whether its `call_tool` is answered, as by a host that has no tools.
    answers_calls: bool,
    onlooker: Option<Onlooker>,
    sink: Sink,
    directories: Arc<TempDir>,
}

/// Why nothing came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silence {
    /// The process has exited.
    Exited(Exit),
    /// It lives on, with its standard output closed.
    Closed,
    /// Nothing came in this time.
    Deadline(Duration),
    /// It does not read its standard input: what was to be sent could not be.
    Unread,
    /// It said so much that nobody listens to it any more.
    Flooded,
}

impl Session {
    /// Starts a process, which has the session's temporary directories as its `cwd` and `data_dir`.
    pub async fn start(target: &Target, how: &Start, sink: Sink) -> Result<Self, SpawnError> {
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
            heard: Vec::new(),
            taken: 0,
            history: History::default(),
            violations: Vec::new(),
            exchange: Exchange::default(),
            minted: 0,
            scale: how.scale,
            answers_calls: true,
            onlooker: how.onlooker.clone(),
            sink,
            directories,
        })
    }

    /// Leaves `call_tool` to whoever plays.
    pub fn leave_calls(&mut self) {
        self.answers_calls = false;
    }

    /// Where the user would work.
    pub fn cwd(&self) -> std::path::PathBuf {
        self.directories.path().join("cwd")
    }

    /// Where it may keep its data.
    pub fn data_dir(&self) -> std::path::PathBuf {
        self.directories.path().join("data")
    }

    /// Its directories, for a process that is to find what this one leaves.
    pub fn directories(&self) -> Arc<TempDir> {
        Arc::clone(&self.directories)
    }

    /// A duration of the harness's own, scaled.
    pub fn scaled(&self, duration: Duration) -> Duration {
        duration.mul_f64(self.scale)
    }

    /// An id that has not been used in this session. They are all of one length, so that a frame is shown the same each time.
    pub fn new_id(&mut self) -> String {
        self.minted += 1;
        format!("c{:06x}-{}", self.process.id(), self.minted)
    }

    /// Sends a frame. One that our own schema refuses is a fault of the harness, and panics the check that sent it.
    pub async fn send(&mut self, frame: &Value) -> Result<(), Silence> {
        if let Err(refusal) = validate::value::<FromHost>(frame) {
            panic!("zot-conform made an invalid frame: {refusal}\n{frame}");
        }
        self.send_as_is(frame).await
    }

    /// Sends a frame that need not be valid.
    pub async fn send_as_is(&mut self, frame: &Value) -> Result<(), Silence> {
        self.history.sent(frame);
        let mut line = frame.to_string();
        if self.sent.len() < SENT && line.len() < SENT_BYTES {
            self.sent.push(frame.clone());
        }
        self.remember(Party::Host, line_action(&line));
        line.push('\n');
        self.write(line.as_bytes()).await
    }

    /// The frames that were sent since the handshake.
    pub fn sent(&self) -> &[Value] {
        &self.sent
    }

    /// What was sent so far was the handshake.
    pub fn forget_sent(&mut self) {
        self.sent.clear();
    }

    /// Notes a frame that is about to be sent as bytes.
    pub fn announce(&mut self, frame: &Value) {
        self.history.sent(frame);
    }

    /// Sends bytes as they are.
    pub async fn send_raw(&mut self, bytes: &[u8]) -> Result<(), Silence> {
        let text = String::from_utf8_lossy(bytes);
        let text = text.strip_suffix('\n').unwrap_or(&text);
        self.remember(Party::Host, line_action(text));
        self.write(bytes).await
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), Silence> {
        let Some(stdin) = &mut self.stdin else {
            return Err(Silence::Unread);
        };
        let mut rest = bytes;
        while !rest.is_empty() {
            let wrote = tokio::select! {
                wrote = timeout(WRITE_STALL.mul_f64(self.scale), stdin.write(rest)) => wrote,
                exit = self.process.wait() => return Err(Silence::Exited(exit)),
            };
            match wrote {
                Ok(Ok(n)) if n > 0 => rest = &rest[n..],
                Ok(_) => return Err(self.gone(Duration::from_millis(500)).await),
                Err(_) => return Err(Silence::Unread),
            }
        }
        Ok(())
    }

    /// Its standard input is closed: it has exited, is about to, or has closed it.
    async fn gone(&self, within: Duration) -> Silence {
        match timeout(within, self.process.wait()).await {
            Ok(exit) => Silence::Exited(exit),
            Err(_) => Silence::Unread,
        }
    }

    /// The next line that nobody has taken yet.
    pub async fn next(&mut self, within: Duration) -> Result<&Heard, Silence> {
        let deadline = Instant::now() + within;
        while self.taken >= self.heard.len() {
            self.hear(deadline, within).await?;
        }
        self.taken += 1;
        Ok(&self.heard[self.taken - 1])
    }

    /// The first line from `from` on for which `wanted` holds, among those heard and those that come in time.
    pub async fn find(
        &mut self,
        from: usize,
        within: Duration,
        wanted: impl Fn(&Heard) -> bool,
    ) -> Result<usize, Silence> {
        let deadline = Instant::now() + within;
        let mut at = from;
        loop {
            while at < self.heard.len() {
                if wanted(&self.heard[at]) {
                    return Ok(at);
                }
                at += 1;
            }
            self.hear(deadline, within).await?;
        }
    }

    /// The reply of this type to the request with this id.
    pub async fn reply(
        &mut self,
        kind: &str,
        id: &str,
        within: Duration,
    ) -> Result<Heard, Silence> {
        let wanted = |heard: &Heard| heard.is(kind) && heard.id() == Some(id);
        let at = self.find(0, within, wanted).await?;
        Ok(self.heard[at].clone())
    }

    /// Listens for a while, whatever comes.
    pub async fn listen(&mut self, during: Duration) {
        let deadline = Instant::now() + during;
        while self.hear(deadline, during).await.is_ok() {}
    }

    /// Everything that was heard so far, in order.
    pub fn heard(&self) -> &[Heard] {
        &self.heard
    }

    /// Takes in one more line.
    async fn hear(&mut self, deadline: Instant, within: Duration) -> Result<(), Silence> {
        let arrival = tokio::select! {
            biased;
            arrival = self.arrivals.recv() => arrival,
            () = sleep_until(deadline.into()) => return Err(Silence::Deadline(within)),
        };
        let Some(arrival) = arrival else {
            if self.reader.gave_up() {
                return Err(Silence::Flooded);
            }
            // Nothing more can come. It exits now, or lives on without a voice.
            let left = deadline.saturating_duration_since(Instant::now());
            let grace = left.min(LAST_LINES);
            return Err(match timeout(grace, self.process.wait()).await {
                Ok(exit) => Silence::Exited(exit),
                Err(_) => Silence::Closed,
            });
        };
        // What is there already counts, however late this task is; one that never stops talking has a deadline all the same.
        let late = self.started + arrival.at > deadline + LAST_LINES;
        if let Some(call) = self.take_in(arrival) {
            self.answer_call(&call).await;
        }
        if late {
            return Err(Silence::Deadline(within));
        }
        Ok(())
    }

    /// This host has no tools; whoever calls one is told, as by any host.
    async fn answer_call(&mut self, call: &Value) {
        let answer = serde_json::json!({
            "type": "tool_result", "id": call["id"], "name": call["name"], "is_error": true,
            "content": [{"type": "text", "text": "zot-conform has no tools to call"}],
        });
        if validate::value::<FromHost>(&answer).is_ok() {
            // Whether it reads the answer is seen by what it does next.
            let _ = Box::pin(self.send_as_is(&answer)).await;
        }
    }

    /// Stops or goes on reading its standard output.
    pub fn stall(&mut self, stalled: bool) {
        self.reader.stall(stalled);
        let note = if stalled {
            "stopped reading"
        } else {
            "resumed reading"
        };
        self.remember(Party::Host, Action::Note(note.to_owned()));
    }

    /// Stops reading its standard output for a while, and returns at once.
    pub fn stall_for(&mut self, during: Duration) {
        self.reader.stall_for(during);
        let note = format!("stopped reading for {during:?}");
        self.remember(Party::Host, Action::Note(note));
    }

    /// Makes the pipe from its standard output as small as the system allows.
    pub fn narrow(&self) {
        self.reader.narrow();
    }

    /// Ends its input.
    pub fn close_stdin(&mut self) {
        if self.stdin.take().is_some() {
            self.remember(Party::Host, Action::Note("closed stdin".to_owned()));
        }
    }

    /// Sends a signal to the process itself.
    pub fn signal(&mut self, signal: rustix::process::Signal, name: &str) {
        self.remember(Party::Host, Action::Note(name.to_owned()));
        #[cfg(target_os = "linux")]
        if let Some(handle) = &self.handle {
            // Gone already is what was wanted.
            let _ = rustix::process::pidfd_send_signal(handle, signal);
            return;
        }
        let pid = i32::try_from(self.process.id()).ok();
        let pid = pid.and_then(rustix::process::Pid::from_raw);
        if let (Some(pid), None) = (pid, self.process.exited()) {
            let _ = rustix::process::kill_process(pid, signal);
        }
    }

    /// How it exits, if it does in time. What it says meanwhile is heard.
    pub async fn exit(&mut self, within: Duration) -> Option<Exit> {
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
        // What was written before the exit is in the pipe, and its end after it. A grandchild may hold the pipe for ever.
        self.listen(LAST_LINES).await;
        let exit = self.process.exited()?;
        self.remember(Party::Extension, Action::Note(exit.to_string()));
        Some(exit)
    }

    /// Takes in a line, and gives what must be answered: a `call_tool`.
    fn take_in(&mut self, Arrival { at, line }: Arrival) -> Option<Value> {
        let heard = Heard::new(at, line);
        let broken = check::violations(&heard, &self.history);
        self.violations.extend(broken);
        self.history.heard(&heard);
        let entry = Action::Line(heard.shown().to_owned(), heard.bytes());
        self.remember_at(at, Party::Extension, entry);
        let call = heard.is("call_tool").then(|| heard.value().clone());
        self.heard.push(heard);
        call.filter(|_| self.answers_calls)
    }

    /// How it has exited, if it has.
    pub fn exited(&self) -> Option<Exit> {
        self.process.exited()
    }

    /// What it has started and left, by process id.
    pub async fn descendants(&self) -> Vec<zot_process::Descendant> {
        self.process.descendants().await
    }

    /// Waits until its standard error has been read to the end.
    pub(crate) async fn stderr_ended(&self) {
        self.stderr.ended().await;
    }

    /// The end of its standard error.
    pub fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// Since the process was started.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    fn remember(&mut self, who: Party, action: Action) {
        self.remember_at(self.started.elapsed(), who, action);
    }

    fn remember_at(&mut self, at: Duration, who: Party, action: Action) {
        let entry = Entry { at, who, action };
        if let Some(onlooker) = &self.onlooker {
            onlooker(&entry);
        }
        if self.exchange.entries.len() < ENTRIES {
            self.exchange.entries.push(entry);
        }
    }
}

/// What was seen outlives the session; the process does not.
impl Drop for Session {
    fn drop(&mut self) {
        self.exchange.stderr = self.stderr.text();
        let mut collected = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        collected.exchanges.push(std::mem::take(&mut self.exchange));
        collected.violations.append(&mut self.violations);
        for heard in &self.heard {
            for what in heard.contents() {
                *collected.seen.entry(what).or_default() += 1;
            }
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

/// As much of a line as is kept for showing.
pub(crate) fn cut(line: &str) -> &str {
    &line[..line.floor_char_boundary(SHOWN_BYTES)]
}

/// Holds on to the process, so that its number cannot become another's before it is signalled.
#[cfg(target_os = "linux")]
fn handle_of(process: &Process) -> Option<rustix::fd::OwnedFd> {
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    let pid = Pid::from_raw(i32::try_from(process.id()).ok()?)?;
    let handle = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    // Still running after it was opened, so it was this process.
    process.exited().is_none().then_some(handle)
}
