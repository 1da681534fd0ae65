//! One extension of a host: its process, its connection, and what is known of it.

mod ear;

use std::{
    collections::{BTreeMap, HashSet},
    mem::{Discriminant, discriminant},
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    runtime::Handle,
    sync::{Notify, watch},
    task::JoinHandle,
    time::Instant,
};
use zot_process::{LogFile, LogLimits, Process, Spawner, Spec, Support, pump};
use zot_protocol::{
    CallTool, Capability, Event, EventName, ExtensionConfig, HelloAck, Intercept, InterceptName,
    Manifest, NoteLevel, OnFailure, PROTOCOL_VERSION, SessionStart, Tagged, limits::Limits,
};

use ear::Ear;

use super::{
    calls::Calls,
    chain::{Ask, Link},
    connection::{Connection, Stage, Tap},
    event,
    fold::{Answer, Failure},
    last_known,
    launch::Launch,
    outbox::{Budget, Outbox},
    pending::Ids,
    permission::{self, PermissionReport},
    stats::Stats,
};
use crate::hooks::Hooks;

/// How long the end of an extension's standard error is waited for once it has exited.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How long what it last offered may take to reach the disk.
const KEEPING: Duration = Duration::from_millis(100);

/// The host, as its members see it.
pub(crate) trait Owner: Send + Sync {
    /// A member has become ready, has changed or has ended.
    fn changed(&self);
    /// A member wants a tool to be run.
    fn call_tool(self: Arc<Self>, caller: &Arc<Member>, call: CallTool);
}

/// The causes of failure that the user has been told of.
#[derive(Debug, Default)]
pub(crate) struct Warned(Mutex<HashSet<Discriminant<Failure>>>);

impl Warned {
    /// Whether this is the first failure of its cause.
    pub(crate) fn first(&self, failure: &Failure) -> bool {
        lock(&self.0).insert(discriminant(failure))
    }
}

/// What all members of a host share.
pub(crate) struct Shared {
    pub(crate) limits: Limits,
    pub(crate) spawner: Spawner,
    pub(crate) ids: Arc<Ids>,
    /// What waits to be written to them.
    pub(crate) queues: Arc<Budget>,
    pub(crate) hooks: Arc<dyn Hooks>,
    pub(crate) tap: Option<Arc<dyn Tap>>,
    /// Variables that an extension gets only where it lists them.
    pub(crate) secrets: Vec<String>,
    /// What the kernel is taken to enforce.
    pub(crate) support: Support,
    pub(crate) strict_permissions: bool,
    /// What extensions are told about the host, from the next start on.
    pub(crate) ack: Mutex<HelloAck>,
    pub(crate) owner: Weak<dyn Owner>,
    pub(crate) interactive: bool,
    /// The user's, by extension.
    pub(crate) settings: Mutex<BTreeMap<String, ExtensionConfig>>,
    /// Whether a session is on: whoever becomes ready during one is told of it first.
    pub(crate) in_session: AtomicBool,
}

impl Shared {
    /// Why an extension with these permissions is not started.
    fn refusal_of(&self, permissions: &PermissionReport) -> Option<String> {
        let enforced = permissions.enforced.as_ref()?;
        (self.strict_permissions && permissions.falls_short()).then(|| {
            format!(
                "its permissions cannot be held here ({enforced})\n\
                 hint: without --strict-permissions it is started all the same"
            )
        })
    }
}

/// One extension of a host.
pub(crate) struct Member {
    pub(crate) launch: Launch,
    pub(crate) connection: Arc<Connection>,
    pub(crate) stats: Mutex<Stats>,
    pub(crate) warned: Warned,
    pub(crate) permissions: PermissionReport,
    /// The tools that it is having run.
    pub(crate) calls: Calls,
    /// Where it was started, which is where its calls run, whoever has heard of them.
    pub(crate) runtime: Handle,
    process: Process,
    log: LogFile,
    /// Whether its standard error has been read to the end.
    pumped: watch::Receiver<bool>,
    limits: Limits,
    told_of_session: Mutex<bool>,
    /// Whether the user knows that a `submit` of it was refused.
    told_of_submit: AtomicBool,
    reading: Mutex<Option<JoinHandle<()>>>,
    /// Told when it offers something else.
    offers: Arc<Notify>,
    keeping: Mutex<Option<JoinHandle<()>>>,
}

impl Member {
    /// Starts the process and begins to read from it. It becomes ready by itself.
    pub(crate) async fn start(launch: Launch, shared: &Arc<Shared>) -> Result<Arc<Self>, String> {
        let limits = limits_of(&launch.manifest, &shared.limits);
        let log = log_of(&launch, &limits);
        if !launch.unknown_fields.is_empty() {
            let fields = launch.unknown_fields.join(", ");
            log.note(&format!("ignored unknown fields of the manifest: {fields}"));
        }
        let mut ack = lock(&shared.ack).clone();
        let mut permissions = PermissionReport::of(&launch.manifest, shared.support);
        let started = spawn(&launch, &permissions, Path::new(&ack.cwd), shared).await;
        let mut process = started.inspect_err(|error| log.note(error))?;
        if let Some(confined) = process.confined() {
            permissions.missing.clone_from(&confined.missing);
        }
        if permissions.falls_short() {
            log.note(&format!("its permissions: {permissions}"));
        }
        for path in &permissions.missing {
            log.note(&format!("granted and not there: {}", path.display()));
        }
        let stdin = process.take_stdin().expect("not taken yet");
        let stdout = process.take_stdout().expect("not taken yet");
        let stderr = process.take_stderr().expect("not taken yet");

        ack.protocol_version = PROTOCOL_VERSION;
        ack.extension_dir = Some(launch.dir.display().to_string());
        ack.data_dir = Some(launch.data_dir().display().to_string());
        ack.capabilities = Capability::KNOWN.to_vec();
        ack.supported_events = EventName::KNOWN.to_vec();
        ack.supported_intercepts = InterceptName::KNOWN.to_vec();

        let calls = Calls::new(launch.name());
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
                    Outbox::new(Box::new(stdin), &shared.queues, &limits),
                    Arc::new(listener),
                    shared.tap.clone(),
                )),
                launch,
                stats: Mutex::default(),
                warned: Warned::default(),
                permissions,
                calls,
                runtime: Handle::current(),
                process,
                log: log.clone(),
                pumped,
                limits,
                told_of_session: Mutex::new(false),
                told_of_submit: AtomicBool::new(false),
                reading: Mutex::new(None),
                offers: Arc::default(),
                keeping: Mutex::new(None),
            }
        });
        member.keep_last_known();
        tokio::spawn(async move {
            pump(stderr, &log).await;
            let _ = done.send(true);
        });
        let reader = Arc::clone(&member);
        let reading = tokio::spawn(async move {
            let exit = async { reader.exit_in_words().await };
            reader.connection.run(Box::new(stdout), ack, exit).await;
            // Whatever ended the stream, nothing of it stays behind.
            reader.process.end(reader.limits.term_grace).await;
        });
        *lock(&member.reading) = Some(reading);
        Ok(member)
    }

    fn keep_last_known(&self) {
        let path = self.launch.home.last_known_of(self.name());
        let version = self.launch.manifest.version.clone().unwrap_or_default();
        let (connection, offers) = (Arc::clone(&self.connection), Arc::clone(&self.offers));
        let keeping = tokio::spawn(last_known::keep(path, version, connection, offers));
        *lock(&self.keeping) = Some(keeping);
    }

    pub(crate) fn name(&self) -> &str {
        self.connection.name()
    }

    /// A line for its log.
    pub(crate) fn log(&self, line: &str) {
        self.log.note(line);
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.connection.is_ready()
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
        if !self.connection.is_ready() {
            return;
        }
        let mut told = lock(&self.told_of_session);
        self.tell_of_session(&mut told, shared);
        if matches!(event, Event::SessionStart(_)) {
            return;
        }
        if matches!(event, Event::SessionEnd(_)) {
            *told = false;
        }
        self.send_event(event);
    }

    /// Who becomes ready, or subscribes, in the middle of a session hears of its start first.
    fn catch_up(&self, shared: &Shared) {
        if self.connection.is_ready() {
            self.tell_of_session(&mut lock(&self.told_of_session), shared);
        }
    }

    fn tell_of_session(&self, told: &mut bool, shared: &Shared) {
        if !*told && shared.in_session.load(Ordering::SeqCst) {
            *told = self.send_event(&SessionStart::default().into());
        }
    }

    /// Whether it has subscribed to it.
    fn send_event(&self, event: &Event) -> bool {
        let registered = self.connection.registered();
        let subscribed = registered.events.contains(&EventName::from(event.name()));
        if subscribed {
            event::send(&self.connection, event, &self.limits);
        }
        subscribed
    }

    /// A prompt that it wants to have submitted.
    fn submit(&self, text: &str, shared: &Shared) {
        if !shared.interactive || text.trim().is_empty() {
            return;
        }
        if self.calls.is_closed() {
            self.log("ignored submit: it is shutting down");
        } else if let Err(refused) = self.may_submit() {
            self.log(&format!("refused submit: {refused}"));
            self.connection.refuse("submit", &refused);
            if !self.told_of_submit.swap(true, Ordering::SeqCst) {
                shared.hooks.note(self.name(), NoteLevel::Warn, &refused);
            }
        } else {
            shared.hooks.submit(self.name(), text);
        }
    }

    /// Whether it may submit prompts, or why not.
    pub(crate) fn may_submit(&self) -> Result<(), String> {
        let permissions = self.launch.manifest.permissions.as_ref();
        if permissions.is_none_or(|granted| granted.submit) {
            return Ok(());
        }
        Err(not_granted("submit prompts", "\"submit\": true"))
    }

    /// Whether it may call `tool`, or why not.
    pub(crate) fn may_call(&self, tool: &str) -> Result<(), String> {
        let permissions = self.launch.manifest.permissions.as_ref();
        if permissions.is_none_or(|granted| granted.tools.iter().any(|it| it == tool)) {
            return Ok(());
        }
        let line = format!("\"tools\": [\"{tool}\"]");
        Err(not_granted(&format!("call `{tool}`"), &line))
    }

    /// Whether it is to be asked about `event`: it has subscribed, or its manifest says that nothing passes without it.
    pub(crate) fn intercepts(&self, event: &InterceptName) -> bool {
        let ready = self.connection.is_ready();
        (ready && self.connection.registered().intercepts.contains(event)) || self.guards(event)
    }

    fn guards(&self, event: &InterceptName) -> bool {
        self.launch.manifest.intercept.on_failure(event) == OnFailure::Block
    }

    pub(crate) fn record(&self, link: &Link) {
        lock(&self.stats).record(link);
    }

    /// How long a tool of it may take.
    pub(crate) fn tool_deadline(&self) -> Duration {
        self.limits.tool
    }

    /// Has it killed, with all it has started, by the runtime this is called on. A runtime that is gone has done so.
    pub(crate) fn abandon(self: &Arc<Self>) {
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let member = Arc::clone(self);
            runtime.spawn(async move { member.process.kill().await });
        }
        self.connection.disconnect("was let go: its host is gone");
    }

    /// Cancels what it is having done, and does nothing for it from now on.
    pub(crate) fn retire(&self) {
        self.calls.close();
    }

    /// `shutdown`, then SIGTERM, then SIGKILL, each after its grace.
    pub(crate) async fn shut_down(&self) {
        self.retire();
        self.connection.shut_down();
        let _ = tokio::time::timeout(self.limits.shutdown_grace, self.process.wait()).await;
        self.process.end(self.limits.term_grace).await;
        let reading = lock(&self.reading).take();
        if let Some(reading) = reading {
            // A descendant in another session may hold its output open; the connection need not wait for that.
            self.connection.disconnect("was shut down");
            let _ = reading.await;
        }
        let keeping = lock(&self.keeping).take();
        if let Some(keeping) = keeping {
            // A disk that hangs is not waited for.
            let _ = tokio::time::timeout(KEEPING, keeping).await;
        }
        self.log.finish();
    }
}

/// Why something is refused that the manifest could grant, and the line that grants it.
fn not_granted(what: &str, line: &str) -> String {
    format!("it may not {what}: add {line} to \"permissions\" in its extension.json")
}

/// Starts the process, if its permissions can be held as they must be.
async fn spawn(
    launch: &Launch,
    permissions: &PermissionReport,
    cwd: &Path,
    shared: &Shared,
) -> Result<Process, String> {
    if let Some(refusal) = shared.refusal_of(permissions) {
        return Err(refusal);
    }
    let program = launch.program().map_err(|error| error.to_string())?;
    if let Some(note) = launch.prepare_data().map_err(|error| error.to_string())? {
        shared.hooks.note(launch.name(), NoteLevel::Warn, &note);
    }
    let spec = Spec::new(program)
        .args(launch.manifest.args.clone())
        .cwd(&launch.dir);
    let spec = permission::apply(spec, launch, cwd, &shared.secrets, shared.support);
    let spawned = shared.spawner.spawn(spec).await;
    spawned.map_err(|error| permission::explain(&error))
}

/// The log of an extension, whether it can be started or not.
pub(crate) fn log_of(launch: &Launch, limits: &Limits) -> LogFile {
    let mut log_limits = LogLimits::default();
    log_limits.file = limits.log_bytes;
    LogFile::new(launch.home.log_of(launch.name()), &log_limits)
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

    fn may_rewrite(&self, event: &InterceptName) -> bool {
        let permissions = self.launch.manifest.permissions.as_ref();
        permissions.is_none_or(|granted| granted.intercept.contains(event))
    }

    fn is_final(&self, event: &InterceptName) -> bool {
        self.launch.manifest.intercept.is_final(event)
    }

    fn deadline(&self) -> Duration {
        self.limits.intercept
    }

    async fn ask(&self, event: &Intercept, until: Instant) -> Answer {
        self.connection.intercept(event, until).await
    }

    async fn ask_last(&self, event: &Intercept, until: Instant) -> Answer {
        self.connection.intercept_last(event, until).await
    }
}

/// Nothing in here panics while it holds a lock.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
