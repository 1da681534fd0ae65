//! The extension host: all extensions of a program, as one.

mod lifecycle;

use std::sync::{
    Arc, Mutex, PoisonError, Weak,
    atomic::{AtomicBool, Ordering},
};

use tokio::sync::watch;
use zot_process::Spawner;
use zot_protocol::{
    CommandResponse, Content, Event, HelloAck, Intercept, InterceptName, Object, OnFailure,
    SessionStart, Tagged, ToolResult, limits::Limits,
};

use crate::{
    extension::{
        Builtins, Registry, RequestError,
        chain::{self, Ask, Outcome},
        connection::Tap,
        fold::{Answer, Failure},
        member::{Member, Shared},
    },
    hooks::{Hooks, NoHooks},
};

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
    /// Environment variables that no extension gets.
    pub secrets: Vec<String>,
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

/// One place in load order: an extension that was started, or one that could not be.
#[derive(Clone)]
enum Slot {
    Started(Arc<Member>),
    Failed(Arc<FailedStart>),
}

/// An extension that could not be started. What its manifest guards is refused all the same.
struct FailedStart {
    manifest: zot_protocol::Manifest,
    why: String,
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
}

impl Host {
    /// A host without extensions; [`Host::load`] starts them. Must be called within a tokio runtime.
    pub fn new(config: HostConfig) -> std::io::Result<Self> {
        let spawner = Spawner::new()?;
        Ok(Self(Arc::new_cyclic(|inner: &Weak<Inner>| {
            let weak = Weak::clone(inner);
            let changed = move || {
                if let Some(inner) = weak.upgrade() {
                    inner.rebuild();
                }
            };
            Inner {
                shared: Arc::new(Shared {
                    limits: config.limits,
                    spawner,
                    ids: Arc::default(),
                    hooks: config.hooks,
                    tap: config.tap,
                    secrets: config.secrets,
                    ack: config.ack,
                    changed: Box::new(changed),
                    in_session: AtomicBool::new(false),
                }),
                builtins: config.builtins,
                slots: Mutex::default(),
                registry: watch::Sender::new(Arc::default()),
                open: watch::Sender::new(true),
                reloading: tokio::sync::Mutex::new(()),
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

    /// Runs a slash command of an extension.
    pub async fn command(&self, name: &str, args: &str) -> Result<CommandResponse, HostError> {
        self.wait_until_open().await;
        let registry = self.registry();
        let entry = registry
            .command(name)
            .ok_or_else(|| HostError::NoSuchCommand(name.to_owned()))?;
        let answer = entry.member.connection.command(&entry.name, args).await;
        answer.map_err(|error| HostError::Extension {
            extension: entry.extension.clone(),
            error,
        })
    }

    /// Calls a tool of an extension. Lines of progress go to `progress`. Arguments or results that do not fit a schema
    /// that the tool insists on are an error result, which tells the model where and why.
    pub async fn tool(
        &self,
        name: &str,
        args: Object,
        progress: impl FnMut(String),
    ) -> Result<ToolResult, HostError> {
        self.wait_until_open().await;
        let registry = self.registry();
        let entry = registry
            .tool(name)
            .ok_or_else(|| HostError::NoSuchTool(name.to_owned()))?;
        let tool = &entry.tool;
        let args = serde_json::Value::Object(args);
        if tool.frame.strict
            && let Err(mismatch) = tool.arguments.check(&args)
        {
            return Ok(error_result(format!(
                "the arguments do not fit the schema of `{name}`: {mismatch}"
            )));
        }
        let serde_json::Value::Object(args) = args else {
            unreachable!("wrapped above")
        };
        let deadline = (!tool.frame.interactive).then(|| entry.member.tool_deadline());
        let answer = entry
            .member
            .connection
            .tool(name, args, deadline, progress)
            .await;
        let result = answer.map_err(|error| HostError::Extension {
            extension: entry.extension.clone(),
            error,
        })?;
        if let (Some(schema), Some(structured)) = (&tool.output, &result.structured_content)
            && let Err(mismatch) = schema.check(structured)
        {
            return Ok(error_result(format!(
                "the result of `{name}` does not fit its output schema: {mismatch}"
            )));
        }
        Ok(result)
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
            if let Some(Slot::Started(member)) =
                slots.iter().find(|slot| Ask::name(*slot) == link.extension)
            {
                member.record(link);
            }
        }
        outcome
    }

    async fn wait_until_open(&self) {
        // The sender lives as long as the host.
        let _ = self.0.open.subscribe().wait_for(|open| *open).await;
    }
}

impl Inner {
    fn slots(&self) -> Arc<Vec<Slot>> {
        Arc::clone(&self.slots.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes the registry anew from whoever is ready.
    fn rebuild(&self) {
        let members: Vec<Arc<Member>> = self
            .slots()
            .iter()
            .filter_map(|slot| match slot {
                Slot::Started(member) if member.is_ready() => Some(Arc::clone(member)),
                _ => None,
            })
            .collect();
        // While a reload is under way the old one stays, and is then swapped once.
        if *self.open.borrow() {
            self.registry
                .send_replace(Arc::new(Registry::of(&members, &self.builtins)));
        }
    }
}

impl Slot {
    fn intercepts(&self, event: &InterceptName) -> bool {
        match self {
            Self::Started(member) => member.intercepts(event),
            Self::Failed(failed) => failed.manifest.intercept.on_failure(event) == OnFailure::Block,
        }
    }
}

impl Ask for Slot {
    fn name(&self) -> &str {
        match self {
            Self::Started(member) => Member::name(member),
            Self::Failed(failed) => &failed.manifest.name,
        }
    }

    fn on_failure(&self, event: &InterceptName) -> OnFailure {
        match self {
            Self::Started(member) => Ask::on_failure(member, event),
            Self::Failed(failed) => failed.manifest.intercept.on_failure(event),
        }
    }

    fn deadline(&self) -> std::time::Duration {
        match self {
            Self::Started(member) => Ask::deadline(member),
            Self::Failed(_) => std::time::Duration::MAX,
        }
    }

    async fn ask(&self, event: &Intercept) -> Answer {
        match self {
            Self::Started(member) => Ask::ask(member, event).await,
            Self::Failed(failed) => Err(Failure::Gone(failed.why.clone())),
        }
    }
}

fn error_result(text: String) -> ToolResult {
    let mut result = ToolResult::new("", vec![Content::text(text)]);
    result.is_error = true;
    result
}
