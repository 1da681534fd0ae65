//! Queries that work at any time, even while the agent is busy.

use std::sync::Arc;

use zot_protocol::rpc;

use super::Runtime;
use crate::{Host, message::Message, provider::Model, session::Sessions, tool::Toolbox};

/// How much of the model's context window is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Context {
    /// Tokens in the transcript: the provider's last count, or an estimate.
    pub used: u64,
    /// Size of the model's context window in tokens.
    pub window: u64,
}

impl Runtime {
    /// Returns the state in the form that drivers receive.
    pub async fn state(&self) -> rpc::State {
        let busy = self.is_busy();
        let state = self.0.agent.state.lock().await;
        rpc::State::new(
            state.provider.name(),
            &state.model.id,
            self.0.agent.config.cwd.to_string_lossy(),
            state.transcript.len() as u64,
            busy,
            state.usage,
        )
    }

    /// Reports whether the agent is busy.
    pub fn is_busy(&self) -> bool {
        self.0.activity.borrow().is_running()
    }

    /// Returns the tokens and cost since the agent started.
    pub async fn usage(&self) -> rpc::Usage {
        self.0.agent.state.lock().await.usage
    }

    /// Returns how much of the context window is used.
    pub async fn context(&self) -> Context {
        let state = self.0.agent.state.lock().await;
        Context {
            used: state.used,
            window: state.model.context_window,
        }
    }

    /// Returns the transcript.
    pub async fn messages(&self) -> Arc<Vec<Message>> {
        Arc::clone(&self.0.agent.state.lock().await.transcript)
    }

    /// Returns the model in use.
    pub async fn model(&self) -> Model {
        self.0.agent.state.lock().await.model.clone()
    }

    /// Returns the known models of the current provider, including the one in use.
    pub async fn models(&self) -> Vec<Model> {
        let current = self.model().await;
        let known = self.0.agent.config.catalogue.models().iter();
        let mut models: Vec<Model> = known
            .filter(|model| model.provider == current.provider)
            .cloned()
            .collect();
        if !models.iter().any(|model| model.id == current.id) {
            models.insert(0, current);
        }
        models
    }

    /// The extension host, for commands, panels and registrations.
    pub fn host(&self) -> &Host {
        &self.0.agent.host
    }

    /// The built-in tools and the jail.
    pub fn toolbox(&self) -> &Toolbox {
        &self.0.agent.toolbox
    }

    /// The sessions of the working directory.
    pub fn sessions(&self) -> &Sessions {
        &self.0.sessions
    }

    /// Returns the path of the session file and its number of messages, or `None` if nothing is
    /// stored. The file is created with the first message.
    pub async fn session(&self) -> Option<(std::path::PathBuf, u64)> {
        let state = self.0.agent.state.lock().await;
        let path = state.session.path()?.to_owned();
        Some((path, state.session.messages()))
    }
}
