//! Applies the answers of interceptors to an event. This code is pure: it does not depend on time
//! or processes.
//!
//! Each interceptor sees the event as the previous one left it, and the first one that blocks ends
//! the chain.

use super::changed;
use zot_protocol::{
    EventInterceptResponse, Intercept, InterceptName, OnFailure, Tagged, validate::Refusal,
};

/// Why an interceptor gave no valid answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// It did not answer within its deadline.
    #[error("no answer within {0:?}")]
    Timeout(std::time::Duration),
    /// The chain timed out before the interceptor was asked.
    #[error("not asked: the interceptor chain timed out after {0:?}")]
    ChainTimeout(std::time::Duration),
    /// It has exited or never started.
    #[error("{0}")]
    Gone(String),
    /// It is not ready yet.
    #[error("not ready yet")]
    NotReady,
    /// Its answer is invalid.
    #[error("{0}")]
    Refused(Box<Refusal>),
    /// Its queue is full.
    #[error("it is not reading its input")]
    QueueFull,
    /// It rewrote an event without permission to do so.
    #[error("it is not allowed to rewrite {0}: its permissions lack \"intercept\": [\"{0}\"]")]
    NotGranted(InterceptName),
    /// The request is too large for a frame.
    #[error("the request is too large for a frame: {bytes} bytes")]
    TooLarge {
        /// The size of the request.
        bytes: usize,
    },
}

/// The answer of one interceptor.
pub type InterceptAnswer = Result<EventInterceptResponse, Failure>;

/// What one interceptor did to the event.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// It left the event unchanged.
    Allowed,
    /// It changed the event.
    Rewritten,
    /// It blocked the event.
    Blocked,
    /// It failed, and the event passed unchanged.
    FailedOpen(Failure),
    /// It failed, and the event was blocked.
    FailedClosed(Failure),
}

/// What an interceptor is allowed to do, and what happens if it fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rights {
    /// What to do with the event if the interceptor fails.
    pub on_failure: OnFailure,
    /// Whether the interceptor may rewrite the event.
    pub rewrite: bool,
}

/// Which extension blocked an event, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    /// The extension.
    pub by: String,
    /// Its reason, or the host's if it failed. Never empty.
    pub reason: String,
}

/// An event that is being passed through a chain of interceptors.
#[derive(Debug, Clone, PartialEq)]
pub struct Fold {
    event: Intercept,
    block: Option<Blocked>,
    /// What the last answer changed, as JSON pointers.
    changed: Vec<String>,
}

impl Fold {
    /// Starts with the original event.
    pub fn new(event: Intercept) -> Self {
        Self {
            event,
            block: None,
            changed: Vec::new(),
        }
    }

    /// The event for the next interceptor.
    pub fn event(&self) -> &Intercept {
        &self.event
    }

    /// Reports whether an interceptor has blocked the event.
    pub fn is_blocked(&self) -> bool {
        self.block.is_some()
    }

    /// Which interceptor blocked the event, if any.
    pub fn block(&self) -> Option<&Blocked> {
        self.block.as_ref()
    }

    /// Returns what the last answer changed, as JSON pointers.
    pub(super) fn take_changed(&mut self) -> Vec<String> {
        std::mem::take(&mut self.changed)
    }

    /// Returns the event as the interceptors left it, or which of them blocked it.
    pub fn finish(self) -> Result<Intercept, Blocked> {
        match self.block {
            Some(block) => Err(block),
            None => Ok(self.event),
        }
    }

    /// Applies an interceptor's answer.
    pub fn answer(&mut self, extension: &str, rights: Rights, answer: InterceptAnswer) -> Verdict {
        let response = match answer {
            Ok(response) => response,
            Err(failure) => return self.failure(extension, rights.on_failure, failure),
        };
        if response.block {
            return if self.can_be_blocked() {
                self.refuse(extension, response.reason)
            } else {
                Verdict::Allowed
            };
        }
        match self.rewrite(response, rights.rewrite) {
            Ok(true) => Verdict::Rewritten,
            Ok(false) => Verdict::Allowed,
            Err(failure) => self.failure(extension, rights.on_failure, failure),
        }
    }

    /// Applies the answer of a final interceptor about the event as the whole chain left it. It can
    /// block any event, but cannot change it.
    pub fn final_answer(
        &mut self,
        extension: &str,
        on_failure: OnFailure,
        answer: InterceptAnswer,
    ) -> Verdict {
        match answer {
            Ok(response) if response.block => self.refuse(extension, response.reason),
            Ok(_) => Verdict::Allowed,
            Err(failure) => self.failure(extension, on_failure, failure),
        }
    }

    /// Applies the rewrite for this type of event. Returns false if there is none, or it changes
    /// nothing.
    fn rewrite(
        &mut self,
        response: EventInterceptResponse,
        granted: bool,
    ) -> Result<bool, Failure> {
        let text = not_empty(response.replace_text);
        let all_of = |place: &str| vec![place.to_owned()];
        let changed = match &mut self.event {
            Intercept::ToolCall(call) => {
                let args = &mut call.tool_args;
                replace(args, response.modified_args, granted, |before, after| {
                    changed::in_object("/tool_args", before, after)
                })
            }
            Intercept::AssistantMessage(message) => {
                replace(&mut message.text, text, granted, |_, _| all_of("/text"))
            }
            Intercept::UserMessage(message) => {
                replace(&mut message.text, text, granted, |_, _| all_of("/text"))
            }
            Intercept::ToolResult(result) => {
                let content = &mut result.content;
                replace(
                    content,
                    response.replace_content,
                    granted,
                    |before, after| changed::in_content("/content", before, after),
                )
            }
            Intercept::BeforeAgentStart(start) => {
                let prompt = &mut start.system_prompt;
                replace(prompt, response.system_prompt, granted, |_, _| {
                    all_of("/system_prompt")
                })
            }
            _ => None,
        };
        match changed {
            None => Ok(false),
            Some(_) if !granted => Err(Failure::NotGranted(InterceptName::from(self.event.name()))),
            Some(changed) => {
                self.changed = changed;
                Ok(true)
            }
        }
    }

    fn failure(&mut self, extension: &str, on_failure: OnFailure, failure: Failure) -> Verdict {
        // A malformed answer with `block: true` blocks, whatever else is wrong with it.
        if let Failure::Refused(refusal) = &failure
            && refusal.says_block
            && self.can_be_blocked()
        {
            return self.refuse(extension, None);
        }
        // An event that is too large for a frame is always blocked; otherwise it could bypass a
        // guard.
        let too_large = matches!(failure, Failure::TooLarge { .. });
        if on_failure == OnFailure::Block || too_large {
            self.block = Some(Blocked {
                by: extension.to_owned(),
                reason: format!("{extension} failed: {failure}"),
            });
            return Verdict::FailedClosed(failure);
        }
        Verdict::FailedOpen(failure)
    }

    fn refuse(&mut self, extension: &str, reason: Option<String>) -> Verdict {
        let reason = reason.filter(|reason| !reason.trim().is_empty());
        let reason = reason.unwrap_or_else(|| format!("refused by {extension}"));
        self.block = Some(Blocked {
            by: extension.to_owned(),
            reason,
        });
        Verdict::Blocked
    }

    /// Reports whether the event can be blocked. The system prompt can only be replaced.
    fn can_be_blocked(&self) -> bool {
        !matches!(self.event, Intercept::BeforeAgentStart(_))
    }
}

/// Replaces `place` with `rewrite` if they differ and the rewrite is `granted`. Returns `None` if
/// nothing would change, otherwise the changed locations from `compare` (an empty list if the rewrite
/// is not granted).
fn replace<T: PartialEq>(
    place: &mut T,
    rewrite: Option<T>,
    granted: bool,
    compare: impl FnOnce(&T, &T) -> Vec<String>,
) -> Option<Vec<String>> {
    let rewrite = rewrite.filter(|rewrite| rewrite != place)?;
    if !granted {
        return Some(Vec::new());
    }
    let before = std::mem::replace(place, rewrite);
    Some(compare(&before, place))
}

/// Returns `None` for empty text, which does not count as a rewrite.
fn not_empty(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}
