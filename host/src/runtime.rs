//! The agent as a value: what embedders, `zot rpc` and the terminal all use.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//! use zot_host::{Prompt, Runtime, RuntimeConfig, home::Home, provider::{Catalogue, Demo, Resolved}};
//! use zot_protocol::rpc::Event;
//!
//! # let folder = tempfile::tempdir()?;
//! let catalogue = Catalogue::built_in();
//! let demo = Resolved { provider: Box::new(Demo::new()), model: catalogue.model("demo", "demo") };
//! let config = RuntimeConfig::new(Home::at(folder.path()), folder.path(), demo);
//!
//! let runtime = Runtime::new(config)?;
//! let mut events = runtime.prompt(Prompt::text("hello"))?;
//! let mut text = String::new();
//! while let Some(event) = events.next().await {
//!     if let Event::TextDelta(piece) = event {
//!         text.push_str(&piece.delta);
//!     }
//! }
//! assert!(text.contains("demo"));
//! runtime.close().await;
//! # Ok(())
//! # }
//! ```

mod config;
mod hooks;

use std::{
    io,
    sync::{Arc, Mutex as Lock, MutexGuard, PoisonError},
};

use tokio::sync::{Mutex, mpsc, watch};
use tokio_util::sync::CancellationToken;
use zot_process::Spawner;
use zot_protocol::{EndReason, HelloAck, PROTOCOL_VERSION, Reasoning, SessionEnd, rpc};

use crate::{
    Host, HostConfig,
    agent::{Agent, Events, Prompt, Settings, State},
    extension::{Builtins, Launch, discover::discover},
    message::Message,
    provider::{Resolved, credentials},
    session::{SessionError, Sessions},
    tool::{self, Toolbox, ToolboxConfig},
};

pub use config::RuntimeConfig;

/// An agent that runs. Cheap to clone; call [`Runtime::close`] before the last clone is dropped.
#[derive(Clone)]
pub struct Runtime(Arc<Inner>);

struct Inner {
    agent: Arc<Agent>,
    config: RuntimeConfig,
    /// What is being done, if anything.
    active: Lock<Option<CancellationToken>>,
    /// Whether the extensions had their time to start.
    loaded: watch::Sender<bool>,
}

/// Something else is being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("agent is busy")]
pub struct Busy;

/// Why there is no agent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// The session cannot be had.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The system has no thread, no descriptor or no directory left.
    #[error("cannot start: {0}")]
    Io(#[from] io::Error),
}

/// What happens while a prompt runs, in order. Dropping it aborts the prompt.
#[derive(Debug)]
pub struct EventStream(mpsc::Receiver<rpc::Event>);

impl EventStream {
    /// The next event; `None` after the last.
    pub async fn next(&mut self) -> Option<rpc::Event> {
        self.0.recv().await
    }
}

/// What an agent is at.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Status {
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
    /// How many messages the transcript has.
    pub messages: usize,
    /// Whether something is being done.
    pub busy: bool,
    /// Tokens and cost so far.
    pub usage: rpc::Usage,
}

impl Runtime {
    /// Opens the session and begins to start the extensions; nothing waits for them but the first turn. Must be called
    /// within a tokio runtime.
    pub fn new(config: RuntimeConfig) -> Result<Self, RuntimeError> {
        let mut config = config;
        let Resolved { provider, model } = config.take_model();
        let sessions = Sessions::of(&config.home, &config.cwd);
        let opened = sessions.begin(&config.session, provider.name(), &model.id)?;
        let toolbox = toolbox(&config)?;
        let relay = hooks::Relay::new(Arc::clone(&config.hooks));
        let host = Host::new(host_config(&config, provider.name(), &model.id, &relay))?;
        for notice in &opened.notices {
            let level = zot_protocol::NoteLevel::Warn;
            config.hooks.notice(level, &notice.to_string());
        }
        let state = State {
            transcript: Arc::new(opened.transcript),
            session: opened.session,
            provider: Arc::from(provider),
            model,
            reasoning: config.reasoning,
            system: None,
            usage: rpc::Usage::default(),
        };
        let agent = Arc::new(Agent {
            host,
            toolbox,
            settings: settings(&config),
            hooks: Arc::clone(&config.hooks),
            state: Mutex::new(state),
        });
        relay.attach(&agent);
        let runtime = Self(Arc::new(Inner {
            agent,
            config,
            active: Lock::new(None),
            loaded: watch::Sender::new(false),
        }));
        runtime.load();
        Ok(runtime)
    }

    /// Starts the extensions.
    fn load(&self) {
        let inner = Arc::clone(&self.0);
        tokio::spawn(async move {
            inner.agent.host.reload(inner.config.find()).await;
            inner.agent.host.start_session();
            inner.loaded.send_replace(true);
        });
    }

    /// Says something to the agent. It goes on whether or not somebody looks at its events in time: it waits for them.
    pub fn prompt(&self, prompt: Prompt) -> Result<EventStream, Busy> {
        self.begin(move |agent, events, cancel| async move {
            agent.prompt(prompt, &events, &cancel).await;
        })
    }

    /// Makes a summary of the transcript and goes on with that.
    pub fn compact(&self) -> Result<EventStream, Busy> {
        self.begin(|agent, events, cancel| async move {
            agent.compact(&events, &cancel).await;
        })
    }

    fn begin<F: Future<Output = ()> + Send + 'static>(
        &self,
        work: impl FnOnce(Arc<Agent>, Events, CancellationToken) -> F + Send + 'static,
    ) -> Result<EventStream, Busy> {
        let cancel = CancellationToken::new();
        {
            let mut active = self.active();
            if active.is_some() {
                return Err(Busy);
            }
            *active = Some(cancel.clone());
        }
        let (events, stream) = Events::channel();
        let inner = Arc::clone(&self.0);
        tokio::spawn(async move {
            let idle = Idle(Arc::clone(&inner));
            let mut loaded = inner.loaded.subscribe();
            tokio::select! {
                // The sender lives in `inner`.
                _ = loaded.wait_for(|loaded| *loaded) => {}
                () = cancel.cancelled() => {}
            }
            let deserted = events.clone();
            let working = work(Arc::clone(&inner.agent), events, cancel.clone());
            tokio::pin!(working);
            tokio::select! {
                () = &mut working => {}
                () = deserted.deserted() => {
                    cancel.cancel();
                    working.await;
                }
            }
            drop(idle);
        });
        Ok(EventStream(stream))
    }

    /// Ends what is being done; its last event is `done` all the same.
    pub fn cancel(&self) {
        if let Some(active) = &*self.active() {
            active.cancel();
        }
    }

    /// Whether something is being done.
    pub fn is_busy(&self) -> bool {
        self.active().is_some()
    }

    fn active(&self) -> MutexGuard<'_, Option<CancellationToken>> {
        self.0.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it is at.
    pub async fn status(&self) -> Status {
        let busy = self.is_busy();
        let state = self.0.agent.state.lock().await;
        Status {
            provider: state.provider.name().to_owned(),
            model: state.model.id.clone(),
            messages: state.transcript.len(),
            busy,
            usage: state.usage,
        }
    }

    /// The transcript.
    pub async fn messages(&self) -> Arc<Vec<Message>> {
        Arc::clone(&self.0.agent.state.lock().await.transcript)
    }

    /// Thinks more, or less, from the next turn on.
    pub async fn set_reasoning(&self, reasoning: Option<Reasoning>) -> Result<(), Busy> {
        if self.is_busy() {
            return Err(Busy);
        }
        self.0.agent.state.lock().await.reasoning = reasoning;
        Ok(())
    }

    /// The extensions, for commands, panels and what they register.
    pub fn host(&self) -> &Host {
        &self.0.agent.host
    }

    /// The built-in tools: the jail is opened and closed here.
    pub fn toolbox(&self) -> &Toolbox {
        &self.0.agent.toolbox
    }

    /// Ends all extensions and starts what is there now.
    pub async fn reload_extensions(&self) -> Result<rpc::ReloadStats, Busy> {
        if self.is_busy() {
            return Err(Busy);
        }
        let stats = self.0.agent.host.reload(self.0.config.find()).await;
        self.0.agent.state.lock().await.system = None;
        Ok(stats)
    }

    /// Ends what is being done, tells the extensions, and ends them.
    pub async fn close(&self) {
        self.cancel();
        let end = SessionEnd::new(EndReason::Shutdown);
        self.0.agent.host.tell(&end.into());
        self.0.agent.host.shutdown().await;
    }
}

/// Nothing is being done any more, whatever ended it.
struct Idle(Arc<Inner>);

impl Drop for Idle {
    fn drop(&mut self) {
        let mut active = self.0.active.lock().unwrap_or_else(PoisonError::into_inner);
        *active = None;
    }
}

fn toolbox(config: &RuntimeConfig) -> io::Result<Toolbox> {
    let scratch = config.home.path().join("scratch");
    let mut tools = ToolboxConfig::new(&config.cwd, scratch, Spawner::new()?);
    tools.secrets = credentials::variables().map(str::to_owned).collect();
    tools.jail = config.jail;
    if config.with_skills {
        tools.skills = tool::Skills::find(&config.cwd, &config.home);
    }
    Toolbox::new(tools)
}

fn host_config(
    config: &RuntimeConfig,
    provider: &str,
    model: &str,
    relay: &Arc<hooks::Relay>,
) -> HostConfig {
    let version = env!("CARGO_PKG_VERSION");
    let cwd = config.cwd.to_string_lossy();
    let ack = HelloAck::new(PROTOCOL_VERSION, version, provider, model, cwd);
    let mut host = HostConfig::new(ack);
    host.hooks = Arc::<hooks::Relay>::clone(relay);
    host.tap.clone_from(&config.tap);
    host.secrets = credentials::variables().map(str::to_owned).collect();
    host.strict_permissions = config.strict_permissions;
    host.interactive = config.interactive;
    host.settings.clone_from(&config.extensions);
    host.builtins = Builtins {
        commands: config.commands.clone(),
        tools: tool::NAMES.map(str::to_owned).to_vec(),
    };
    host
}

fn settings(config: &RuntimeConfig) -> Settings {
    let context = if config.context_files {
        crate::context::find(&config.cwd, &config.home).files
    } else {
        Vec::new()
    };
    Settings {
        cwd: config.cwd.clone(),
        system_prompt: config.system_prompt.clone(),
        appended: config.appended.clone(),
        context: context.into_iter().map(|it| (it.path, it.text)).collect(),
        max_steps: config.max_steps,
        tools: config.tools.clone(),
    }
}

impl RuntimeConfig {
    /// What there is to start, looked for when it is asked.
    fn find(&self) -> impl FnOnce() -> Vec<Launch> + Send + 'static {
        let (search, home) = (self.search(), self.home.clone());
        let hooks = Arc::clone(&self.hooks);
        move || {
            let found = discover(&search);
            for refused in &found.refused {
                hooks.notice(zot_protocol::NoteLevel::Warn, &refused.to_string());
            }
            found.to_start().map(|it| Launch::of(it, &home)).collect()
        }
    }
}
