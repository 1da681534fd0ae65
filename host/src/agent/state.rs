//! What changes while an agent lives: the transcript, the model, what it has cost.

use std::sync::Arc;

use zot_protocol::{Reasoning, rpc};

use crate::{
    message::Message,
    provider::{Provider, Tokens},
    session::Session,
};

/// Who answers.
#[derive(Clone)]
pub(crate) struct Model {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) name: String,
    pub(crate) max_output: Option<u32>,
    /// What a million tokens cost, in US dollars.
    pub(crate) price: Price,
}

/// What a million tokens cost, in US dollars.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Price {
    pub(crate) input: f64,
    pub(crate) output: f64,
    pub(crate) cache_read: f64,
    pub(crate) cache_write: f64,
}

impl Price {
    #[expect(clippy::cast_precision_loss, reason = "nobody counts tokens in quadrillions")]
    fn of(self, tokens: Tokens) -> f64 {
        let part = |count: u64, price: f64| count as f64 * price / 1e6;
        part(tokens.input, self.input)
            + part(tokens.output, self.output)
            + part(tokens.cache_read, self.cache_read)
            + part(tokens.cache_write, self.cache_write)
    }
}

/// What changes while an agent lives.
pub(crate) struct State {
    pub(crate) transcript: Arc<Vec<Message>>,
    pub(crate) session: Session,
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
        turn.cost_usd = self.model.price.of(tokens);
        self.usage.input += turn.input;
        self.usage.output += turn.output;
        self.usage.cache_read += turn.cache_read;
        self.usage.cache_write += turn.cache_write;
        self.usage.cost_usd += turn.cost_usd;
        rpc::UsageEvent::new(turn, self.usage)
    }
}
