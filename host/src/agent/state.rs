//! What changes while an agent lives: the transcript, the model, what it has cost.

use std::sync::Arc;

use zot_protocol::{Reasoning, rpc};

use crate::{
    message::Message,
    provider::{Model, Provider, Tokens},
    session::Session,
};

/// What changes while an agent lives.
pub(crate) struct State {
    pub(crate) transcript: Arc<Vec<Message>>,
    pub(crate) session: Session,
    /// Who answers.
    pub(crate) provider: Arc<dyn Provider>,
    /// What is known of the model.
    pub(crate) model: Model,
    pub(crate) reasoning: Option<Reasoning>,
    /// The system prompt as the interceptors left it; `None`: it is to be made anew.
    pub(crate) system: Option<String>,
    pub(crate) usage: rpc::Usage,
}

impl State {
    /// Adds the tokens of an answer, and tells of them.
    pub(crate) fn count(&mut self, tokens: Tokens) -> rpc::UsageEvent {
        let mut turn = rpc::Usage::default();
        turn.input = tokens.input;
        turn.output = tokens.output;
        turn.cache_read = tokens.cache_read;
        turn.cache_write = tokens.cache_write;
        turn.cost_usd = self.model.cost(&tokens).unwrap_or_default();
        self.usage.input += turn.input;
        self.usage.output += turn.output;
        self.usage.cache_read += turn.cache_read;
        self.usage.cache_write += turn.cache_write;
        self.usage.cost_usd += turn.cost_usd;
        rpc::UsageEvent::new(turn, self.usage)
    }
}
