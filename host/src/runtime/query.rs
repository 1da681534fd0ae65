//! Queries that work at any time, even while the agent is busy.

use std::{sync::Arc, time::Duration};

use zot_protocol::rpc;

use super::Runtime;
use crate::{
    Host, clock,
    message::Message,
    provider::{Listed, Model, catalogue::ModelSource},
    session::{Mark, Sessions},
    tool::Toolbox,
};

/// How long to wait for a server's list of models.
const LIST_TIMEOUT: Duration = Duration::from_secs(3);

/// How much of the model's context window is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Context {
    /// Tokens in the context window: the provider's last count, or an estimate for the transcript.
    pub used: u64,
    /// Size of the model's context window in tokens.
    pub window: u64,
}

impl Runtime {
    /// Returns the state in the form that drivers receive.
    pub async fn state(&self) -> rpc::State {
        let busy = self.is_busy();
        let state = self.0.agent.state.lock().await;
        let mut shown = rpc::State::new(
            state.provider.name(),
            &state.model.id,
            self.0.agent.config.cwd.to_string_lossy(),
            state.transcript.len() as u64,
            busy,
            state.usage,
        );
        let session = &state.session;
        shown.session_id = (!session.is_off()).then(|| session.id().to_owned());
        shown
    }

    /// Returns what to show in addition to the messages loaded from the session file: how calls and
    /// turns ended. Each mark is paired with the number of messages before it.
    pub async fn marks(&self) -> Vec<(usize, Mark)> {
        self.0.agent.state.lock().await.marks.clone()
    }

    /// Reports whether the agent is busy.
    pub fn is_busy(&self) -> bool {
        self.0.activity.borrow().is_running()
    }

    /// Returns the tokens used since the agent started, and their cost.
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
    pub async fn messages(&self) -> Arc<Vec<Arc<Message>>> {
        Arc::clone(&self.0.agent.state.lock().await.transcript)
    }

    /// Returns the model in use.
    pub async fn model(&self) -> Model {
        self.0.agent.state.lock().await.model.clone()
    }

    /// Returns the models of the current provider, including the one in use: those of the catalogue
    /// that the provider still offers, and those that its server lists. Waits a few seconds for the
    /// server's list.
    pub async fn models(&self) -> Vec<Model> {
        let current = self.model().await;
        let catalogue = &self.0.agent.config.catalogue;
        let today = &clock::now()[..10];
        let known = catalogue.models().iter();
        let known = known.filter(|it| it.provider == current.provider && !it.is_retired(today));
        let mut models: Vec<Model> = known.cloned().collect();
        for listed in self.listed_models(&current.provider).await {
            let model = catalogue.model(&current.provider, &listed.id);
            // Skip known names, including names with a date: they are aliases for models in the
            // catalogue.
            if model.source == ModelSource::Assumed {
                let model = model.listed(&listed);
                match models.iter_mut().find(|it| it.id == model.id) {
                    Some(known) => *known = model,
                    None => models.push(model),
                }
            }
        }
        if !models.iter().any(|model| model.id == current.id) {
            models.insert(0, current);
        }
        models
    }

    /// Returns the models that the provider's server lists. Caches the last list received.
    async fn listed_models(&self, name: &str) -> Vec<Listed> {
        let mut live = self.0.live.lock().await;
        if let Some((_, listed)) = live.as_ref().filter(|(of, _)| of == name) {
            return listed.clone();
        }
        let provider = Arc::clone(&self.0.agent.state.lock().await.provider);
        match tokio::time::timeout(LIST_TIMEOUT, provider.models()).await {
            Ok(Ok(listed)) => {
                *live = Some((name.to_owned(), listed.clone()));
                listed
            }
            _ => Vec::new(),
        }
    }

    /// Replaces assumed sizes of a model with those that the server has listed.
    pub(super) async fn with_listed_sizes(&self, model: Model) -> Model {
        let live = self.0.live.lock().await;
        let listed = live.as_ref().filter(|(name, _)| *name == model.provider);
        let mut listed = listed.into_iter().flat_map(|(_, listed)| listed);
        match listed.find(|listed| listed.id == model.id) {
            Some(listed) if model.source == ModelSource::Assumed => model.listed(listed),
            _ => model,
        }
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
