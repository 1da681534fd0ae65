//! One model call: requests an answer, streams it to the driver, and retries after temporary
//! failures.
//!
//! **The user's message is never submitted twice.** A retry sends the same transcript again. The
//! driver sees the answer once: text that a retry repeats is not sent again, and if the new answer
//! is different, another `assistant_start` tells the driver to discard what it has.

use futures_util::StreamExt;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use zot_protocol::{InterceptName, NoteLevel, rpc};

use super::{Agent, answer::Answer, events::Events};
use crate::provider::{Delta, ProviderError, Tokens};

/// A model's answer, complete or not.
pub(super) struct Reply {
    pub(super) answer: Answer,
    /// Whether the answer's text was held back from the user while it streamed.
    pub(super) held: bool,
    pub(super) ended: Ended,
}

/// How a model call ended.
pub(super) enum Ended {
    Complete,
    Failed(ProviderError),
    Aborted,
}

/// The failures of one model call so far.
#[derive(Default)]
pub(super) struct Failures {
    retries: u32,
    /// When the first attempt failed.
    since: Option<Instant>,
    has_compacted: bool,
    pub(super) has_removed_images: bool,
}

/// What the driver has seen of an answer, across the attempts to get it.
#[derive(Default)]
struct Seen {
    /// Whether `assistant_start` has been sent.
    has_begun: bool,
    text: String,
    /// How much of `text` the current attempt has repeated; `None` once it has caught up.
    repeated: Option<usize>,
    /// Whether an earlier attempt began a tool call.
    has_old_calls: bool,
    has_calls: bool,
}

/// What to send to the driver for a piece of text.
enum Piece {
    /// Nothing: the piece has been sent before.
    Known,
    /// More text.
    More(String),
    /// The answer is different, and begins with this text.
    Restart(String),
}

impl Seen {
    /// Prepares for another attempt.
    fn again(&mut self) {
        self.repeated = Some(0);
        self.has_old_calls |= std::mem::take(&mut self.has_calls);
    }

    fn text(&mut self, piece: String) -> Piece {
        let Some(at) = self.repeated else {
            self.text.push_str(&piece);
            return Piece::More(piece);
        };
        let rest = &self.text[at..];
        if rest.starts_with(&piece) && (rest.len() > piece.len() || self.has_old_calls) {
            self.repeated = Some(at + piece.len());
            return Piece::Known;
        }
        if let Some(more) = piece.strip_prefix(rest).filter(|_| !self.has_old_calls) {
            let more = more.to_owned();
            self.repeated = None;
            self.text.push_str(&more);
            return Piece::More(more);
        }
        self.restart(&piece)
    }

    /// Returns the start of an answer that differs from the previous one: their common prefix and
    /// this piece.
    fn restart(&mut self, piece: &str) -> Piece {
        self.text.truncate(self.repeated.take().unwrap_or_default());
        self.text.push_str(piece);
        self.has_old_calls = false;
        Piece::Restart(self.text.clone())
    }

    /// Restarts the answer if it does not contain everything that the driver has seen. Called
    /// before a tool call begins and at the end of the answer.
    fn settle(&mut self) -> Piece {
        match self.repeated {
            Some(at) if at < self.text.len() || self.has_old_calls => self.restart(""),
            _ => {
                self.repeated = None;
                Piece::Known
            }
        }
    }
}

impl Agent {
    /// Calls the model and streams its answer, except for the parts that an interceptor may still
    /// change.
    pub(super) async fn ask(&self, events: &Events, cancel: &CancellationToken) -> Reply {
        let held = self.host.intercepts(&InterceptName::AssistantMessage);
        let mut failures = Failures::default();
        let mut seen = Seen::default();
        loop {
            let (answer, ended) = self.attempt(held, &mut seen, events, cancel).await;
            let Ended::Failed(error) = ended else {
                // Keep everything that was shown: an earlier attempt may have shown more than the
                // one that was aborted.
                let is_aborted = matches!(ended, Ended::Aborted) && !held;
                return Reply {
                    answer: if is_aborted {
                        answer.with_text(seen.text)
                    } else {
                        answer
                    },
                    held,
                    ended,
                };
            };
            if !self.recover(&error, &mut failures, events, cancel).await {
                let ended = if cancel.is_cancelled() {
                    Ended::Aborted
                } else {
                    Ended::Failed(error)
                };
                // Keep everything that was shown: an earlier attempt may have shown more than the
                // last one.
                let answer = if held {
                    answer
                } else {
                    answer.with_text(seen.text)
                };
                return Reply {
                    answer,
                    held,
                    ended,
                };
            }
            self.report_partial_usage(answer.tokens, events).await;
            seen.again();
        }
    }

    /// Makes one attempt: sends the transcript and streams the answer.
    async fn attempt(
        &self,
        held: bool,
        seen: &mut Seen,
        events: &Events,
        cancel: &CancellationToken,
    ) -> (Answer, Ended) {
        let args_held = self.host.intercepts(&InterceptName::ToolCall);
        let mut answer = Answer::default();
        let mut deltas = self.stream().await;
        let ended = loop {
            let delta = tokio::select! {
                biased;
                () = cancel.cancelled() => break Ended::Aborted,
                delta = deltas.next() => delta,
            };
            let delta = match delta {
                Some(Ok(delta)) => delta,
                Some(Err(error)) => break Ended::Failed(error),
                None => break Ended::Failed(self.cut_off().await),
            };
            let is_content = !matches!(delta, Delta::Usage(_));
            if is_content && !std::mem::replace(&mut seen.has_begun, true) {
                events.send(rpc::AssistantStart::default()).await;
            }
            match answer.take_in(delta) {
                Some(
                    rpc::Event::TextDelta(_)
                    | rpc::Event::ThinkingDelta(_)
                    | rpc::Event::ThinkingEnd(_),
                ) if held => {}
                Some(event @ (rpc::Event::ThinkingDelta(_) | rpc::Event::ThinkingEnd(_))) => {
                    events.send(event).await;
                }
                Some(rpc::Event::TextDelta(piece)) => {
                    self.show(seen.text(piece.delta), events).await;
                }
                Some(rpc::Event::ToolUseArgs(_)) if args_held => {}
                Some(event) => {
                    self.show(seen.settle(), events).await;
                    seen.has_calls = true;
                    events.send(event).await;
                }
                None => {}
            }
            if answer.stop.is_some() {
                self.show(seen.settle(), events).await;
                break Ended::Complete;
            }
        };
        (answer, ended)
    }

    async fn show(&self, piece: Piece, events: &Events) {
        let text = match piece {
            Piece::Known => return,
            Piece::More(text) => text,
            Piece::Restart(text) => {
                events.send(rpc::AssistantStart::default()).await;
                text
            }
        };
        if !text.is_empty() {
            events.send(rpc::TextDelta::new(text)).await;
        }
    }

    /// Prepares for a retry after an error: waits, or removes content that the provider does not
    /// accept. Returns false if a retry would not help.
    async fn recover(
        &self,
        error: &ProviderError,
        failures: &mut Failures,
        events: &Events,
        cancel: &CancellationToken,
    ) -> bool {
        if cancel.is_cancelled() {
            return false;
        }
        match error {
            ProviderError::TooLong { .. } => {
                !std::mem::replace(&mut failures.has_compacted, true)
                    && self.make_room_after_overflow(events, cancel).await
                    // Rebuild the prefix now. After the retry, that would drop the reasoning of a
                    // tool call.
                    && self.prepare_prefix().await.is_ok()
            }
            ProviderError::Image { .. } => {
                !std::mem::replace(&mut failures.has_removed_images, true)
                    && self.remove_images(error).await
            }
            _ => self.wait_to_retry(error, failures, events, cancel).await,
        }
    }

    /// Waits until a failed call can be retried. Returns false if it should not be retried.
    pub(super) async fn wait_to_retry(
        &self,
        error: &ProviderError,
        failures: &mut Failures,
        events: &Events,
        cancel: &CancellationToken,
    ) -> bool {
        let Failures { retries, since, .. } = failures;
        let passed = since.get_or_insert_with(Instant::now).elapsed();
        let wait = (self.config.retry).wait(*retries, passed, error.retry_after());
        let may_pass =
            error.is_transient() && error.max_retries().is_none_or(|most| *retries < most);
        let Some(wait) = wait.filter(|_| may_pass) else {
            return false;
        };
        *retries += 1;
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        // Send only a summary, because the provider's message has not been intercepted.
        let event = rpc::Retry::new(*retries, wait_ms, error.summary());
        events.send(event).await;
        tokio::select! {
            biased;
            () = cancel.cancelled() => false,
            () = tokio::time::sleep(wait) => true,
        }
    }

    /// Replaces all images in the transcript with a remark, so that one image that the provider
    /// cannot use does not block the session. The session file keeps them. Returns whether there
    /// were any.
    pub(super) async fn remove_images(&self, error: &ProviderError) -> bool {
        let removed = self.state.lock().await.remove_images();
        if removed > 0 {
            let message = format!(
                "{}; continuing without the images in this conversation",
                error.summary()
            );
            self.config.hooks.notice(NoteLevel::Warn, &message);
        }
        removed > 0
    }

    /// Counts the tokens that the provider has reported for an incomplete answer.
    pub(super) async fn report_partial_usage(&self, tokens: Tokens, events: &Events) {
        if tokens != Tokens::default() {
            let usage = self.count(tokens).await;
            events.send(usage).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays attempts, each a list of pieces, and returns what the driver shows at the end and how
    /// often the answer was restarted. `!` is a tool call.
    fn shown(attempts: &[&[&str]]) -> (String, usize) {
        let mut seen = Seen::default();
        let (mut screen, mut restarts) = (String::new(), 0);
        for (number, attempt) in attempts.iter().enumerate() {
            if number > 0 {
                seen.again();
            }
            for piece in *attempt {
                let sent = if *piece == "!" {
                    seen.settle()
                } else {
                    seen.text((*piece).to_owned())
                };
                match sent {
                    Piece::Known => {}
                    Piece::More(text) => screen.push_str(&text),
                    Piece::Restart(text) => (screen, restarts) = (text, restarts + 1),
                }
                if *piece == "!" {
                    seen.has_calls = true;
                    screen.push('!');
                }
            }
            if number + 1 == attempts.len()
                && let Piece::Restart(text) = seen.settle()
            {
                (screen, restarts) = (text, restarts + 1);
            }
        }
        (screen, restarts)
    }

    #[test]
    fn the_driver_sees_an_answer_once() {
        for (attempts, screen, restarts) in [
            (&[&["ab", "cd"][..]][..], "abcd", 0),
            (&[&["ab"], &["abcd"]], "abcd", 0),
            (&[&["abcd"], &["a"], &["ab", "cdef"]], "abcdef", 0),
            (&[&["abcd"], &["ab", "xy"]], "abxy", 1),
            (&[&["abcd"], &["ab"]], "ab", 1),
            (&[&["ab", "!"], &["ab", "!"]], "ab!", 1),
            (&[&["ab", "!"], &["ab"]], "ab", 1),
            (&[&["ab"], &["!"]], "!", 1),
            (&[&[], &["ab", "!"]], "ab!", 0),
        ] {
            assert_eq!(shown(attempts), (screen.into(), restarts), "{attempts:?}");
        }
    }
}
