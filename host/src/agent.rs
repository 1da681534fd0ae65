//! The agent that extensions extend. It calls a model, runs tools and records the transcript.
//!
//! [`Runtime`](crate::Runtime) is its public interface.

mod answer;
mod compaction;
mod events;
mod images;
mod model_call;
pub(crate) mod prefix;
mod state;
mod steering;
mod surroundings;
mod system_prompt;
mod tool_calls;
mod turn;

use std::sync::Arc;

use tokio::sync::Mutex;
use zot_protocol::{NoteLevel, Object, rpc};

use crate::{
    Host, RuntimeConfig, clock,
    context_files::ContextFile,
    message::{Message, Role},
    provider::{Deltas, ProviderError, Request, Tokens, ToolSpec},
    session::{SessionError, Written},
    tool::Toolbox,
};

use compaction::Extent;
pub use events::EventStream;
pub(crate) use events::Events;
pub(crate) use state::State;
pub use steering::SteerError;
use steering::Steering;
pub use turn::Prompt;

/// Which tools, including extension tools, are offered to the model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ToolSelection {
    /// Every tool.
    #[default]
    All,
    /// No tools.
    None,
    /// Only the tools with these names.
    Only(Vec<String>),
}

impl ToolSelection {
    /// Reports whether the tool `name` is offered to the model.
    pub fn has(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::None => false,
            Self::Only(names) => names.iter().any(|it| it == name),
        }
    }
}

/// The agent of one session.
pub(crate) struct Agent {
    pub(crate) host: Host,
    pub(crate) toolbox: Toolbox,
    pub(crate) config: RuntimeConfig,
    /// Context files from the project and the user, such as `AGENTS.md`.
    pub(crate) context: Vec<ContextFile>,
    pub(crate) state: Mutex<State>,
    steering: Steering,
}

impl Agent {
    pub(crate) fn new(
        host: Host,
        toolbox: Toolbox,
        config: RuntimeConfig,
        context: Vec<ContextFile>,
        state: State,
    ) -> Self {
        Self {
            host,
            toolbox,
            config,
            context,
            state: Mutex::new(state),
            steering: Steering::default(),
        }
    }

    /// Syncs the session file to disk without blocking the async runtime. Reports an error to the
    /// user.
    async fn sync(&self) {
        let flushed = self.state.lock().await.session.flush();
        let synced = match flushed {
            Ok((written, unsynced)) => {
                let synced = tokio::task::spawn_blocking(move || unsynced.sync()).await;
                // The task cannot fail: it does not panic and is never aborted.
                synced.unwrap_or(Ok(())).map(|()| written)
            }
            Err(error) => Err(error),
        };
        self.report_write_error(synced);
    }

    /// Reports a failed write to the user.
    pub(crate) fn report_write_error(&self, written: Result<Written, SessionError>) {
        if let Err(error) = written {
            self.config
                .hooks
                .notice(NoteLevel::Warn, &error.to_string());
        }
    }

    /// Sends the transcript to the model.
    async fn stream(&self) -> Deltas {
        let state = self.state.lock().await;
        let request = Self::request(&state, Arc::clone(&state.transcript));
        state.provider.stream(request)
    }

    /// Asks the model a question that is not added to the transcript.
    async fn stream_with_question(
        &self,
        text: &str,
        extent: Extent,
        may_call: bool,
    ) -> Result<Deltas, String> {
        self.prepare_prefix().await?;
        let state = self.state.lock().await;
        if state.transcript.is_empty() {
            return Err("there is nothing to compact".to_owned());
        }
        let mut messages = match extent {
            Extent::Whole => state.transcript.to_vec(),
            Extent::Shortened => compaction::shortened(&state.transcript, state.safe_bytes()),
        };
        messages.push(Arc::new(Message::of_text(Role::User, text, clock::now())));
        let mut request = Self::request(&state, Arc::new(messages));
        request.may_call = may_call;
        request.output_schema = None;
        Ok(state.provider.stream(request))
    }

    fn request(state: &State, messages: Arc<Vec<Arc<Message>>>) -> Request {
        let prefix = state.prefix.as_ref();
        Request {
            model: state.model.id.clone(),
            system: prefix.map_or_else(|| "".into(), |it| Arc::clone(&it.system)),
            messages,
            tools: prefix.map_or_else(|| [].into(), |it| Arc::clone(&it.tools)),
            may_call: true,
            reasoning: state.reasoning,
            max_output: None,
            output_schema: state.output_schema.clone(),
        }
    }

    /// Returns the tools offered to the model: the built-in tools, then the extension tools.
    fn offered(&self) -> Vec<ToolSpec> {
        let registry = self.host.registry();
        let extensions = registry.tools().iter().map(|entry| ToolSpec {
            name: entry.tool.frame.name.clone(),
            description: entry.tool.frame.description.clone().unwrap_or_default(),
            schema: with_type(&entry.tool.frame.schema),
        });
        let mut tools = self.toolbox.specs();
        tools.retain(|tool| self.is_builtin(&tool.name));
        tools.extend(extensions);
        tools.retain(|tool| self.config.tools.has(&tool.name));
        tools
    }

    /// Warns the user about requested tools that do not exist.
    pub(crate) fn warn_of_missing_tools(&self) {
        let ToolSelection::Only(names) = &self.config.tools else {
            return;
        };
        let registry = self.host.registry();
        for name in names {
            if !self.is_builtin(name) && registry.tool(name).is_none() {
                let message = format!("there is no tool `{}`", name.escape_debug());
                self.config.hooks.notice(NoteLevel::Warn, &message);
            }
        }
    }

    /// Adds the tokens of an answer to the total and returns the usage event.
    async fn count(&self, tokens: Tokens) -> rpc::UsageEvent {
        self.state.lock().await.count(tokens)
    }

    async fn cut_off(&self) -> ProviderError {
        let provider = self.state.lock().await.provider.name().to_owned();
        ProviderError::CutOff { provider }
    }
}

/// Adds `type: "object"`, which providers require, to a schema without a `type`.
fn with_type(schema: &Object) -> Object {
    let mut schema = schema.clone();
    schema.entry("type").or_insert_with(|| "object".into());
    schema
}
