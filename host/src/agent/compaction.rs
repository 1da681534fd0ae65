//! A long transcript into one message with its summary. The session's file keeps what was there before.

use futures_util::StreamExt;
use tokio_util::sync::CancellationToken;
use zot_protocol::{CompactEvent, NoteLevel, TurnPurpose, rpc};

use super::{Agent, answer::Answer, events::Events};
use crate::{
    clock,
    message::{Block, Message, Role},
};

/// What the model is asked for.
const ASK: &str = "\
Summarise our conversation so far for yourself: you will go on with nothing but this summary. Keep what the user asked for and \
decided, the files that matter and what was changed in them, what was tried and what came of it, what is open, and the next step. \
Leave out what is settled and what can be read again. Call no tools.";

/// How the summary is introduced.
const INTRODUCTION: &str = "What happened in this conversation before, in summary:";

/// Why there is no summary.
enum NoSummary {
    /// For a reason of ours, or of an interceptor.
    Refused(String),
    /// The provider failed, in its own words.
    Failed(String),
}

impl Agent {
    /// Compacts the transcript. The last event is `compact_done`, or `done` where it failed.
    pub(crate) async fn compact(&self, events: &Events, cancel: &CancellationToken) {
        match self.shorten(cancel).await {
            Ok(summary) => {
                events.tell(rpc::Done::default()).await;
                events.tell(rpc::CompactDone::new(summary)).await;
            }
            Err(why) => {
                events.tell(rpc::Error::new(why)).await;
                events.tell(rpc::Done::default()).await;
            }
        }
        self.sync().await;
    }

    /// Compacts the transcript where the model can take in hardly more. Where that fails it is left as it is: the provider
    /// will say what it makes of it.
    pub(super) async fn make_room(&self, events: &Events, cancel: &CancellationToken) {
        if !self.state.lock().await.is_full() {
            return;
        }
        match self.shorten(cancel).await {
            Ok(summary) => events.tell(rpc::CompactDone::new(summary)).await,
            Err(_) if cancel.is_cancelled() => {}
            Err(why) => {
                let message = format!("the conversation could not be compacted: {why}");
                self.hooks.notice(NoteLevel::Warn, &message);
            }
        }
    }

    async fn shorten(&self, cancel: &CancellationToken) -> Result<String, String> {
        let summary = self.summarise(cancel).await?;
        let message = Message {
            role: Role::User,
            content: vec![Block::Text {
                text: format!("{INTRODUCTION}\n\n{summary}"),
            }],
            time: clock::now(),
        };
        self.replace_transcript(message).await;
        self.host.tell(&CompactEvent::new(&summary).into());
        Ok(summary)
    }

    async fn summarise(&self, cancel: &CancellationToken) -> Result<String, String> {
        let summarising = async {
            match self.ask_for_summary().await {
                Ok(summary) => self.reviewed(summary).await,
                Err(NoSummary::Refused(reason)) => Err(reason),
                Err(NoSummary::Failed(error)) => {
                    let (Ok(text) | Err(text)) = self.reviewed(error).await;
                    Err(text)
                }
            }
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err("the compaction was aborted".to_owned()),
            summary = summarising => summary,
        }
    }

    async fn ask_for_summary(&self) -> Result<String, NoSummary> {
        let may = self.may_call_model(0, TurnPurpose::Compact).await;
        may.map_err(NoSummary::Refused)?;
        let mut answer = Answer::default();
        let asked = self.stream_asking(ASK).await;
        let mut deltas = asked.map_err(NoSummary::Refused)?;
        while answer.stop.is_none() {
            match deltas.next().await {
                Some(Ok(delta)) => drop(answer.take_in(delta)),
                Some(Err(error)) => return Err(NoSummary::Failed(error.to_string())),
                None => return Err(NoSummary::Failed(self.cut_off().await.to_string())),
            }
        }
        self.count(answer.tokens).await;
        let summary = answer.text().trim().to_owned();
        if summary.is_empty() {
            let why = "the model gave no summary; the conversation is unchanged";
            return Err(NoSummary::Refused(why.to_owned()));
        }
        Ok(summary)
    }
}
