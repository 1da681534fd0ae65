//! The agent: a model that is asked, its tools that run, and a transcript that grows. What the extensions extend.
//!
//! [`Runtime`](crate::Runtime) is its door; here is what goes on behind it.

mod answer;
mod compaction;
mod events;
mod state;
mod system_prompt;
mod tool_calls;
mod turn;

use std::{path::PathBuf, sync::Arc};

use tokio::sync::Mutex;
use zot_protocol::{BeforeAgentStart, Intercept, NoteLevel, Object, rpc};

use crate::{
    Host, clock,
    hooks::Hooks,
    message::{Block, Message, Role},
    provider::{Deltas, ProviderError, Request, Tokens, ToolSpec},
    session::{SessionError, Written},
    tool::{self, Toolbox},
};

pub(crate) use events::Events;
pub(crate) use state::State;
pub use turn::Prompt;

/// What stays the same for as long as an agent lives.
pub(crate) struct Settings {
    /// Where the user works.
    pub(crate) cwd: PathBuf,
    /// In the place of our own system prompt.
    pub(crate) system_prompt: Option<String>,
    /// Behind it.
    pub(crate) appended: Vec<String>,
    /// Files that the project and the user keep for agents.
    pub(crate) context: Vec<(PathBuf, String)>,
    /// How often the model may be called for one prompt.
    pub(crate) max_steps: Option<u32>,
    /// Which tools the model is offered.
    pub(crate) tools: Offered,
}

/// Which tools the model is offered, the extensions' among them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Offered {
    /// Every tool there is.
    #[default]
    All,
    /// None.
    None,
    /// Those named.
    Only(Vec<String>),
}

impl Offered {
    /// Whether a tool is among them.
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
    pub(crate) settings: Settings,
    pub(crate) hooks: Arc<dyn Hooks>,
    pub(crate) state: Mutex<State>,
}

impl Agent {
    /// Puts a message into the transcript and into the session's file.
    async fn record(&self, message: Message) {
        let mut state = self.state.lock().await;
        let written = state.session.append(&message);
        Arc::make_mut(&mut state.transcript).push(message);
        drop(state);
        self.told(written);
    }

    /// The transcript becomes this one message.
    async fn replace_transcript(&self, message: Message) {
        let written = self.state.lock().await.compact(message);
        self.told(written);
    }

    /// Waits until everything is on the disk, where that holds up nobody else.
    async fn sync(&self) {
        let flushed = self.state.lock().await.session.flush();
        let synced = match flushed {
            Ok((written, unsynced)) => {
                let synced = tokio::task::spawn_blocking(move || unsynced.sync()).await;
                // It does not panic, and nobody aborts it.
                synced.unwrap_or(Ok(())).map(|()| written)
            }
            Err(error) => Err(error),
        };
        self.told(synced);
    }

    pub(crate) fn told(&self, written: Result<Written, SessionError>) {
        if let Err(error) = written {
            self.hooks.notice(NoteLevel::Warn, &error.to_string());
        }
    }

    /// Asks the model with the transcript as it is.
    async fn stream(&self) -> Deltas {
        let state = self.state.lock().await;
        let request = self.request(&state, Arc::clone(&state.transcript));
        state.provider.stream(request)
    }

    /// Asks the model something that does not become part of the transcript.
    async fn stream_asking(&self, text: &str) -> Result<Deltas, String> {
        self.prepare_system_prompt().await?;
        let state = self.state.lock().await;
        if state.transcript.is_empty() {
            return Err("there is nothing to compact".to_owned());
        }
        let mut messages = state.transcript.to_vec();
        messages.push(Message {
            role: Role::User,
            content: vec![Block::Text {
                text: text.to_owned(),
            }],
            time: clock::now(),
        });
        let mut request = self.request(&state, Arc::new(messages));
        // It is not to go on working.
        request.tools = Arc::default();
        Ok(state.provider.stream(request))
    }

    fn request(&self, state: &State, messages: Arc<Vec<Message>>) -> Request {
        Request {
            model: state.model.id.clone(),
            system: state.system.clone().unwrap_or_default(),
            messages,
            tools: Arc::new(self.offered()),
            reasoning: state.reasoning,
            max_output: u32::try_from(state.model.max_output).ok(),
        }
    }

    /// The tools that the model may call: the built-in ones, then the extensions'.
    fn offered(&self) -> Vec<ToolSpec> {
        let registry = self.host.registry();
        let extensions = registry.tools().iter().map(|entry| ToolSpec {
            name: entry.tool.frame.name.clone(),
            description: entry.tool.frame.description.clone().unwrap_or_default(),
            schema: with_type(&entry.tool.frame.schema),
        });
        let mut tools = self.toolbox.specs();
        tools.extend(extensions);
        tools.retain(|tool| self.settings.tools.has(&tool.name));
        tools
    }

    /// Tells the user which tools they asked for and nobody has.
    pub(crate) fn warn_of_missing_tools(&self) {
        let Offered::Only(names) = &self.settings.tools else {
            return;
        };
        let registry = self.host.registry();
        for name in names {
            if !tool::NAMES.contains(&&**name) && registry.tool(name).is_none() {
                let message = format!("there is no tool `{}`", name.escape_debug());
                self.hooks.notice(NoteLevel::Warn, &message);
            }
        }
    }

    /// Makes the system prompt, if there is none, and lets the interceptors look at it: once per session, and again when
    /// something changed that it is about.
    async fn prepare_system_prompt(&self) -> Result<(), String> {
        let (provider, model) = {
            let state = self.state.lock().await;
            if state.system.is_some() {
                return Ok(());
            }
            (state.provider.name().to_owned(), state.model.id.clone())
        };
        let skills: Vec<(String, String)> = self
            .toolbox
            .skills()
            .iter()
            .map(|skill| (skill.name.clone(), skill.description.clone()))
            .collect();
        let prompt = system_prompt::system_prompt(&system_prompt::Parts {
            replacement: self.settings.system_prompt.as_deref(),
            appended: &self.settings.appended,
            cwd: &self.settings.cwd,
            context: &self.settings.context,
            skills: &skills,
            today: &clock::now()[..10],
        });
        let asked = BeforeAgentStart::new(prompt, provider, model);
        let system = match self.host.intercept(asked.into()).await.result {
            Ok(Intercept::BeforeAgentStart(start)) => start.system_prompt,
            Ok(_) => unreachable!("a chain keeps the kind of its event"),
            Err(block) => return Err(block.reason),
        };
        self.state.lock().await.system = Some(system);
        Ok(())
    }

    /// Counts the tokens of an answer.
    async fn count(&self, tokens: Tokens) -> rpc::UsageEvent {
        self.state.lock().await.count(tokens)
    }

    async fn cut_off(&self) -> ProviderError {
        let provider = self.state.lock().await.provider.name().to_owned();
        ProviderError::CutOff { provider }
    }
}

/// Providers want the type said.
fn with_type(schema: &Object) -> Object {
    let mut schema = schema.clone();
    schema.entry("type").or_insert_with(|| "object".into());
    schema
}
