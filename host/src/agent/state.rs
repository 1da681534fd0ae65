//! The mutable state of an agent: transcript, model, usage.

use std::sync::Arc;

use zot_protocol::{Object, Reasoning, rpc};

use crate::{
    agent::prefix::{Prefix, PrefixStatus, Told},
    message::Message,
    provider::{Model, Provider, Tokens},
    session::{Mark, Opened, Session, SessionError, Written},
};

/// Percentage of the context window at which the transcript is compacted automatically. The rest is
/// reserved for an answer and tool output.
const FULL_PERCENT: u64 = 85;
/// How much the transcript must grow, in percent of the context window, before zot tries again to
/// compact it after a failure.
const POSTPONED_PERCENT: u64 = 3;

/// The mutable state of an agent.
pub(crate) struct State {
    pub(crate) transcript: Arc<Vec<Arc<Message>>>,
    pub(crate) session: Session,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) model: Model,
    pub(crate) reasoning: Option<Reasoning>,
    /// The start of every request; `None` before the first one.
    pub(crate) prefix: Option<Prefix>,
    pub(crate) prefix_status: PrefixStatus,
    /// The state that the model was last told about.
    pub(crate) told: Told,
    /// What to show in addition to the messages loaded from the session file. Each mark is paired
    /// with the number of messages before it.
    pub(crate) marks: Vec<(usize, Mark)>,
    pub(crate) usage: rpc::Usage,
    /// The number of tokens from which to compact the transcript again after that failed, so that
    /// not every step asks for a summary.
    pub(crate) compact_again_at: u64,
    /// What to tell the model with the user's next message.
    pub(crate) remarks: Vec<String>,
    /// Changes to report with the same message, and what the model has been told after it.
    pub(crate) changes: Option<(Vec<String>, Told)>,
    /// The JSON Schema of the answer to the running prompt.
    pub(crate) output_schema: Option<Arc<Object>>,
    /// Tokens in the context window: the provider's last count, or an estimate for the transcript.
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
            prefix_status: PrefixStatus::Continued,
            transcript: shared(opened.transcript),
            prefix: opened.prefix,
            told: opened.told,
            marks: opened.marks,
            session: opened.session,
            provider,
            model,
            reasoning,
            usage: rpc::Usage::default(),
            compact_again_at: 0,
            remarks: Vec::new(),
            changes: None,
            output_schema: None,
        }
    }

    /// Switches to another session.
    pub(crate) fn take_over(&mut self, opened: Opened) -> Result<Written, SessionError> {
        self.used = estimate(&opened.transcript);
        self.compact_again_at = 0;
        self.prefix_status = PrefixStatus::Continued;
        self.prefix = opened.prefix;
        self.told = opened.told;
        self.marks = opened.marks;
        self.transcript = shared(opened.transcript);
        self.session = opened.session;
        self.remarks.clear();
        self.changes = None;
        if opened.provider == self.provider.name() && opened.model == self.model.id {
            return Ok(Written::Yes);
        }
        let provider = self.provider.name();
        self.session.set_model(provider, &self.model.id)
    }

    /// Clears the transcript and records that in the session file.
    pub(crate) fn clear(&mut self) -> Result<Written, SessionError> {
        self.used = 0;
        self.compact_again_at = 0;
        self.remarks.clear();
        self.changes = None;
        self.transcript = Arc::default();
        self.marks.clear();
        (self.prefix, self.prefix_status) = (None, PrefixStatus::Changed);
        self.session.clear()
    }

    /// Replaces the transcript with the summary.
    pub(crate) fn compact(&mut self, summary: Message) -> Result<Written, SessionError> {
        let written = self.session.compact(&summary);
        // Nothing depends on the prefix now, so new tools can be added.
        self.prefix_status = PrefixStatus::Changed;
        let transcript = vec![summary];
        self.marks.clear();
        self.used = estimate(&transcript);
        self.compact_again_at = 0;
        self.transcript = shared(transcript);
        written
    }

    /// Sets the prefix if it differs from the current one. Earlier reasoning is not valid with a
    /// different prefix, so it is dropped.
    pub(crate) fn set_prefix(&mut self, new: Prefix, told: Told) -> Result<Written, SessionError> {
        if self.prefix.as_ref() == Some(&new) {
            return Ok(Written::Yes);
        }
        let is_same = self.prefix.as_ref().is_some_and(|old| old.is_same(&new));
        if self.prefix.is_some() && !is_same {
            for message in Arc::make_mut(&mut self.transcript) {
                if message.has_thinking() {
                    Arc::make_mut(message).drop_thinking();
                }
            }
        }
        let written = self.session.set_prefix(&new, &told);
        (self.prefix, self.told) = (Some(new), told);
        written
    }

    /// Takes the remarks for the user's next message, and what the model has been told after it.
    pub(crate) fn take_remarks(&mut self) -> (Vec<String>, Option<Told>) {
        let (mut remarks, told) = match self.changes.take() {
            Some((changes, told)) => (changes, Some(told)),
            None => (Vec::new(), None),
        };
        remarks.append(&mut self.remarks);
        (remarks, told)
    }

    /// Records what the model has been told.
    pub(crate) fn set_told(&mut self, told: Told) -> Result<Written, SessionError> {
        let written = self.session.set_told(&told);
        self.told = told;
        written
    }

    /// Replaces the images in the transcript with remarks. Returns how many there were. Reasoning
    /// is valid only if the messages before it are unchanged, so later reasoning is dropped.
    pub(crate) fn remove_images(&mut self) -> usize {
        let mut removed = 0;
        for message in Arc::make_mut(&mut self.transcript) {
            if message.has_images() {
                removed += Arc::make_mut(message).remove_images();
            }
            if removed > 0 && message.has_thinking() {
                Arc::make_mut(message).drop_thinking();
            }
        }
        removed
    }

    /// Reports whether the context window is nearly full.
    pub(crate) fn is_full(&self) -> bool {
        let model = &self.model;
        let most = model.max_input.unwrap_or(model.context_window);
        self.used >= (most / 100 * FULL_PERCENT).max(self.compact_again_at)
    }

    /// Postpones the next attempt to compact the transcript, because one has failed.
    pub(crate) fn postpone_compaction(&mut self) {
        let model = &self.model;
        let most = model.max_input.unwrap_or(model.context_window);
        self.compact_again_at = self.used + most / 100 * POSTPONED_PERCENT;
    }

    /// Returns the size in bytes to which to shorten a transcript that the provider has rejected.
    /// It is small because text can have fewer bytes per token than usual, and the context window
    /// can be smaller than assumed.
    pub(crate) fn safe_bytes(&self) -> usize {
        let model = &self.model;
        let tokens = model.max_input.unwrap_or(model.context_window);
        let bytes: usize = self.transcript.iter().map(|it| it.bytes()).sum();
        usize::try_from(tokens * 2)
            .unwrap_or(usize::MAX)
            .min(bytes / 2)
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

fn shared(transcript: Vec<Message>) -> Arc<Vec<Arc<Message>>> {
    Arc::new(transcript.into_iter().map(Arc::new).collect())
}

/// Estimates the number of tokens, at four bytes per token.
fn estimate(transcript: &[Message]) -> u64 {
    transcript.iter().map(Message::bytes).sum::<usize>() as u64 / 4
}
