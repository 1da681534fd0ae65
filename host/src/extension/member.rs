//! One extension of a host: its process, its connection, and what is known of it.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{sync::watch, task::JoinHandle};
use zot_process::{LogFile, LogLimits, Process, Spawner, Spec, pump};
use zot_protocol::{
    Event, EventName, FromExtension, HelloAck, Intercept, InterceptName, Manifest, NoteLevel,
    OnFailure, SessionStart, Tagged, limits::Limits,
};

use super::{
    chain::{Ask, Link},
    connection::{Connection, Listener, Stage, Tap},
    discover::{ExecError, Found, resolve_exec},
    event,
    fold::Answer,
    pending::Ids,
    stats::Stats,
};
use crate::{
    home::{Home, HomeError},
    hooks::Hooks,
};

/// How long the end of an extension's standard error is waited for once it has exited.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// What an extension is started from.
#[derive(Debug, Clone)]
pub struct Launch {
    /// Its manifest.
    pub manifest: Manifest,
    /// The directory of its manifest, which it works in.
    pub dir: PathBuf,
    /// The program, resolved.
    pub program: PathBuf,
    /// Where its log goes.
    pub log: PathBuf,
    /// A directory of its own.
    pub data_dir: PathBuf,
}

impl Launch {
    /// From what discovery has found. Resolves the program and makes the data directory.
    pub fn of(found: &Found, home: &Home) -> Result<Self, LaunchError> {
        let path = std::env::var_os("PATH");
        let program = resolve_exec(&found.dir, &found.manifest.exec, path.as_deref())?;
        Ok(Self {
            manifest: found.manifest.clone(),
            dir: found.dir.clone(),
            program,
            log: home.log_of(found.name()),
            data_dir: home.prepare_data_dir(found.name())?,
        })
    }
}

/// Why an extension that was found cannot be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// Its program is not there.
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// It cannot have a directory of its own.
    #[error(transparent)]
    Home(#[from] HomeError),
}

/// What all members of a host share.
pub(crate) struct Shared {
    pub(crate) limits: Limits,
    pub(crate) spawner: Spawner,
    pub(crate) ids: Arc<Ids>,
    pub(crate) hooks: Arc<dyn Hooks>,
    pub(crate) tap: Option<Arc<dyn Tap>>,
    /// Variables that no extension gets.
    pub(crate) secrets: Vec<String>,
    pub(crate) ack: HelloAck,
    /// Told when a member becomes ready, changes or ends.
    pub(crate) changed: Box<dyn Fn() + Send + Sync>,
    /// Whether a session is on: whoever becomes ready during one is told of it first.
    pub(crate) in_session: AtomicBool,
}

/// One extension of a host.
pub(crate) struct Member {
    pub(crate) launch: Launch,
    pub(crate) connection: Arc<Connection>,
    pub(crate) stats: Mutex<Stats>,
    process: Process,
    log: LogFile,
    /// Whether its standard error has been read to the end.
    pumped: watch::Receiver<bool>,
    limits: Limits,
    told_of_session: Mutex<bool>,
    reading: Mutex<Option<JoinHandle<()>>>,
}

impl Member {
    /// Starts the process and begins to read from it. It becomes ready by itself.
    pub(crate) async fn start(launch: Launch, shared: &Arc<Shared>) -> Result<Arc<Self>, String> {
        let limits = limits_of(&launch.manifest, &shared.limits);
        let mut log_limits = LogLimits::default();
        log_limits.file = limits.log_bytes;
        let log = LogFile::new(&launch.log, &log_limits);
        let mut spec = Spec::new(&launch.program)
            .args(launch.manifest.args.clone())
            .cwd(&launch.dir);
        for secret in &shared.secrets {
            spec = spec.env_remove(secret);
        }
        let mut process = shared.spawner.spawn(spec).await.map_err(|error| {
            log.note(&error.to_string());
            error.to_string()
        })?;
        let stdin = process.take_stdin().expect("not taken yet");
        let stdout = process.take_stdout().expect("not taken yet");
        let stderr = process.take_stderr().expect("not taken yet");

        let mut ack = shared.ack.clone();
        ack.extension_dir = Some(launch.dir.display().to_string());
        ack.data_dir = Some(launch.data_dir.display().to_string());

        let (done, pumped) = watch::channel(false);
        let member = Arc::new_cyclic(|member: &Weak<Self>| {
            let listener = Ear {
                member: Weak::clone(member),
                shared: Arc::clone(shared),
                name: launch.manifest.name.clone(),
                log: log.clone(),
            };
            Self {
                connection: Arc::new(Connection::new(
                    &launch.manifest.name,
                    limits.clone(),
                    Arc::clone(&shared.ids),
                    Box::new(stdin),
                    Arc::new(listener),
                    shared.tap.clone(),
                )),
                launch,
                stats: Mutex::default(),
                process,
                log: log.clone(),
                pumped,
                limits,
                told_of_session: Mutex::new(false),
                reading: Mutex::new(None),
            }
        });
        tokio::spawn(async move {
            pump(stderr, &log).await;
            let _ = done.send(true);
        });
        let reader = Arc::clone(&member);
        let reading = tokio::spawn(async move {
            let exit = async { reader.exit_in_words().await };
            reader.connection.run(ack, stdout, exit).await;
            // Whatever ended the stream, nothing of it stays behind.
            reader.process.end(reader.limits.term_grace).await;
        });
        *member
            .reading
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(reading);
        Ok(member)
    }

    pub(crate) fn name(&self) -> &str {
        self.connection.name()
    }

    pub(crate) fn is_ready(&self) -> bool {
        *self.connection.stage().borrow() == Stage::Ready
    }

    /// How it exited; before its `hello`, with the end of what it said on standard error.
    async fn exit_in_words(&self) -> String {
        let exit = self.process.wait().await;
        if *self.connection.stage().borrow() != Stage::Starting {
            return exit.to_string();
        }
        // Its last words may still be in the pipe, which a descendant may hold open.
        let mut pumped = self.pumped.clone();
        let _ = tokio::time::timeout(LAST_WORDS, pumped.wait_for(|done| *done)).await;
        match self.log.tail() {
            tail if tail.is_empty() => format!("{exit} before hello"),
            tail => format!(
                "{exit} before hello: {}",
                tail.lines().last().unwrap_or_default()
            ),
        }
    }

    /// Sends an event, after `session_start` where it has not been told yet.
    pub(crate) fn tell(&self, event: &Event, shared: &Shared) {
        if *self.connection.stage().borrow() != Stage::Ready {
            return;
        }
        let mut told = self
            .told_of_session
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if !*told && shared.in_session.load(Ordering::SeqCst) {
            *told = true;
            if !matches!(event, Event::SessionStart(_)) {
                self.send_event(&SessionStart::default().into());
            }
        }
        if matches!(event, Event::SessionEnd(_)) {
            *told = false;
        }
        self.send_event(event);
    }

    fn send_event(&self, event: &Event) {
        if self
            .connection
            .registered()
            .events
            .contains(&EventName::from(event.name()))
        {
            event::send(&self.connection, event, &self.limits);
        }
    }

    /// Who becomes ready in the middle of a session hears of its start first.
    fn catch_up(&self, shared: &Shared) {
        if *self.connection.stage().borrow() != Stage::Ready
            || !shared.in_session.load(Ordering::SeqCst)
        {
            return;
        }
        let mut told = self
            .told_of_session
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if !std::mem::replace(&mut *told, true) {
            self.send_event(&SessionStart::default().into());
        }
    }

    /// Whether it is to be asked about `event`: it has subscribed, or its manifest says that nothing passes without it.
    pub(crate) fn intercepts(&self, event: &InterceptName) -> bool {
        let live = !matches!(*self.connection.stage().borrow(), Stage::Ended(_));
        (live && self.connection.registered().intercepts.contains(event)) || self.guards(event)
    }

    fn guards(&self, event: &InterceptName) -> bool {
        self.launch.manifest.intercept.on_failure(event) == OnFailure::Block
    }

    pub(crate) fn record(&self, link: &Link) {
        self.stats
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .record(link);
    }

    /// How long a tool of it may take.
    pub(crate) fn tool_deadline(&self) -> Duration {
        self.limits.tool
    }

    /// `shutdown`, then SIGTERM, then SIGKILL, each after its grace.
    pub(crate) async fn shut_down(&self) {
        self.connection.shut_down();
        let _ = tokio::time::timeout(self.limits.shutdown_grace, self.process.wait()).await;
        self.process.end(self.limits.term_grace).await;
        let reading = self
            .reading
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(reading) = reading {
            // A descendant in another session may hold its output open; the connection need not wait for that.
            self.connection.disconnect("was shut down");
            let _ = reading.await;
        }
        self.log.finish();
    }
}

/// The manifest may move deadlines within their bounds, which its schema has checked.
fn limits_of(manifest: &Manifest, limits: &Limits) -> Limits {
    let mut limits = limits.clone();
    if let Some(timeouts) = manifest.timeouts {
        let set = |limit: &mut Duration, ms: Option<u32>| {
            if let Some(ms) = ms {
                *limit = Duration::from_millis(ms.into());
            }
        };
        set(&mut limits.hello, timeouts.hello_ms);
        set(&mut limits.tool, timeouts.tool_ms);
        set(&mut limits.intercept, timeouts.intercept_ms);
    }
    limits
}

impl Ask for Arc<Member> {
    fn name(&self) -> &str {
        Member::name(self)
    }

    fn on_failure(&self, event: &InterceptName) -> OnFailure {
        self.launch.manifest.intercept.on_failure(event)
    }

    fn deadline(&self) -> Duration {
        self.limits.intercept
    }

    async fn ask(&self, event: &Intercept) -> Answer {
        self.connection.intercept(event).await
    }
}

/// What a connection tells goes to the log, the program around the host, and the registry.
struct Ear {
    member: Weak<Member>,
    shared: Arc<Shared>,
    name: String,
    log: LogFile,
}

impl Listener for Ear {
    fn frame(&self, frame: FromExtension) {
        let hooks = &self.shared.hooks;
        match frame {
            FromExtension::Notify(note) => hooks.note(&self.name, note.level, &note.message),
            FromExtension::ClearNotes(_) => hooks.clear_notes(&self.name),
            FromExtension::OpenPanel(panel) => hooks.open_panel(&self.name, panel),
            FromExtension::PanelRender(render) => hooks.render_panel(&self.name, render),
            FromExtension::PanelClose(close) => hooks.close_panel(&self.name, close),
            FromExtension::Submit(submit) if !submit.text.trim().is_empty() => {
                hooks.submit(&self.name, &submit.text);
            }
            _ => {}
        }
    }

    fn changed(&self) {
        if let Some(member) = self.member.upgrade() {
            member.catch_up(&self.shared);
            if let Stage::Ended(why) = &*member.connection.stage().borrow()
                && !member.connection.is_leaving()
            {
                self.shared.hooks.note(&self.name, NoteLevel::Error, why);
            }
        }
        (self.shared.changed)();
    }

    fn log(&self, line: &str) {
        self.log.note(line);
    }
}
