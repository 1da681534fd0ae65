//! The extension host: all extensions of a program, as one.

mod call_tool;
mod lifecycle;
mod slot;
mod tool;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::watch;
use zot_process::{Spawner, Support};
use zot_protocol::{
    CallTool, CommandResponse, Event, ExtensionConfig, FromHost, HelloAck, Intercept,
    InterceptName, PanelClose, PanelKey, PanelResize, SessionStart, Tagged, limits::Limits,
};

use crate::{
    extension::{
        Builtins, Registry, RequestError, Shadowed,
        chain::{self, Ask, Outcome},
        connection::Tap,
        member::{Member, Owner, Shared},
    },
    hooks::{Hooks, NoHooks},
};

use slot::Slot;

pub use tool::ToolOutcome;

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
    #[error("no extension has the tool `{0}`")]
    NoSuchTool(String),
    /// No extension of this name is running.
    #[error("no extension `{0}` is running")]
    NoSuchExtension(String),
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
    /// In load order; swapped whole.
    slots: Mutex<Arc<Vec<Slot>>>,
    registry: watch::Sender<Arc<Registry>>,
    /// Closed while a reload is under way: what is asked then waits.
    open: watch::Sender<bool>,
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
                    limits: config.limits,
                    spawner,
                    ids: Arc::default(),
                    hooks: config.hooks,
                    tap: config.tap,
                    secrets: config.secrets,
                    support: config.support,
                    strict_permissions: config.strict_permissions,
                    ack: config.ack,
                    owner,
                    interactive: config.interactive,
                    settings: config.settings,
                    in_session: AtomicBool::new(false),
                }),
                builtins: config.builtins,
                slots: Mutex::default(),
                registry: watch::Sender::new(Arc::default()),
                open: watch::Sender::new(true),
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
        self.wait_until_open().await;
        let registry = self.registry();
        let entry = registry
            .command(name)
            .ok_or_else(|| HostError::NoSuchCommand(name.to_owned()))?;
        let answer = entry.member.connection.command(&entry.name, args).await;
        answer.map_err(|error| HostError::of(&entry.extension, error))
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

    /// Whether anybody wants to be asked about `event`.
    pub fn intercepts(&self, event: &InterceptName) -> bool {
        self.0.slots().iter().any(|slot| slot.intercepts(event))
    }

    /// Asks the interceptors of `event`, in load order.
    pub async fn intercept(&self, event: Intercept) -> Outcome {
        self.wait_until_open().await;
        let name = InterceptName::from(event.name());
        let slots = self.0.slots();
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

    async fn wait_until_open(&self) {
        if *self.0.open.borrow() {
            return;
        }
        // The sender lives as long as the host.
        let _ = self.0.open.subscribe().wait_for(|open| *open).await;
    }
}

impl Inner {
    fn slots(&self) -> Arc<Vec<Slot>> {
        Arc::clone(&self.slots.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes the registry anew from whoever is ready.
    fn swap(&self) {
        self.registry.send_modify(|registry| {
            // Looked up while nobody else swaps, so the last to swap has seen all there is.
            let slots = self.slots();
            let ready: Vec<&Arc<Member>> = slots.iter().filter_map(Slot::ready).collect();
            let new = Registry::of(&ready, &self.builtins);
            let lost = |shadowed: &&Shadowed| !registry.shadowed().contains(shadowed);
            for shadowed in new.shadowed().iter().filter(lost) {
                let loser = ready.iter().find(|it| it.name() == shadowed.extension);
                if let Some(loser) = loser {
                    loser.log(&shadowed.to_string());
                }
            }
            *registry = Arc::new(new);
        });
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
        // While a reload is under way the old registry stays, and is then swapped once.
        if *self.open.borrow() {
            self.swap();
        }
    }

    fn call_tool(self: Arc<Self>, caller: &Arc<Member>, call: CallTool) {
        Host(self).called(caller, call);
    }
}
