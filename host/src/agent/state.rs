//! The mutable state of an agent: transcript, model, usage.

use std::sync::Arc;

use zot_protocol::{Reasoning, rpc};

use crate::{
    message::Message,
    provider::{Model, Provider, Tokens},
    session::{Opened, Session, SessionError, Written},
};

/// Percentage of the context window at which the transcript is compacted automatically. The rest is
/// reserved for an answer and tool output.
const FULL_PERCENT: u64 = 85;

/// The mutable state of an agent.
pub(crate) struct State {
    pub(crate) transcript: Arc<Vec<Message>>,
    pub(crate) session: Session,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) model: Model,
    pub(crate) reasoning: Option<Reasoning>,
    /// The system prompt as the interceptors left it; `None` if it has to be rebuilt.
    pub(crate) system: Option<String>,
    pub(crate) usage: rpc::Usage,
    /// Tokens in the transcript: the provider's last count, or an estimate.
    pub(crate) used: u64,
}

impl State {
    pub(crate) fn new(
        provider: Arc<dyn Provider>,
        model: Model,
        reasoning: Option<Reasoning>,
        opened: Opened,
    ) -> Self {
        Self {
            used: estimate(&opened.transcript),
            transcript: Arc::new(opened.transcript),
            session: opened.session,
            provider,
            model,
            reasoning,
            system: None,
            usage: rpc::Usage::default(),
        }
    }

    /// Switches to another session.
    pub(crate) fn take_over(&mut self, opened: Opened) -> Result<Written, SessionError> {
        self.used = estimate(&opened.transcript);
        self.transcript = Arc::new(opened.transcript);
        self.session = opened.session;
        self.system = None;
        if opened.provider == self.provider.name() && opened.model == self.model.id {
            return Ok(Written::Yes);
        }
        let provider = self.provider.name();
        self.session.set_model(provider, &self.model.id)
    }

    /// Clears the transcript and records that in the session file.
    pub(crate) fn clear(&mut self) -> Result<Written, SessionError> {
        self.used = 0;
        self.transcript = Arc::default();
        self.system = None;
        self.session.clear()
    }

    /// Replaces the transcript with the summary.
    pub(crate) fn compact(&mut self, summary: Message) -> Result<Written, SessionError> {
        let written = self.session.compact(&summary);
        let transcript = vec![summary];
        self.used = estimate(&transcript);
        self.transcript = Arc::new(transcript);
        written
    }

    /// Reports whether the context window is nearly full.
    pub(crate) fn is_full(&self) -> bool {
        self.used >= self.model.context_window / 100 * FULL_PERCENT
    }

    /// Adds the tokens of an answer to the total and returns the usage event.
    pub(crate) fn count(&mut self, tokens: Tokens) -> rpc::UsageEvent {
        let mut turn = rpc::Usage::default();
        turn.input = tokens.input;
        turn.output = tokens.output;
        turn.cache_read = tokens.cache_read;
        turn.cache_write = tokens.cache_write;
        self.used = tokens.input + tokens.cache_read + tokens.cache_write + tokens.output;
        turn.cost_usd = self.model.cost(&tokens).unwrap_or_default();
        self.usage.input += turn.input;
        self.usage.output += turn.output;
        self.usage.cache_read += turn.cache_read;
        self.usage.cache_write += turn.cache_write;
        self.usage.cost_usd += turn.cost_usd;
        rpc::UsageEvent::new(turn, self.usage)
    }
}

/// Estimates the number of tokens, at four bytes per token.
fn estimate(transcript: &[Message]) -> u64 {
    transcript.iter().map(Message::bytes).sum::<usize>() as u64 / 4
}
