//! One extension of a host: its process, its connection and its state.

mod listener;

use std::{
    collections::HashSet,
    mem::{Discriminant, discriminant},
    path::Path,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{
    runtime::Handle,
    sync::{Notify, watch},
    task::JoinHandle,
};
use zot_process::{LogFile, LogLimits, Process, Spawner, Spec, pump};
use zot_protocol::{
    CallTool, Capability, Event, EventName, HelloAck, InterceptName, Manifest, NoteLevel,
    PROTOCOL_VERSION, SessionStart, Tagged, limits::Limits,
};

use listener::MemberListener;

use super::{
    connection::{Connection, Stage},
    event,
    fold::Failure,
    last_known,
    launch::Launch,
    notes::Notes,
    outbox::{Outbox, QueueBudget},
    pending::Ids,
    permission::{self, PermissionReport},
    running_calls::RunningCalls,
    stats::Stats,
};
use crate::HostConfig;

/// How long to wait for the end of an extension's stderr after it has exited.
const STDERR_GRACE: Duration = Duration::from_millis(500);
/// How long to wait at shutdown for an extension's registrations to be saved.
const SAVE_GRACE: Duration = Duration::from_millis(100);

/// The host, from the point of view of its members.
pub(crate) trait Owner: Send + Sync {
    /// A member became ready, changed its registrations or exited.
    fn changed(&self);
    /// A member called a tool.
    fn call_tool(self: Arc<Self>, caller: &Arc<Member>, call: CallTool);
}

/// The causes of failure that the user has been warned about.
#[derive(Debug, Default)]
pub(crate) struct WarnedFailures(Mutex<HashSet<Discriminant<Failure>>>);

impl WarnedFailures {
    /// Records a failure. Returns true for the first one with this cause.
    pub(crate) fn first(&self, failure: &Failure) -> bool {
        self.0.lock().insert(discriminant(failure))
    }
}

/// State shared by all members of a host.
pub(crate) struct Shared {
    pub(crate) config: HostConfig,
    pub(crate) spawner: Spawner,
    pub(crate) ids: Arc<Ids>,
    /// The limit on the total output queued for all extensions.
    pub(crate) queues: Arc<QueueBudget>,
    /// The host information in `hello_ack`, for extensions started from now on.
    pub(crate) ack: Mutex<HelloAck>,
    pub(crate) owner: Weak<dyn Owner>,
    /// Whether a session is active. An extension that becomes ready during a session receives
    /// `session_start` first.
    pub(crate) in_session: AtomicBool,
}

impl Shared {
    /// Returns why an extension with these permissions must not be started, or `None` if it can be.
    fn start_refusal(&self, permissions: &PermissionReport) -> Option<String> {
        let enforced = permissions.enforced.as_ref()?;
        (self.config.strict_permissions && permissions.falls_short()).then(|| {
            format!(
                "its permissions cannot be fully enforced on this system ({enforced})\n\
                 hint: to start it anyway, omit --strict-permissions"
            )
        })
    }
}

/// An extension of a host.
pub(crate) struct Member {
    pub(crate) launch: Launch,
    pub(crate) connection: Arc<Connection>,
    pub(crate) stats: Mutex<Stats>,
    pub(crate) warned: WarnedFailures,
    pub(crate) notes: Arc<Notes>,
    pub(crate) permissions: PermissionReport,
    /// The tool calls that it is making.
    pub(crate) calls: RunningCalls,
    /// The tokio runtime it was started on, which also runs its tool calls.
    pub(crate) runtime: Handle,
    process: Process,
    log: LogFile,
    /// Becomes true when stderr has been read to the end.
    stderr_done: watch::Receiver<bool>,
    /// The host's limits, with the manifest's deadlines applied.
    pub(crate) limits: Limits,
    session_start_sent: Mutex<bool>,
    /// Whether the user has been warned that a `submit` was refused.
    warned_about_submit: AtomicBool,
    reading: Mutex<Option<JoinHandle<()>>>,
    /// Notified when its registrations change.
    registrations_changed: Arc<Notify>,
    saving: Mutex<Option<JoinHandle<()>>>,
}

impl Member {
    /// Starts the process and a task that reads from it. Does not wait for `ready`.
    pub(crate) async fn start(launch: Launch, shared: &Arc<Shared>) -> Result<Arc<Self>, String> {
        let limits = limits_of(&launch.manifest, &shared.config.limits);
        let log = log_of(&launch, &limits);
        if !launch.unknown_fields.is_empty() {
            let fields = launch.unknown_fields.join(", ");
            log.note(&format!("ignored unknown manifest fields: {fields}"));
        }
        let mut ack = shared.ack.lock().clone();
        let mut permissions = PermissionReport::of(&launch.manifest, shared.config.support);
        let started = spawn(&launch, &permissions, Path::new(&ack.cwd), shared).await;
        let mut process = started.inspect_err(|error| log.note(error))?;
        if let Some(confined) = process.confined() {
            permissions.missing.clone_from(&confined.missing);
        }
        if permissions.falls_short() {
            log.note(&format!("its permissions: {permissions}"));
        }
        for path in &permissions.missing {
            log.note(&format!("granted path does not exist: {}", path.display()));
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

        let calls = RunningCalls::new(launch.name());
        let notes = Notes::new(launch.name(), &shared.config.hooks);
        let (done, stderr_done) = watch::channel(false);
        let member = Arc::new_cyclic(|member: &Weak<Self>| {
            let listener = MemberListener {
                member: Weak::clone(member),
                shared: Arc::clone(shared),
                name: launch.manifest.name.clone(),
                log: log.clone(),
                notes: Arc::clone(&notes),
            };
            Self {
                connection: Arc::new(Connection::new(
                    &launch.manifest.name,
                    limits.clone(),
                    Arc::clone(&shared.ids),
                    Outbox::new(Box::new(stdin), &shared.queues, &limits),
                    Arc::new(listener),
                    shared.config.tap.clone(),
                )),
                launch,
                stats: Mutex::default(),
                warned: WarnedFailures::default(),
                notes,
                permissions,
                calls,
                runtime: Handle::current(),
                process,
                log: log.clone(),
                stderr_done,
                limits,
                session_start_sent: Mutex::new(false),
                warned_about_submit: AtomicBool::new(false),
                reading: Mutex::new(None),
                registrations_changed: Arc::default(),
                saving: Mutex::new(None),
            }
        });
        member.save_registrations();
        tokio::spawn(async move {
            pump(stderr, &log).await;
            let _ = done.send(true);
        });
        let reader = Arc::clone(&member);
        let reading = tokio::spawn(async move {
            let exit = async { reader.describe_exit().await };
            reader.connection.run(Box::new(stdout), ack, exit).await;
            // However the stream ended, kill what is left of the process tree.
            reader.process.end(reader.limits.term_grace).await;
        });
        *member.reading.lock() = Some(reading);
        Ok(member)
    }

    fn save_registrations(&self) {
        let path = self.launch.home.last_known_of(self.name());
        let version = self.launch.manifest.version.clone().unwrap_or_default();
        let (connection, registrations_changed) = (
            Arc::clone(&self.connection),
            Arc::clone(&self.registrations_changed),
        );
        let saving = tokio::spawn(last_known::keep_updated(
            path,
            version,
            connection,
            registrations_changed,
        ));
        *self.saving.lock() = Some(saving);
    }

    pub(crate) fn name(&self) -> &str {
        self.connection.name()
    }

    /// Writes a line to its log.
    pub(crate) fn log(&self, line: &str) {
        self.log.note(line);
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.connection.is_ready()
    }

    /// Waits for the process and describes how it exited. Before `hello`, this includes the last
    /// line of its stderr.
    async fn describe_exit(&self) -> String {
        let exit = self.process.wait().await;
        if *self.connection.stage().borrow() != Stage::Starting {
            return exit.to_string();
        }
        // The end of stderr may still be in the pipe. A descendant may hold the pipe open, so do
        // not wait for long.
        let mut stderr_done = self.stderr_done.clone();
        let _ = tokio::time::timeout(STDERR_GRACE, stderr_done.wait_for(|done| *done)).await;
        match self.log.tail() {
            tail if tail.is_empty() => format!("{exit} before it sent hello"),
            tail => format!(
                "{exit} before it sent hello: {}",
                tail.lines().last().unwrap_or_default()
            ),
        }
    }

    /// Sends an event to the extension if it has subscribed, preceded by `session_start` if that
    /// has not been sent yet.
    pub(crate) fn send_event(&self, event: &Event, shared: &Shared) {
        if !self.connection.is_ready() {
            return;
        }
        let mut sent = self.session_start_sent.lock();
        self.send_session_start(&mut sent, shared);
        if matches!(event, Event::SessionStart(_)) {
            return;
        }
        if matches!(event, Event::SessionEnd(_)) {
            *sent = false;
        }
        self.send_if_subscribed(event);
    }

    /// Sends `session_start` to an extension that became ready, or subscribed, during a session.
    fn send_missed_session_start(&self, shared: &Shared) {
        if self.connection.is_ready() {
            self.send_session_start(&mut self.session_start_sent.lock(), shared);
        }
    }

    fn send_session_start(&self, sent: &mut bool, shared: &Shared) {
        if !*sent && shared.in_session.load(Ordering::SeqCst) {
            *sent = self.send_if_subscribed(&SessionStart::default().into());
        }
    }

    /// Sends an event if the extension has subscribed to it. Returns whether it has.
    fn send_if_subscribed(&self, event: &Event) -> bool {
        let registered = self.connection.registered();
        let subscribed = registered.events.contains(&EventName::from(event.name()));
        if subscribed {
            event::send(&self.connection, event, &self.limits);
        }
        subscribed
    }

    /// Handles a prompt that the extension submits.
    fn submit(&self, text: &str, shared: &Shared) {
        if !shared.config.interactive || text.trim().is_empty() {
            return;
        }
        if self.calls.is_closed() {
            self.log("ignored submit: the extension is shutting down");
        } else if let Err(refused) = self.may_submit() {
            self.log(&format!("refused submit: {refused}"));
            self.connection.report_refused("submit", &refused);
            if !self.warned_about_submit.swap(true, Ordering::SeqCst) {
                self.notes.add(NoteLevel::Warn, &refused);
            }
        } else {
            shared.config.hooks.submit(self.name(), text);
        }
    }

    /// Checks that it may submit prompts.
    pub(crate) fn may_submit(&self) -> Result<(), String> {
        let permissions = self.launch.manifest.permissions.as_ref();
        if permissions.is_none_or(|granted| granted.submit) {
            return Ok(());
        }
        Err(not_granted("submit prompts", "\"submit\": true"))
    }

    /// Checks that it may call `tool`.
    pub(crate) fn may_call(&self, tool: &str) -> Result<(), String> {
        let permissions = self.launch.manifest.permissions.as_ref();
        if permissions.is_none_or(|granted| granted.tools.iter().any(|it| it == tool)) {
            return Ok(());
        }
        let line = format!("\"tools\": [\"{tool}\"]");
        Err(not_granted(&format!("call `{tool}`"), &line))
    }

    /// Kills its process tree in the background on the current runtime. Without a runtime, there is
    /// nothing to kill: the process tree was killed when the runtime was dropped.
    pub(crate) fn abandon(self: &Arc<Self>) {
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let member = Arc::clone(self);
            runtime.spawn(async move { member.process.kill().await });
        }
        self.connection
            .disconnect("was killed: its host was dropped");
    }

    /// Cancels its tool calls and accepts no more.
    pub(crate) fn retire(&self) {
        self.calls.close();
    }

    /// Sends `shutdown`, then SIGTERM, then SIGKILL, with a grace period before each signal.
    pub(crate) async fn shut_down(&self) {
        self.retire();
        self.connection.shut_down();
        let _ = tokio::time::timeout(self.limits.shutdown_grace, self.process.wait()).await;
        self.process.end(self.limits.term_grace).await;
        let reading = self.reading.lock().take();
        if let Some(reading) = reading {
            // A descendant in another session may hold the output open. Do not wait for it.
            self.connection.disconnect("was shut down");
            let _ = reading.await;
        }
        let saving = self.saving.lock().take();
        if let Some(saving) = saving {
            // Do not wait long if the disk hangs.
            let _ = tokio::time::timeout(SAVE_GRACE, saving).await;
        }
        self.log.finish();
    }
}

/// Describes a missing permission and the manifest line that grants it.
fn not_granted(what: &str, line: &str) -> String {
    format!("it is not allowed to {what}: add {line} to \"permissions\" in its extension.json")
}

/// Starts the process, unless strict permissions forbid it.
async fn spawn(
    launch: &Launch,
    permissions: &PermissionReport,
    cwd: &Path,
    shared: &Shared,
) -> Result<Process, String> {
    if let Some(refusal) = shared.start_refusal(permissions) {
        return Err(refusal);
    }
    let program = launch.program().map_err(|error| error.to_string())?;
    if let Some(note) = launch.prepare_data().map_err(|error| error.to_string())? {
        shared
            .config
            .hooks
            .note(launch.name(), NoteLevel::Warn, &note);
    }
    let spec = Spec::new(program)
        .args(launch.manifest.args.clone())
        .cwd(&launch.dir);
    let spec = permission::apply(
        spec,
        launch,
        cwd,
        &shared.config.secrets,
        shared.config.support,
    );
    let spawned = shared.spawner.spawn(spec).await;
    spawned.map_err(|error| permission::explain(&error))
}

/// Opens the log of an extension, whether or not it can be started.
pub(crate) fn log_of(launch: &Launch, limits: &Limits) -> LogFile {
    let mut log_limits = LogLimits::default();
    log_limits.file = limits.log_bytes;
    LogFile::new(launch.home.log_of(launch.name()), &log_limits)
}

/// Applies the deadlines in the manifest, whose bounds have been checked by the manifest's schema.
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
