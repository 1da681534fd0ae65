//! The running agent, used by embedders, `zot rpc` and the terminal.
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

mod build;
mod change;
mod config;
mod query;

use std::{io, sync::Arc};

use tokio::sync::{Mutex, watch};
use tokio_util::sync::CancellationToken;
use zot_protocol::{EndReason, NoteLevel, SessionEnd};

use crate::{
    Host,
    agent::{Agent, EventStream, Events, Prompt, State, SteerError},
    context_files::{self, ContextFiles},
    extension::{Launch, discover::TrustProject},
    provider::{Listed, Resolved},
    session::{Opened, SessionError, Sessions},
};

pub use change::SetModelError;
pub use config::RuntimeConfig;
pub use query::Context;

/// A running agent. Cheap to clone. Call [`Runtime::close`] before dropping the last clone.
#[derive(Clone)]
pub struct Runtime(Arc<Inner>);

struct Inner {
    agent: Arc<Agent>,
    sessions: Sessions,
    /// Which of the project's extensions may start.
    trust: parking_lot::Mutex<TrustProject>,
    activity: watch::Sender<Activity>,
    /// The models that the provider's server lists, with the provider's name.
    live: Mutex<Option<(String, Vec<Listed>)>>,
    /// Whether each extension is ready or has failed, or the startup limit has passed.
    loaded: watch::Sender<bool>,
}

/// What a runtime is doing.
enum Activity {
    Idle,
    /// An operation is running, which this token cancels.
    Running(CancellationToken),
    /// [`Runtime::close`] was called.
    Closed,
}

/// Why the agent cannot start an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unavailable {
    /// Another operation is running.
    #[error("agent is busy")]
    Busy,
    /// [`Runtime::close`] was called.
    #[error("agent is closed")]
    Closed,
}

/// Error returned by [`Runtime::new`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// The session cannot be opened.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A thread, file descriptor or directory cannot be created.
    #[error("cannot start the agent: {0}")]
    Io(#[from] io::Error),
}

impl Runtime {
    /// Opens the session and starts the extensions in the background. Only the first turn waits for
    /// them. Must be called within a tokio runtime.
    pub fn new(mut config: RuntimeConfig) -> Result<Self, RuntimeError> {
        let Resolved { provider, model } = config.take_model();
        let sessions = Sessions::of(&config.home, &config.cwd);
        let opened = sessions.begin(&config.session, provider.name(), &model.id)?;
        provider.warm_up();
        let toolbox = build::toolbox(&config, opened.session.id())?;
        let names = (provider.name(), &*model.id);
        let host = Host::new(build::host(&config, names, opened.session.id()))?;
        for notice in &opened.notices {
            config.hooks.notice(NoteLevel::Warn, &notice.to_string());
        }
        build::remark(&config, &model, config.reasoning);
        if let Some(remark) = opened.remark_on_model(provider.name(), &model.id) {
            config.hooks.notice(NoteLevel::Info, &remark);
        }
        let state = State::new(provider.into(), model, config.reasoning, opened);
        let context = if config.context_files {
            let ContextFiles {
                files, warnings, ..
            } = context_files::find(&config.cwd, &config.home);
            for warning in &warnings {
                config.hooks.notice(NoteLevel::Warn, warning);
            }
            files
        } else {
            Vec::new()
        };
        let trust = parking_lot::Mutex::new(config.trust.clone());
        let agent = Arc::new(Agent::new(host, toolbox, config, context, state));
        agent.host.attach(&agent);
        let runtime = Self(Arc::new(Inner {
            agent,
            trust,
            sessions,
            activity: watch::Sender::new(Activity::Idle),
            live: Mutex::default(),
            loaded: watch::Sender::new(false),
        }));
        runtime.load();
        Ok(runtime)
    }

    /// Switches to another session and shows its notices.
    async fn take_over(&self, opened: Opened) {
        let agent = &self.0.agent;
        let mut state = agent.state.lock().await;
        for notice in &opened.notices {
            agent
                .config
                .hooks
                .notice(NoteLevel::Warn, &notice.to_string());
        }
        let written = state.take_over(opened);
        self.use_session(state.session.id());
        drop(state);
        agent.report_write_error(written);
    }

    /// Makes the tools store long output in this session's folder, and the host record decisions
    /// in its file.
    fn use_session(&self, session: &str) {
        let agent = &self.0.agent;
        agent.host.set_session(session);
        let scratch = agent.config.home.scratch_of(session);
        if let Err(error) = agent.toolbox.set_scratch(scratch) {
            let message = format!("cannot switch to this session's output folder: {error}");
            agent.config.hooks.notice(NoteLevel::Error, &message);
        }
    }

    /// Returns a closure that, when called, looks for extensions to start.
    fn find(&self) -> impl FnOnce() -> Vec<Launch> + Send + 'static {
        let trust = self.0.trust.lock().clone();
        self.0.agent.config.find(trust)
    }

    /// Starts the extensions.
    fn load(&self) {
        let (inner, find) = (Arc::clone(&self.0), self.find());
        tokio::spawn(async move {
            inner.agent.host.reload(find).await;
            inner.agent.warn_of_missing_tools();
            inner.agent.host.start_session();
            inner.loaded.send_replace(true);
        });
    }

    /// Sends a prompt to the agent. The agent waits while the event stream is full.
    pub fn prompt(&self, prompt: Prompt) -> Result<EventStream, Unavailable> {
        let occupied = self.occupy()?;
        // From now on, even if the prompt still has to wait for the extensions.
        self.0.agent.accept_steering();
        let work = move |agent: Arc<Agent>, events, cancel| async move {
            agent.prompt(prompt, &events, &cancel).await;
        };
        Ok(self.begin(occupied, work))
    }

    /// Delivers a message to the running prompt, before its next model call. If no further call
    /// would follow, the prompt continues with this message. The event `user_message` reports the
    /// delivery. If the prompt fails or is cancelled before that, the message is dropped.
    pub fn steer(&self, prompt: Prompt) -> Result<(), SteerError> {
        self.0.agent.steer(prompt)
    }

    /// Replaces the transcript with a summary.
    pub fn compact(&self) -> Result<EventStream, Unavailable> {
        let work = |agent: Arc<Agent>, events, cancel| async move {
            agent.compact(&events, &cancel).await;
        };
        Ok(self.begin(self.occupy()?, work))
    }

    fn begin<F: Future<Output = ()> + Send + 'static>(
        &self,
        (active, cancel): (Active, CancellationToken),
        work: impl FnOnce(Arc<Agent>, Events, CancellationToken) -> F + Send + 'static,
    ) -> EventStream {
        let (events, stream) = Events::channel(cancel.clone());
        let inner = Arc::clone(&self.0);
        tokio::spawn(async move {
            let mut loaded = inner.loaded.subscribe();
            tokio::select! {
                // The sender lives in `inner`, so this cannot fail.
                _ = loaded.wait_for(|loaded| *loaded) => {}
                () = cancel.cancelled() => {}
            }
            let watched = events.clone();
            let working = work(Arc::clone(&inner.agent), events, cancel.clone());
            tokio::pin!(working);
            tokio::select! {
                () = &mut working => {}
                () = watched.closed() => {
                    cancel.cancel();
                    working.await;
                }
            }
            // Drop this before the stream ends, so that a caller that sees its end finds the agent
            // idle.
            drop(active);
        });
        stream
    }

    /// Marks the agent as busy until the guard is dropped.
    fn occupy(&self) -> Result<(Active, CancellationToken), Unavailable> {
        let cancel = CancellationToken::new();
        let mut unavailable = None;
        self.0.activity.send_if_modified(|activity| {
            match activity {
                Activity::Idle => *activity = Activity::Running(cancel.clone()),
                Activity::Running(_) => unavailable = Some(Unavailable::Busy),
                Activity::Closed => unavailable = Some(Unavailable::Closed),
            }
            unavailable.is_none()
        });
        match unavailable {
            None => Ok((Active(Arc::clone(&self.0)), cancel)),
            Some(why) => Err(why),
        }
    }

    /// Cancels the current operation. Its last event is still `done`.
    pub fn cancel(&self) {
        if let Activity::Running(cancel) = &*self.0.activity.borrow() {
            cancel.cancel();
        }
    }

    /// Waits until no operation is running.
    pub async fn idle(&self) {
        let mut activity = self.0.activity.subscribe();
        // The sender lives as long as `self`, so this cannot fail.
        let _ = activity.wait_for(|it| !it.is_running()).await;
    }

    /// Waits until each extension is ready or has failed, or the startup limit has passed.
    pub async fn started(&self) {
        let mut loaded = self.0.loaded.subscribe();
        let _ = loaded.wait_for(|loaded| *loaded).await;
    }

    /// Cancels the current operation and waits for it, sends `session_end` to the extensions, and
    /// stops them. Every later operation fails with [`Unavailable::Closed`].
    pub async fn close(&self) {
        // Another operation may start after one ends and before this call closes the runtime.
        let close = |activity: &mut Activity| {
            let is_running = activity.is_running();
            if !is_running {
                *activity = Activity::Closed;
            }
            !is_running
        };
        while !self.0.activity.send_if_modified(close) {
            self.cancel();
            self.idle().await;
        }
        let end = SessionEnd::new(EndReason::Shutdown);
        self.0.agent.host.send_event(&end.into());
        tokio::join!(self.0.agent.host.shutdown(), self.0.agent.toolbox.close());
    }
}

impl Activity {
    fn is_running(&self) -> bool {
        matches!(self, Self::Running(_))
    }
}

/// Keeps the agent busy until it is dropped.
struct Active(Arc<Inner>);

impl Drop for Active {
    fn drop(&mut self) {
        self.0.activity.send_replace(Activity::Idle);
    }
}
