//! Compaction: replaces a long transcript with a summary. The session file keeps the old messages.

use futures_util::StreamExt;
use tokio_util::sync::CancellationToken;
use zot_protocol::{CompactEvent, NoteLevel, TurnPurpose, rpc};

use super::{Agent, answer::Answer, events::Events};
use crate::{
    clock,
    extension::notes::HeldNotes,
    message::{Message, Role},
    provider::Tokens,
};

/// The prompt that asks the model for a summary.
const ASK: &str = "\
Summarise our conversation so far for yourself: this summary is all you will have to continue with. Keep what the user asked for and \
decided, the files that matter and what was changed in them, what was tried and how it went, what is still open, and the next step. \
Leave out what is settled and what you can read again. Do not call tools.";

/// The line that introduces the summary in the transcript.
const INTRODUCTION: &str = "Summary of the conversation so far:";

/// Why no summary was created.
enum NoSummary {
    /// zot or an interceptor refused the request, with this reason. Contains the notes for the
    /// user about it.
    Refused(String, HeldNotes),
    /// The provider failed with this message.
    Failed(String),
}

impl Agent {
    /// Compacts the transcript. The last event is `done`, exactly once.
    pub(crate) async fn compact(&self, events: &Events, cancel: &CancellationToken) {
        let (shortened, notes) = self.shorten(cancel).await;
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
        if !self.state.lock().await.is_full() {
            return;
        }
        let (shortened, notes) = self.shorten(cancel).await;
        match shortened {
            Ok(summary) => events.send(rpc::CompactDone::new(summary)).await,
            Err(_) if cancel.is_cancelled() => {}
            Err(why) => {
                let message = format!("cannot compact the conversation: {why}");
                self.config.hooks.notice(NoteLevel::Warn, &message);
            }
        }
        events.release(notes).await;
    }

    async fn shorten(&self, cancel: &CancellationToken) -> (Result<String, String>, HeldNotes) {
        let (summary, notes) = self.summarise(cancel).await;
        if let Ok(summary) = &summary {
            let text = format!("{INTRODUCTION}\n\n{summary}");
            let message = Message::of_text(Role::User, text, clock::now());
            let written = self.state.lock().await.compact(message);
            self.report_write_error(written);
            self.host.send_event(&CompactEvent::new(summary).into());
        }
        (summary, notes)
    }

    async fn summarise(&self, cancel: &CancellationToken) -> (Result<String, String>, HeldNotes) {
        // Outside the future, so that the tokens of an aborted answer count too.
        let mut tokens = Tokens::default();
        let summarising = async {
            match self.ask_for_summary(&mut tokens).await {
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

    async fn ask_for_summary(&self, tokens: &mut Tokens) -> Result<String, NoSummary> {
        let refused = |reason| NoSummary::Refused(reason, HeldNotes::default());
        let (may, notes) = self.may_call_model(0, TurnPurpose::Compact).await;
        if let Err(reason) = may {
            return Err(NoSummary::Refused(reason, notes));
        }
        let mut answer = Answer::default();
        let asked = self.stream_with_question(ASK).await;
        let mut deltas = asked.map_err(refused)?;
        while answer.stop.is_none() {
            match deltas.next().await {
                Some(Ok(delta)) => drop(answer.take_in(delta)),
                Some(Err(error)) => return Err(NoSummary::Failed(error.to_string())),
                None => return Err(NoSummary::Failed(self.cut_off().await.to_string())),
            }
            *tokens = answer.tokens;
        }
        let summary = answer.text().trim().to_owned();
        if summary.is_empty() {
            let why = "the model returned no summary; the conversation is unchanged";
            return Err(refused(why.to_owned()));
        }
        Ok(summary)
    }
}
