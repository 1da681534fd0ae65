//! What can be asked of a runtime at any time, also while it works.

use std::sync::Arc;

use zot_protocol::rpc;

use super::Runtime;
use crate::{Host, message::Message, provider::Model, session::Sessions, tool::Toolbox};

/// How much of what a model can take in is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Context {
    /// Tokens of the transcript, as the provider last counted them, or as they are estimated.
    pub used: u64,
    /// Tokens that the model can take in.
    pub window: u64,
}

impl Runtime {
    /// What it is at.
    pub async fn state(&self) -> rpc::State {
        let busy = self.is_busy();
        let state = self.0.agent.state.lock().await;
        rpc::State::new(
            state.provider.name(),
            &state.model.id,
            self.0.config.cwd.to_string_lossy(),
            state.transcript.len() as u64,
            busy,
            state.usage,
        )
    }

    /// Whether something is being done.
    pub fn is_busy(&self) -> bool {
        self.0.active.borrow().is_some()
    }

    /// Tokens and cost since it was started.
    pub async fn usage(&self) -> rpc::Usage {
        self.0.agent.state.lock().await.usage
    }

    /// How full the model is.
    pub async fn context(&self) -> Context {
        let state = self.0.agent.state.lock().await;
        Context {
            used: state.used,
            window: state.model.context_window,
        }
    }

    /// The transcript.
    pub async fn messages(&self) -> Arc<Vec<Message>> {
        Arc::clone(&self.0.agent.state.lock().await.transcript)
    }

    /// The model in use.
    pub async fn model(&self) -> Model {
        self.0.agent.state.lock().await.model.clone()
    }

    /// The models that are known of the provider in use, the one in use among them.
    pub async fn models(&self) -> Vec<Model> {
        let current = self.model().await;
        let known = self.0.config.catalogue.models().iter();
        let mut models: Vec<Model> = known
            .filter(|model| model.provider == current.provider)
            .cloned()
            .collect();
        if !models.iter().any(|model| model.id == current.id) {
            models.insert(0, current);
        }
        models
    }

    /// The extensions, for commands, panels and what they register.
    pub fn host(&self) -> &Host {
        &self.0.agent.host
    }

    /// The built-in tools: the jail is opened and closed here.
    pub fn toolbox(&self) -> &Toolbox {
        &self.0.agent.toolbox
    }

    /// The sessions of the working directory.
    pub fn sessions(&self) -> &Sessions {
        &self.0.sessions
    }

    /// The file of the session, which is made with the first message, and how many messages it has; `None` where nothing
    /// is kept.
    pub async fn session(&self) -> Option<(std::path::PathBuf, u64)> {
        let state = self.0.agent.state.lock().await;
        let path = state.session.path()?.to_owned();
        Some((path, state.session.messages()))
    }
}
