//! Compaction: replaces a long transcript with a summary. The session file keeps the old messages.

use std::sync::Arc;

use futures_util::StreamExt;
use tokio_util::sync::CancellationToken;
use zot_protocol::{CompactEvent, NoteLevel, StopReason, TurnPurpose, rpc};

use super::{Agent, answer::Answer, events::Events, model_call::Failures};
use crate::{
    clock,
    extension::notes::HeldNotes,
    message::{Message, Role},
    provider::{ProviderError, Tokens},
    session::transcript,
};

/// How much of the transcript the model summarises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// All of it. The request begins like every other request, so the provider's cache is used.
    Whole,
    /// Only as much as fits into the context window.
    Shortened,
}

/// The prompt that asks the model for a summary.
const ASK: &str = "\
Summarise our conversation so far for yourself: this summary is all you will have to continue with. Keep what the user asked for and \
decided, the files that matter and what was changed in them, what was tried and how it went, what is still open, and the next step. \
Leave out what is settled and what you can read again. Do not call tools.";

/// The line that introduces the summary in the transcript.
const INTRODUCTION: &str = "Summary of the conversation so far:";

/// Why no summary was created.
enum NoSummary {
    /// The reason, from zot or an interceptor, and the notes for the user.
    Refused(String, HeldNotes),
    /// The provider failed with this message.
    Failed(String),
}

impl Agent {
    /// Compacts the transcript. The last event is `done`, exactly once.
    pub(crate) async fn compact(&self, events: &Events, cancel: &CancellationToken) {
        let (shortened, notes) = self.shorten(Extent::Whole, events, cancel).await;
        match shortened {
            Ok(summary) => events.send(rpc::CompactDone::new(summary)).await,
            Err(why) => events.send(rpc::Error::new(why)).await,
        }
        events.release(notes).await;
        events.send(rpc::Done::default()).await;
        self.sync().await;
    }

    /// Compacts the transcript if the context window is nearly full. If that fails, the transcript
    /// is unchanged, and the provider may reject the next request.
    pub(super) async fn make_room(&self, events: &Events, cancel: &CancellationToken) {
        if self.state.lock().await.is_full()
            && !self.make_room_for(Extent::Whole, events, cancel).await
        {
            self.state.lock().await.postpone_compaction();
        }
    }

    /// Compacts a transcript that the provider has rejected because it is too long. Returns whether
    /// it is shorter now.
    pub(super) async fn make_room_after_overflow(
        &self,
        events: &Events,
        cancel: &CancellationToken,
    ) -> bool {
        self.make_room_for(Extent::Shortened, events, cancel).await
    }

    async fn make_room_for(
        &self,
        extent: Extent,
        events: &Events,
        cancel: &CancellationToken,
    ) -> bool {
        let (shortened, notes) = self.shorten(extent, events, cancel).await;
        let is_shorter = shortened.is_ok();
        match shortened {
            Ok(summary) => events.send(rpc::CompactDone::new(summary)).await,
            Err(_) if cancel.is_cancelled() => {}
            Err(why) => {
                let message = format!("cannot compact the conversation: {why}");
                self.config.hooks.notice(NoteLevel::Warn, &message);
            }
        }
        events.release(notes).await;
        is_shorter
    }

    async fn shorten(
        &self,
        extent: Extent,
        events: &Events,
        cancel: &CancellationToken,
    ) -> (Result<String, String>, HeldNotes) {
        let (summary, notes) = self.summarise(extent, events, cancel).await;
        if let Ok(summary) = &summary {
            let text = format!("{INTRODUCTION}\n\n{summary}");
            let message = Message::of_text(Role::User, text, clock::now());
            let written = self.state.lock().await.compact(message);
            self.report_write_error(written);
            self.host.send_event(&CompactEvent::new(summary).into());
        }
        (summary, notes)
    }

    async fn summarise(
        &self,
        extent: Extent,
        events: &Events,
        cancel: &CancellationToken,
    ) -> (Result<String, String>, HeldNotes) {
        // Declared outside the future, so that the tokens of an aborted answer are counted too.
        let mut tokens = Tokens::default();
        let summarising = async {
            let asked = self.ask_for_summary(extent, &mut tokens, events, cancel);
            match asked.await {
                Ok(summary) => self.reviewed(summary).await,
                Err(NoSummary::Refused(reason, notes)) => (Err(reason), notes),
                Err(NoSummary::Failed(error)) => {
                    let (Ok(text) | Err(text), notes) = self.reviewed(error).await;
                    (Err(text), notes)
                }
            }
        };
        let summary = tokio::select! {
            biased;
            () = cancel.cancelled() => (Err("compaction aborted".to_owned()), HeldNotes::default()),
            summary = summarising => summary,
        };
        if tokens != Tokens::default() {
            self.count(tokens).await;
        }
        summary
    }

    async fn ask_for_summary(
        &self,
        mut extent: Extent,
        tokens: &mut Tokens,
        events: &Events,
        cancel: &CancellationToken,
    ) -> Result<String, NoSummary> {
        let refused = |reason| NoSummary::Refused(reason, HeldNotes::default());
        let (may, notes) = self.may_call_model(0, TurnPurpose::Compact).await;
        if let Err(reason) = may {
            return Err(NoSummary::Refused(reason, notes));
        }
        let mut failures = Failures::default();
        let mut may_call = true;
        loop {
            let counted = *tokens;
            let mut answer = Answer::default();
            let asked = self.stream_with_question(ASK, extent, may_call).await;
            let mut deltas = asked.map_err(refused)?;
            let mut error = None;
            while answer.stop.is_none() && error.is_none() {
                match deltas.next().await {
                    Some(Ok(delta)) => drop(answer.take_in(delta)),
                    Some(Err(failed)) => error = Some(failed),
                    None => error = Some(self.cut_off().await),
                }
                *tokens = counted + answer.tokens;
            }
            let summary = answer.text().trim().to_owned();
            match error {
                // The tools are offered only because the request must begin like every other
                // request. If the model calls one, forbid calls and ask again. Any text before the
                // call only announces it.
                None if answer.tool_calls().next().is_some() && may_call => may_call = false,
                None => {
                    let why = if answer.tool_calls().next().is_some() {
                        "the model called a tool instead of writing a summary"
                    } else if answer.stop == Some(StopReason::Length) {
                        "the summary was cut off at the model's output limit"
                    } else if summary.is_empty() {
                        "the model returned no summary"
                    } else {
                        return Ok(summary);
                    };
                    return Err(refused(format!("{why}; the conversation is unchanged")));
                }
                Some(ProviderError::TooLong { .. }) if extent == Extent::Whole => {
                    extent = Extent::Shortened;
                }
                Some(error @ ProviderError::Image { .. })
                    if !std::mem::replace(&mut failures.has_removed_images, true)
                        && self.remove_images(&error).await => {}
                Some(error) => {
                    let again = self.wait_to_retry(&error, &mut failures, events, cancel);
                    if !again.await {
                        return Err(NoSummary::Failed(error.to_string()));
                    }
                }
            }
        }
    }
}

/// Shortens a transcript to this number of bytes: replaces long tool results and images, then
/// removes the oldest messages. Reasoning is removed too, since it is valid only if the messages
/// before it are unchanged.
pub(super) fn shortened(messages: &[Arc<Message>], most_bytes: usize) -> Vec<Arc<Message>> {
    /// The maximum size of a tool result that is kept, in bytes.
    const KEPT: usize = 500;
    let mut messages: Vec<Message> = messages.iter().map(|it| Message::clone(it)).collect();
    let mut bytes: usize = messages.iter().map(Message::bytes).sum();
    for message in &mut messages {
        let before = message.bytes();
        message.drop_thinking();
        if bytes > most_bytes {
            message.remove_images();
            message.shorten_results(KEPT);
        }
        bytes -= before - message.bytes().min(before);
    }
    let mut first = 0;
    while bytes > most_bytes && first + 1 < messages.len() {
        bytes -= messages[first].bytes();
        first += 1;
    }
    messages.drain(..first);
    transcript::repair(&mut messages);
    messages.into_iter().map(Arc::new).collect()
}
