//! The extension host: all extensions of a program behind one type.

mod call_tool;
mod executor;
mod invocation;
mod lifecycle;
mod outcome;
mod slot;

use std::{
    collections::{BTreeMap, HashSet},
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::Mutex;
use tokio::sync::watch;
use zot_process::{Spawner, Support};
use zot_protocol::{
    Action, ApprovalRule, CallTool, CommandResponse, Event, ExtensionConfig, FromHost, HelloAck,
    Intercept, InterceptName, NoteLevel, PanelClose, PanelKey, PanelResize, SessionStart, Tagged,
    limits::Limits,
};

use crate::{
    approval::Approvals,
    decisions::{Decision, DecisionLog, Subject},
    extension::{
        Builtins, Registry, RequestError, Shadowed,
        chain::{self, ChainOutcome, Interceptor},
        connection::Tap,
        member::{Member, Owner, Shared},
        notes::HeldNotes,
        outbox::QueueBudget,
        stats::Stats,
    },
    hooks::{Hooks, NoHooks},
};

use slot::Slot;

#[cfg(feature = "agent")]
pub(crate) use executor::{Executor, ExtensionTools, Progress, Running};
#[cfg(feature = "agent")]
pub(crate) use invocation::{Invocation, Watcher};
pub use outcome::ToolOutcome;

/// The configuration of a [`Host`].
pub struct HostConfig {
    /// Deadlines and size limits. Default: the protocol's limits.
    pub limits: Limits,
    /// What `hello_ack` tells extensions about the host. The host fills in each extension's own
    /// directories.
    pub ack: HelloAck,
    /// The callbacks into the embedding program.
    pub hooks: Arc<dyn Hooks>,
    /// Decides which calls need confirmation. Default: [`Hooks::confirm`] is asked about every
    /// call.
    pub approvals: Arc<Approvals>,
    /// Sees every line in both directions.
    pub tap: Option<Arc<dyn Tap>>,
    /// The names of the built-in commands and tools.
    pub builtins: Builtins,
    /// Environment variables, such as provider API keys, that are passed to an extension only if
    /// its manifest lists them in `permissions.env`. The RPC token is never passed to an extension
    /// and need not be listed.
    pub secrets: Vec<String>,
    /// The permissions that the kernel can enforce. Default: the result of probing it.
    pub support: Support,
    /// Whether to refuse to start an extension whose permissions cannot be fully enforced.
    pub strict_permissions: bool,
    /// Whether there is a user to interact with. Without one, calling a tool that interacts with
    /// the user is an error.
    pub interactive: bool,
    /// The user's settings for each extension, from the configuration file.
    pub settings: BTreeMap<String, ExtensionConfig>,
    /// The record of interceptors' decisions. Default: none.
    pub decisions: Option<Arc<DecisionLog>>,
}

impl HostConfig {
    /// Creates a configuration with the protocol's limits and no hooks. `ack` describes the host to
    /// extensions.
    pub fn new(ack: HelloAck) -> Self {
        Self {
            limits: Limits::default(),
            ack,
            hooks: Arc::new(NoHooks),
            approvals: Arc::default(),
            tap: None,
            builtins: Builtins::default(),
            secrets: Vec::new(),
            support: Support::probe(),
            strict_permissions: false,
            interactive: false,
            settings: BTreeMap::new(),
            decisions: None,
        }
    }
}

/// An error from a request to the host.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// No extension provides this command.
    #[error("no extension has the command `/{0}`")]
    NoSuchCommand(String),
    /// No extension provides this tool.
    #[error("there is no tool `{0}`")]
    NoSuchTool(String),
    /// No extension with this name is running.
    #[error("extension `{0}` is not running")]
    NoSuchExtension(String),
    /// The extension lacks a required permission.
    #[error("{extension}: {why}")]
    Denied {
        /// The extension.
        extension: String,
        /// What it is not allowed to do, and which permission would allow it.
        why: String,
    },
    /// The user declined the call.
    #[error("the user declined this call to `{0}`")]
    Declined(String),
    /// The user's configuration does not allow the call.
    #[error("`{tool}` is not allowed: `approvals` in the user's config.json has the rule {rule}")]
    Forbidden {
        /// The tool.
        tool: String,
        /// The rule.
        rule: Box<ApprovalRule>,
    },
    /// The call needs confirmation, and there is nobody to ask.
    #[error("{}", unconfirmed(tool, rule.as_deref()))]
    Unconfirmed {
        /// The tool.
        tool: String,
        /// The rule that requires confirmation.
        rule: Option<Box<ApprovalRule>>,
    },
    /// The extension did not answer, or its answer is invalid.
    #[error("{extension}: {error}")]
    Extension {
        /// The extension.
        extension: String,
        /// What went wrong.
        #[source]
        error: RequestError,
    },
}

fn unconfirmed(tool: &str, rule: Option<&ApprovalRule>) -> String {
    let rule = rule.map_or(String::new(), |rule| format!(" because of the rule {rule}"));
    format!(
        "`{tool}` needs the user's confirmation{rule}, but only interactive mode can ask\nhint: the user can add an `allow` rule to `approvals` in config.json, or pass --yolo"
    )
}

impl HostError {
    fn of(extension: &str, error: RequestError) -> Self {
        let extension = extension.to_owned();
        Self::Extension { extension, error }
    }
}

/// All extensions of a program. Cheap to clone. Dropping the last clone kills the extensions
/// without a grace period, so call [`Host::shutdown`] first.
#[derive(Clone)]
pub struct Host(Arc<HostInner>);

struct HostInner {
    shared: Arc<Shared>,
    /// Every extension in load order, including those that are starting or stopping.
    slots: Mutex<Arc<Vec<Slot>>>,
    registry: watch::Sender<Arc<Registry>>,
    /// The extensions that receive requests; `None` during a reload, when requests wait. Only
    /// changed under the registry's lock, so that the two always agree.
    active: watch::Sender<Option<Arc<Vec<Slot>>>>,
    reloading: tokio::sync::Mutex<()>,
    /// Whether `slots` contains every extension that was found: false before the first load, and
    /// while a reload looks for extensions.
    listed: watch::Sender<bool>,
    /// Whether the host is shutting down or has shut down.
    closing: watch::Sender<bool>,
    /// Whether the user has been warned that permissions are not fully enforced.
    warned_about_support: AtomicBool,
    /// The agent that these extensions extend.
    #[cfg(feature = "agent")]
    agent: std::sync::OnceLock<Weak<crate::agent::Agent>>,
}

impl Host {
    /// Creates a host without extensions; [`Host::load`] starts them. Must be called within a tokio
    /// runtime.
    pub fn new(config: HostConfig) -> std::io::Result<Self> {
        let spawner = Spawner::new()?;
        Ok(Self(Arc::new_cyclic(|inner: &Weak<HostInner>| {
            let owner: Weak<dyn Owner> = Weak::<HostInner>::clone(inner);
            HostInner {
                shared: Arc::new(Shared {
                    queues: QueueBudget::new(&config.limits),
                    spawner,
                    ids: Arc::default(),
                    ack: Mutex::new(config.ack.clone()),
                    owner,
                    in_session: AtomicBool::new(false),
                    config,
                }),
                slots: Mutex::default(),
                registry: watch::Sender::new(Arc::default()),
                active: watch::Sender::new(Some(Arc::default())),
                reloading: tokio::sync::Mutex::new(()),
                listed: watch::Sender::new(false),
                closing: watch::Sender::new(false),
                warned_about_support: AtomicBool::new(false),
                #[cfg(feature = "agent")]
                agent: std::sync::OnceLock::new(),
            }
        })))
    }

    /// Sets the agent, which runs the extensions' tool calls. Must be called before any extension
    /// starts.
    #[cfg(feature = "agent")]
    pub(crate) fn attach(&self, agent: &Arc<crate::agent::Agent>) {
        let _ = self.0.agent.set(Arc::downgrade(agent));
    }

    /// Returns the commands and tools that extensions provide at this moment.
    pub fn registry(&self) -> Arc<Registry> {
        self.0.registry.borrow().clone()
    }

    /// Returns a receiver that is notified when the registry changes.
    pub fn changes(&self) -> watch::Receiver<Arc<Registry>> {
        self.0.registry.subscribe()
    }

    /// Runs an extension's slash command. Dropping the future cancels the request; a late answer is
    /// ignored.
    pub async fn command(&self, name: &str, args: &str) -> Result<CommandResponse, HostError> {
        self.members().await;
        let registry = self.registry();
        let entry = registry
            .command(name)
            .ok_or_else(|| HostError::NoSuchCommand(name.to_owned()))?;
        let answer = entry.member.connection.command(&entry.name, args).await;
        let answer = answer.map_err(|error| HostError::of(&entry.extension, error))?;
        if answer.action == Some(Action::Prompt) && answer.error.as_deref().unwrap_or("").is_empty()
        {
            let extension = entry.extension.clone();
            let denied = |why| HostError::Denied { extension, why };
            entry.member.may_submit().map_err(denied)?;
        }
        Ok(answer)
    }

    /// Starts a session. `session_start` is the first event that every extension receives,
    /// including those that become ready later.
    pub fn start_session(&self) {
        self.0.shared.in_session.store(true, Ordering::SeqCst);
        self.send_event(&SessionStart::default().into());
    }

    /// The record of interceptors' decisions, if there is one.
    pub fn decisions(&self) -> Option<&Arc<DecisionLog>> {
        self.0.shared.config.decisions.as_ref()
    }

    /// Records decisions in the file of this session from now on.
    #[cfg(feature = "agent")]
    pub(crate) fn set_session(&self, session: &str) {
        if let Some(log) = &self.0.shared.config.decisions {
            log.set_session(session);
        }
    }

    /// Sends an event to its subscribers, in load order.
    pub fn send_event(&self, event: &Event) {
        if matches!(event, Event::SessionEnd(_)) {
            self.0.shared.in_session.store(false, Ordering::SeqCst);
        }
        for slot in self.0.slots().iter() {
            if let Slot::Started(member) = slot {
                member.send_event(event, &self.0.shared);
            }
        }
    }

    /// Reports whether an extension intercepts `event`. Returns true during a reload, when this is
    /// not known.
    pub fn intercepts(&self, event: &InterceptName) -> bool {
        let active = self.0.active.borrow().clone();
        active.is_none_or(|slots| slots.iter().any(|slot| slot.intercepts(event)))
    }

    /// Asks the interceptors of `event` in load order.
    pub async fn intercept(&self, event: Intercept) -> ChainOutcome {
        self.intercept_holding_notes(event).await.0
    }

    /// Like [`intercept`](Self::intercept), but the interceptors' notes wait until the caller drops
    /// the second value.
    pub(crate) async fn intercept_holding_notes(
        &self,
        event: Intercept,
    ) -> (ChainOutcome, HeldNotes) {
        let slots = self.members().await;
        if *self.0.closing.borrow() {
            let refused = ChainOutcome::refused("zot is shutting down");
            return (refused, HeldNotes::default());
        }
        let name = InterceptName::from(event.name());
        if matches!(&event, Intercept::AssistantMessage(message) if message.text.is_empty()) {
            return (ChainOutcome::unasked(event), HeldNotes::default());
        }
        let interceptors: Vec<Slot> = slots
            .iter()
            .filter(|slot| slot.intercepts(&name))
            .cloned()
            .collect();
        let subject = Subject::of(&event);
        let held = HeldNotes::of(interceptors.iter().map(|it| Arc::clone(it.notes())));
        let outcome = chain::run(interceptors, event, self.0.shared.config.limits.chain).await;
        for record in &outcome.records {
            if let Some(slot) = slots
                .iter()
                .find(|slot| Interceptor::name(*slot) == record.extension)
            {
                slot.record(&name, record);
            }
        }
        if !outcome.records.is_empty() {
            self.record_decision(subject, &outcome);
        }
        (outcome, held)
    }

    fn record_decision(&self, subject: Subject, outcome: &ChainOutcome) {
        let config = &self.0.shared.config;
        let Some(log) = &config.decisions else {
            return;
        };
        let decision = Decision::new(subject, outcome, log.detail);
        if let Err(message) = log.add(&decision) {
            config.hooks.notice(NoteLevel::Warn, &message);
        }
    }

    /// Sends an extension a key press in one of its panels.
    pub fn panel_key(&self, extension: &str, key: PanelKey) -> Result<(), HostError> {
        self.send(extension, &key.into())
    }

    /// Sends an extension the new size of one of its panels.
    pub fn panel_resize(&self, extension: &str, resize: PanelResize) -> Result<(), HostError> {
        self.send(extension, &resize.into())
    }

    /// Notifies an extension that the user closed one of its panels.
    pub fn panel_close(&self, extension: &str, close: PanelClose) -> Result<(), HostError> {
        self.send(extension, &close.into())
    }

    fn send(&self, extension: &str, frame: &FromHost) -> Result<(), HostError> {
        let slots = self.0.slots();
        let mut ready = slots.iter().filter_map(Slot::ready);
        let member = ready.find(|member| member.name() == extension);
        let member = member.ok_or_else(|| HostError::NoSuchExtension(extension.to_owned()))?;
        let sent = member.connection.send(frame);
        sent.map_err(|error| HostError::of(extension, error))
    }

    /// Changes the host information in `hello_ack`, such as the model or the directory. Applies to
    /// extensions started from now on.
    pub fn set_ack(&self, ack: HelloAck) {
        *self.0.shared.ack.lock() = ack;
    }

    /// Returns the statistics of each extension as an interceptor, in load order.
    pub fn stats(&self) -> Vec<(String, Stats)> {
        let slots = self.0.slots();
        let started = slots.iter().filter_map(|slot| match slot {
            Slot::Started(member) => Some((member.name().to_owned(), member.stats.lock().clone())),
            Slot::Failed(_) => None,
        });
        started.collect()
    }

    /// Waits until no reload is running, then returns the extensions that receive requests.
    async fn members(&self) -> Arc<Vec<Slot>> {
        let active = self.0.active.borrow().clone();
        if let Some(slots) = active {
            return slots;
        }
        let mut active = self.0.active.subscribe();
        let slots = active.wait_for(Option::is_some).await;
        let slots = slots.expect("the sender lives as long as the host");
        slots.clone().expect("just waited until it is `Some`")
    }
}

impl HostInner {
    fn slots(&self) -> Arc<Vec<Slot>> {
        Arc::clone(&self.slots.lock())
    }

    /// Sends requests to these extensions from now on, and rebuilds the registry.
    fn publish(&self, slots: Arc<Vec<Slot>>) {
        self.registry.send_modify(|registry| {
            self.rebuild_registry(registry, &slots);
            self.active.send_replace(Some(slots));
        });
    }

    /// Rebuilds the registry from the extensions that are ready.
    fn rebuild_registry(&self, registry: &mut Arc<Registry>, slots: &[Slot]) {
        let ready: Vec<&Arc<Member>> = slots.iter().filter_map(Slot::ready).collect();
        let new = Registry::of(&ready, &self.shared.config.builtins);
        let known: HashSet<&Shadowed> = registry.shadowed().iter().collect();
        for shadowed in new.shadowed().iter().filter(|it| !known.contains(it)) {
            let loser = ready.iter().find(|it| it.name() == shadowed.extension);
            if let Some(loser) = loser {
                loser.log(&shadowed.to_string());
            }
        }
        *registry = Arc::new(new);
    }
}

impl Drop for HostInner {
    fn drop(&mut self) {
        for slot in self.slots().iter() {
            if let Slot::Started(member) = slot {
                member.abandon();
            }
        }
    }
}

impl Owner for HostInner {
    fn changed(&self) {
        self.registry.send_if_modified(|registry| {
            // During a reload the old registry stays in place, and is replaced once at the end.
            let active = self.active.borrow().clone();
            if let Some(slots) = &active {
                self.rebuild_registry(registry, slots);
            }
            active.is_some()
        });
    }

    fn call_tool(self: Arc<Self>, caller: &Arc<Member>, call: CallTool) {
        Host(self).handle_call_tool(caller, call);
    }
}
