//! What a chain of answers makes of an event: a pure function, without time and without processes.
//!
//! The subscribers answer one after the other; each sees what the one before it left; the first block ends the chain.

use zot_protocol::{
    EventInterceptResponse, Intercept, InterceptName, OnFailure, Tagged, validate::Refusal,
};

/// Why an interceptor has given no answer that counts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// It did not answer within its deadline.
    #[error("no answer within {0:?}")]
    Timeout(std::time::Duration),
    /// The chain had used up its time before it was asked.
    #[error("not asked: the chain had used up its {0:?}")]
    ChainTimeout(std::time::Duration),
    /// It has ended, or was never there.
    #[error("{0}")]
    Gone(String),
    /// It is not ready yet.
    #[error("not ready yet")]
    NotReady,
    /// Its answer does not validate.
    #[error("{0}")]
    Refused(Box<Refusal>),
    /// Its queue is full.
    #[error("it does not read what it is sent")]
    QueueFull,
    /// It rewrote an event that its permissions do not let it rewrite.
    #[error("it may not rewrite {0}: its permissions lack \"intercept\": [\"{0}\"]")]
    NotGranted(InterceptName),
    /// The request does not fit into a frame.
    #[error("the request has {bytes} bytes, more than a frame may have")]
    TooLarge {
        /// The size of the request.
        bytes: usize,
    },
}

/// One link's answer.
pub type Answer = Result<EventInterceptResponse, Failure>;

/// What one link did to the event.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// It went on unchanged.
    Allowed,
    /// It went on changed.
    Rewritten,
    /// It was refused.
    Blocked,
    /// There was no answer that counts, and it went on unchanged.
    FailedOpen(Failure),
    /// There was no answer that counts, and it was refused.
    FailedClosed(Failure),
}

/// What a link's answer may do, and what its failure means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rights {
    /// What its failure means.
    pub on_failure: OnFailure,
    /// Whether it may rewrite the event.
    pub rewrite: bool,
}

/// Who refused an event, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The extension.
    pub by: String,
    /// Its reason, or ours where it failed; never empty.
    pub reason: String,
}

/// An event on its way through a chain.
#[derive(Debug, Clone, PartialEq)]
pub struct Fold {
    event: Intercept,
    block: Option<Block>,
}

impl Fold {
    /// The event as it happened.
    pub fn new(event: Intercept) -> Self {
        Self { event, block: None }
    }

    /// What the next link is asked about.
    pub fn event(&self) -> &Intercept {
        &self.event
    }

    /// Whether a link has ended the chain.
    pub fn is_blocked(&self) -> bool {
        self.block.is_some()
    }

    /// What has become of it: the event as the links left it, or who refused it.
    pub fn finish(self) -> Result<Intercept, Block> {
        match self.block {
            Some(block) => Err(block),
            None => Ok(self.event),
        }
    }

    /// Takes in the answer of the link called `who`.
    pub fn answer(&mut self, who: &str, rights: Rights, answer: Answer) -> Verdict {
        let response = match answer {
            Ok(response) => response,
            Err(failure) => return self.failure(who, rights.on_failure, failure),
        };
        if response.block {
            return if self.can_be_blocked() {
                self.block(who, response.reason)
            } else {
                Verdict::Allowed
            };
        }
        match self.rewrite(response, rights.rewrite) {
            Ok(true) => Verdict::Rewritten,
            Ok(false) => Verdict::Allowed,
            Err(failure) => self.failure(who, rights.on_failure, failure),
        }
    }

    /// Takes in the answer of a link that is asked about the event as the whole chain left it. It can refuse any event
    /// now, and change none.
    pub fn last_word(&mut self, who: &str, on_failure: OnFailure, answer: Answer) -> Verdict {
        match answer {
            Ok(response) if response.block => self.block(who, response.reason),
            Ok(_) => Verdict::Allowed,
            Err(failure) => self.failure(who, on_failure, failure),
        }
    }

    /// Puts the rewrite for this event in place. `false` if there is none, or it changes nothing.
    fn rewrite(
        &mut self,
        response: EventInterceptResponse,
        granted: bool,
    ) -> Result<bool, Failure> {
        let name = InterceptName::from(self.event.name());
        let changes = match &mut self.event {
            Intercept::ToolCall(call) => {
                replace(&mut call.tool_args, response.modified_args, granted)
            }
            Intercept::AssistantMessage(message) => {
                replace(&mut message.text, not_empty(response.replace_text), granted)
            }
            Intercept::UserMessage(message) => {
                replace(&mut message.text, not_empty(response.replace_text), granted)
            }
            Intercept::ToolResult(result) => {
                replace(&mut result.content, response.replace_content, granted)
            }
            Intercept::BeforeAgentStart(start) => {
                replace(&mut start.system_prompt, response.system_prompt, granted)
            }
            _ => false,
        };
        if changes && !granted {
            return Err(Failure::NotGranted(name));
        }
        Ok(changes)
    }

    fn failure(&mut self, who: &str, on_failure: OnFailure, failure: Failure) -> Verdict {
        // A malformed answer that says `block: true` blocks, whatever else it holds.
        if let Failure::Refused(refusal) = &failure
            && refusal.says_block
            && self.can_be_blocked()
        {
            return self.block(who, None);
        }
        // Size must not be a way past a guard.
        let too_large = matches!(failure, Failure::TooLarge { .. });
        if on_failure == OnFailure::Block || too_large {
            let what = match &failure {
                Failure::NotGranted(_) => "failed",
                _ => "could not be asked",
            };
            self.block = Some(Block {
                by: who.to_owned(),
                reason: format!("{who} {what}: {failure}"),
            });
            return Verdict::FailedClosed(failure);
        }
        Verdict::FailedOpen(failure)
    }

    fn block(&mut self, who: &str, reason: Option<String>) -> Verdict {
        let reason = reason.filter(|reason| !reason.trim().is_empty());
        let reason = reason.unwrap_or_else(|| format!("refused by {who}"));
        self.block = Some(Block {
            by: who.to_owned(),
            reason,
        });
        Verdict::Blocked
    }

    /// A session cannot be refused its system prompt, only be given another.
    fn can_be_blocked(&self) -> bool {
        !matches!(self.event, Intercept::BeforeAgentStart(_))
    }
}

/// Whether `rewrite` would change `place`; where that is granted, it does.
fn replace<T: PartialEq>(place: &mut T, rewrite: Option<T>, granted: bool) -> bool {
    let Some(rewrite) = rewrite.filter(|rewrite| rewrite != place) else {
        return false;
    };
    if granted {
        *place = rewrite;
    }
    true
}

/// For texts, `""` is no rewrite.
fn not_empty(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}
