//! Operations that change a runtime while it is idle.

use zot_protocol::{EndReason, NoteLevel, Reasoning, SessionEnd, rpc};

use super::{Runtime, Unavailable, build};
use crate::{
    agent::{State, prefix::PrefixStatus},
    extension::discover::TrustProject,
    provider::{Model, Resolved, catalogue::ModelSource, demo},
    session::{Choice, Opened},
};

/// Error returned by [`Runtime::set_model`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SetModelError {
    /// The agent is busy or closed.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// The provider has no such model.
    #[error("{provider} has no model `{}`\nhint: known models: {}", model.escape_debug(), known.join(", "))]
    Unknown {
        /// The provider.
        provider: String,
        /// The requested model.
        model: String,
        /// The provider's known models.
        known: Vec<String>,
    },
}

impl Runtime {
    /// Switches to another model of the same provider.
    pub async fn set_model(&self, id: &str) -> Result<Model, SetModelError> {
        let (_active, _) = self.occupy()?;
        let current = self.model().await;
        let model = self.0.agent.config.catalogue.model(&current.provider, id);
        let model = self.with_listed_sizes(model).await;
        // A server may have models that are not in the catalogue, so only the demo rejects them.
        if model.source == ModelSource::Assumed && current.provider == demo::NAME {
            let known = self.models().await;
            return Err(SetModelError::Unknown {
                provider: current.provider,
                model: id.to_owned(),
                known: known.into_iter().map(|model| model.id).collect(),
            });
        }
        self.change_model(|state| state.model = model.clone()).await;
        Ok(model)
    }

    /// Switches to another provider and model.
    pub async fn set_provider(&self, resolved: Resolved) -> Result<(), Unavailable> {
        let (_active, _) = self.occupy()?;
        self.change_model(|state| {
            state.provider = resolved.provider.into();
            state.model = resolved.model;
        })
        .await;
        Ok(())
    }

    async fn change_model(&self, change: impl FnOnce(&mut State)) {
        let agent = &self.0.agent;
        let mut state = agent.state.lock().await;
        change(&mut state);
        // Rebuild the system prompt, since its interceptors receive the model's name.
        state.prefix_status = PrefixStatus::Changed;
        let State {
            session,
            provider,
            model,
            reasoning,
            ..
        } = &mut *state;
        let written = session.set_model(provider.name(), &model.id);
        let ack = build::ack(&self.0.agent.config, provider.name(), &model.id);
        build::remark(&agent.config, model, *reasoning);
        provider.warm_up();
        drop(state);
        agent.host.set_ack(ack);
        agent.report_write_error(written);
    }

    /// Sets the reasoning effort. Takes effect at the next turn.
    pub async fn set_reasoning(&self, reasoning: Option<Reasoning>) -> Result<(), Unavailable> {
        let (_active, _) = self.occupy()?;
        let agent = &self.0.agent;
        let mut state = agent.state.lock().await;
        state.reasoning = reasoning;
        let model = state.model.clone();
        drop(state);
        if let Some(remark) = model.reasoning_remark(reasoning) {
            agent.config.hooks.notice(NoteLevel::Warn, &remark);
        }
        Ok(())
    }

    /// Clears the transcript. If the session is not stored, or the user chose its file, it
    /// continues; otherwise it ends and a new one begins.
    pub async fn clear(&self) -> Result<(), Unavailable> {
        let (_active, _) = self.occupy()?;
        let agent = &self.0.agent;
        agent
            .host
            .send_event(&SessionEnd::new(EndReason::Clear).into());
        let mut state = agent.state.lock().await;
        let written =
            if state.session.is_off() || matches!(self.0.agent.config.session, Choice::File(_)) {
                state.clear()
            } else {
                let opened = self
                    .0
                    .sessions
                    .create(state.provider.name(), &state.model.id);
                state.take_over(opened)
            };
        self.use_session(state.session.id());
        drop(state);
        agent.report_write_error(written);
        agent.host.start_session();
        Ok(())
    }

    /// Switches to another session, opened through [`Runtime::sessions`].
    pub async fn adopt(&self, opened: Opened) -> Result<(), Unavailable> {
        let (_active, _) = self.occupy()?;
        let host = &self.0.agent.host;
        host.send_event(&SessionEnd::new(EndReason::SessionSwitch).into());
        self.take_over(opened).await;
        host.start_session();
        Ok(())
    }

    /// Sets which of the project's extensions may start. Takes effect at the next reload.
    pub fn set_trust(&self, trust: TrustProject) {
        *self.0.trust.lock() = trust;
    }

    /// Stops all extensions, looks for extensions again, and starts them.
    pub async fn reload_extensions(&self) -> Result<rpc::ReloadStats, Unavailable> {
        let (_active, _) = self.occupy()?;
        let stats = self.0.agent.host.reload(self.find()).await;
        self.0.agent.state.lock().await.prefix_status = PrefixStatus::Changed;
        Ok(stats)
    }
}
