//! The extension host: all extensions of a program, as one.

mod call_tool;
mod executor;
mod invocation;
mod lifecycle;
mod outcome;
mod slot;

use std::{
    collections::{BTreeMap, HashSet},
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::watch;
use zot_process::{Spawner, Support};
use zot_protocol::{
    Action, CallTool, CommandResponse, Event, ExtensionConfig, FromHost, HelloAck, Intercept,
    InterceptName, PanelClose, PanelKey, PanelResize, SessionStart, Tagged, limits::Limits,
};

use crate::{
    extension::{
        Builtins, Registry, RequestError, Shadowed,
        chain::{self, Ask, Outcome},
        connection::Tap,
        member::{Member, Owner, Shared, lock},
        outbox::Budget,
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

/// How a host is set up.
pub struct HostConfig {
    /// Deadlines and bounds; the protocol's by default.
    pub limits: Limits,
    /// What extensions are told about the host; their own directories are filled in.
    pub ack: HelloAck,
    /// The program around the host.
    pub hooks: Arc<dyn Hooks>,
    /// Sees every frame of both directions.
    pub tap: Option<Arc<dyn Tap>>,
    /// Names that extensions cannot take.
    pub builtins: Builtins,
    /// Environment variables that an extension gets only where its manifest's `permissions.env` lists them: the keys of
    /// providers. The token of the driver protocol it never gets.
    pub secrets: Vec<String>,
    /// What the kernel is taken to enforce of permissions; what it says of itself by default.
    pub support: Support,
    /// Whether an extension whose permissions cannot be enforced is refused.
    pub strict_permissions: bool,
    /// Whether there is a user to talk with. Without one, calling a tool that talks with the user is an error.
    pub interactive: bool,
    /// The user's settings by extension, from the configuration.
    pub settings: BTreeMap<String, ExtensionConfig>,
}

impl HostConfig {
    /// A host with the protocol's limits and nothing around it. `ack` says who it is.
    pub fn new(ack: HelloAck) -> Self {
        Self {
            limits: Limits::default(),
            ack,
            hooks: Arc::new(NoHooks),
            tap: None,
            builtins: Builtins::default(),
            secrets: Vec::new(),
            support: Support::probe(),
            strict_permissions: false,
            interactive: false,
            settings: BTreeMap::new(),
        }
    }
}

/// Why a host could not do what it was asked to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// No extension offers this command.
    #[error("no extension has the command `/{0}`")]
    NoSuchCommand(String),
    /// No extension offers this tool.
    #[error("there is no tool `{0}`")]
    NoSuchTool(String),
    /// No extension of this name is running.
    #[error("no extension `{0}` is running")]
    NoSuchExtension(String),
    /// The extension's permissions do not cover it.
    #[error("{extension}: {why}")]
    Denied {
        /// The extension.
        extension: String,
        /// What it may not do, and what would grant it.
        why: String,
    },
    /// The user does not want it.
    #[error("the user declined this call of `{0}`")]
    Declined(String),
    /// The extension gave no answer that counts.
    #[error("{extension}: {error}")]
    Extension {
        /// The extension.
        extension: String,
        /// What went wrong.
        #[source]
        error: RequestError,
    },
}

impl HostError {
    fn of(extension: &str, error: RequestError) -> Self {
        let extension = extension.to_owned();
        Self::Extension { extension, error }
    }
}

/// All extensions of a program. Cheap to clone; the last clone that is dropped ends them without a grace, so call
/// [`Host::shutdown`] before.
#[derive(Clone)]
pub struct Host(Arc<Inner>);

struct Inner {
    shared: Arc<Shared>,
    builtins: Builtins,
    /// Who is there, in load order, also while they start and end.
    slots: Mutex<Arc<Vec<Slot>>>,
    registry: watch::Sender<Arc<Registry>>,
    /// Who is asked. `None` while a reload is under way: what is asked then waits. Changed under the registry's lock, so
    /// that the two always agree.
    asked: watch::Sender<Option<Arc<Vec<Slot>>>>,
    reloading: tokio::sync::Mutex<()>,
    /// Whether it has been shut down.
    over: watch::Sender<bool>,
    /// Whether the user has been told that permissions are not enforced.
    told_of_support: AtomicBool,
}

impl Host {
    /// A host without extensions; [`Host::load`] starts them. Must be called within a tokio runtime.
    pub fn new(config: HostConfig) -> std::io::Result<Self> {
        let spawner = Spawner::new()?;
        Ok(Self(Arc::new_cyclic(|inner: &Weak<Inner>| {
            let owner: Weak<dyn Owner> = Weak::<Inner>::clone(inner);
            Inner {
                shared: Arc::new(Shared {
                    queues: Budget::new(&config.limits),
                    limits: config.limits,
                    spawner,
                    ids: Arc::default(),
                    hooks: config.hooks,
                    tap: config.tap,
                    secrets: config.secrets,
                    support: config.support,
                    strict_permissions: config.strict_permissions,
                    ack: Mutex::new(config.ack),
                    owner,
                    interactive: config.interactive,
                    settings: Mutex::new(config.settings),
                    in_session: AtomicBool::new(false),
                }),
                builtins: config.builtins,
                slots: Mutex::default(),
                registry: watch::Sender::new(Arc::default()),
                asked: watch::Sender::new(Some(Arc::default())),
                reloading: tokio::sync::Mutex::new(()),
                over: watch::Sender::new(false),
                told_of_support: AtomicBool::new(false),
            }
        })))
    }

    /// Who offers what at this moment.
    pub fn registry(&self) -> Arc<Registry> {
        self.0.registry.borrow().clone()
    }

    /// Told whenever somebody offers something else.
    pub fn changes(&self) -> watch::Receiver<Arc<Registry>> {
        self.0.registry.subscribe()
    }

    /// Runs a slash command of an extension. Whoever drops the future gives it up, and a late answer is dropped.
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

    /// Begins a session: `session_start` is every extension's first event, whenever it becomes ready.
    pub fn start_session(&self) {
        self.0.shared.in_session.store(true, Ordering::SeqCst);
        self.tell(&SessionStart::default().into());
    }

    /// Tells whoever has subscribed, in load order.
    pub fn tell(&self, event: &Event) {
        if matches!(event, Event::SessionEnd(_)) {
            self.0.shared.in_session.store(false, Ordering::SeqCst);
        }
        for slot in self.0.slots().iter() {
            if let Slot::Started(member) = slot {
                member.tell(event, &self.0.shared);
            }
        }
    }

    /// Whether anybody wants to be asked about `event`. While a reload is under way, somebody may.
    pub fn intercepts(&self, event: &InterceptName) -> bool {
        let asked = self.0.asked.borrow().clone();
        asked.is_none_or(|slots| slots.iter().any(|slot| slot.intercepts(event)))
    }

    /// Asks the interceptors of `event`, in load order.
    pub async fn intercept(&self, event: Intercept) -> Outcome {
        let slots = self.members().await;
        if *self.0.over.borrow() {
            return Outcome::refused("zot is shutting down");
        }
        let name = InterceptName::from(event.name());
        if matches!(&event, Intercept::AssistantMessage(message) if message.text.is_empty()) {
            return Outcome::unasked(event);
        }
        let asked: Vec<Slot> = slots
            .iter()
            .filter(|slot| slot.intercepts(&name))
            .cloned()
            .collect();
        let outcome = chain::run(asked, event, self.0.shared.limits.chain).await;
        for link in &outcome.links {
            if let Some(slot) = slots.iter().find(|slot| Ask::name(*slot) == link.extension) {
                slot.record(&name, link, &self.0.shared);
            }
        }
        outcome
    }

    /// Tells an extension of a key in a panel of its own.
    pub fn panel_key(&self, extension: &str, key: PanelKey) -> Result<(), HostError> {
        self.send(extension, &key.into())
    }

    /// Tells an extension how much room a panel of its own has.
    pub fn panel_resize(&self, extension: &str, resize: PanelResize) -> Result<(), HostError> {
        self.send(extension, &resize.into())
    }

    /// Tells an extension that the user has closed a panel of its own.
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

    /// Tells extensions something else about the host, from the next start on: another model, another directory.
    pub fn set_ack(&self, ack: HelloAck) {
        *lock(&self.0.shared.ack) = ack;
    }

    /// Takes over changed settings of the user, from the next start on.
    pub fn set_settings(&self, settings: BTreeMap<String, ExtensionConfig>) {
        *lock(&self.0.shared.settings) = settings;
    }

    /// How each extension has fared as an interceptor, in load order.
    pub fn stats(&self) -> Vec<(String, Stats)> {
        let slots = self.0.slots();
        let started = slots.iter().filter_map(|slot| match slot {
            Slot::Started(member) => Some((member.name().to_owned(), lock(&member.stats).clone())),
            Slot::Failed(_) => None,
        });
        started.collect()
    }

    /// Who is asked, once no reload is under way.
    async fn members(&self) -> Arc<Vec<Slot>> {
        let asked = self.0.asked.borrow().clone();
        if let Some(slots) = asked {
            return slots;
        }
        let mut asked = self.0.asked.subscribe();
        let slots = asked.wait_for(Option::is_some).await;
        let slots = slots.expect("the sender lives as long as the host");
        slots.clone().expect("waited for")
    }
}

impl Inner {
    fn slots(&self) -> Arc<Vec<Slot>> {
        Arc::clone(&lock(&self.slots))
    }

    /// Lets these be asked, and offers what they offer.
    fn publish(&self, slots: Arc<Vec<Slot>>) {
        self.registry.send_modify(|registry| {
            self.offer(registry, &slots);
            self.asked.send_replace(Some(slots));
        });
    }

    /// Makes the registry anew from whoever is ready.
    fn offer(&self, registry: &mut Arc<Registry>, slots: &[Slot]) {
        let ready: Vec<&Arc<Member>> = slots.iter().filter_map(Slot::ready).collect();
        let new = Registry::of(&ready, &self.builtins);
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

impl Drop for Inner {
    fn drop(&mut self) {
        for slot in self.slots().iter() {
            if let Slot::Started(member) = slot {
                member.abandon();
            }
        }
    }
}

impl Owner for Inner {
    fn changed(&self) {
        self.registry.send_if_modified(|registry| {
            // While a reload is under way the old registry stays, and is then swapped once.
            let asked = self.asked.borrow().clone();
            if let Some(slots) = &asked {
                self.offer(registry, slots);
            }
            asked.is_some()
        });
    }

    fn call_tool(self: Arc<Self>, caller: &Arc<Member>, call: CallTool) {
        Host(self).called(caller, call);
    }
}
