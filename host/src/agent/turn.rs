//! Runs one prompt, from the user's message to `done`: calls the model, runs its tools, and repeats
//! until the model stops or fails, the prompt is aborted, or the step limit is reached.
//!
//! **Whatever happens, the transcript stays valid**: every tool call in it is followed by its
//! result.

use std::sync::Arc;

use futures_util::StreamExt;
use tokio_util::sync::CancellationToken;
use zot_protocol::{
    AssistantMessageEvent, AssistantMessageIntercept, Intercept, InterceptName, StopReason,
    TurnEnd, TurnPurpose, TurnStart, TurnStartIntercept, UserMessageEvent, UserMessageIntercept,
    rpc,
};

use super::{Agent, answer::Answer, events::Events};
use crate::{
    clock,
    extension::notes::HeldNotes,
    message::{Block, Message, Role, shown},
    provider::{ProviderError, Tokens},
};

/// A prompt from the user.
#[derive(Debug, Clone, Default)]
pub struct Prompt {
    /// The text.
    pub text: String,
    /// The images, each as a media type and base64 data.
    pub images: Vec<(String, String)>,
}

impl Prompt {
    /// Creates a prompt without images.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            images: Vec::new(),
        }
    }
}

/// A model's answer, complete or not.
struct Reply {
    answer: Answer,
    /// Whether the answer's text was held back from the user while it streamed.
    held: bool,
    ended: Ended,
}

/// How a model call ended.
enum Ended {
    Complete,
    Failed(ProviderError),
    Aborted,
}

impl Agent {
    /// Runs a prompt to its end. The last event is `done`, exactly once.
    pub(crate) async fn prompt(&self, prompt: Prompt, events: &Events, cancel: &CancellationToken) {
        self.make_room(events, cancel).await;
        if self.submit(prompt, events, cancel).await {
            self.steps(events, cancel).await;
        }
        events.send(rpc::Done::default()).await;
        self.sync().await;
    }

    /// Adds the user's message to the transcript, unless an interceptor blocks it.
    async fn submit(&self, prompt: Prompt, events: &Events, cancel: &CancellationToken) -> bool {
        let Prompt { text, images } = prompt;
        let asked = UserMessageIntercept::new(text).into();
        let (asked, notes) = tokio::select! {
            biased;
            () = cancel.cancelled() => return false,
            answered = self.host.intercept_holding_notes(asked) => answered,
        };
        let text = match asked.result {
            Ok(Intercept::UserMessage(message)) => message.text,
            Ok(_) => unreachable!("a chain does not change the type of its event"),
            Err(block) => {
                events.send(rpc::Error::new(block.reason)).await;
                events.release(notes).await;
                return false;
            }
        };
        let mut event = UserMessageEvent::new(&text);
        event.image_count = u32::try_from(images.len()).ok().filter(|count| *count > 0);
        let image = |(mime_type, data)| Block::Image { mime_type, data };
        let mut content: Vec<Block> = images.into_iter().map(image).collect();
        if !text.is_empty() || content.is_empty() {
            content.push(Block::Text { text });
        }
        let content_shown = shown(&content);
        let time = self.append(Role::User, content).await;
        self.host.send_event(&event.into());
        events
            .send(rpc::UserMessage::new(content_shown, time))
            .await;
        events.release(notes).await;
        true
    }

    async fn steps(&self, events: &Events, cancel: &CancellationToken) {
        for step in 1.. {
            if self.config.max_steps.is_some_and(|most| step > most) {
                let message = format!("reached the limit of {} model calls", step - 1);
                return events.send(rpc::Error::new(message)).await;
            }
            if !self.step(step, events, cancel).await {
                return;
            }
            self.make_room(events, cancel).await;
        }
    }

    /// Calls the model once and runs its tools. Returns false when the prompt is finished.
    async fn step(&self, step: u32, events: &Events, cancel: &CancellationToken) -> bool {
        self.host.send_event(&TurnStart::new(step).into());
        events.send(rpc::TurnStart::new(step)).await;
        let ready = tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            ready = self.may_begin(step, events) => Some(ready),
        };
        match ready {
            Some(Ok(())) => {}
            Some(Err(reason)) => {
                self.fail(reason, events).await;
                return false;
            }
            None => {
                self.end_turn(StopReason::Aborted, None, events).await;
                return false;
            }
        }
        let Reply {
            answer,
            held,
            ended,
        } = self.ask(events, cancel).await;
        match ended {
            Ended::Complete => return self.answered(answer, held, events, cancel).await,
            Ended::Failed(error) => self.failed(answer, held, error, events, cancel).await,
            Ended::Aborted => self.aborted(answer.into_partial(), held, events).await,
        }
        false
    }

    /// Asks the `turn_start` interceptors, and those of the system prompt if it has to be rebuilt.
    async fn may_begin(&self, step: u32, events: &Events) -> Result<(), String> {
        let (may, notes) = self.may_call_model(step, TurnPurpose::Prompt).await;
        events.release(notes).await;
        may?;
        self.prepare_system_prompt().await
    }

    /// Asks the `turn_start` interceptors, which can block any model call. `Err` is the reason.
    pub(super) async fn may_call_model(
        &self,
        step: u32,
        purpose: TurnPurpose,
    ) -> (Result<(), String>, HeldNotes) {
        let mut turn = TurnStartIntercept::new(step);
        turn.purpose = Some(purpose);
        let (asked, notes) = self.host.intercept_holding_notes(turn.into()).await;
        let may = asked.result.map(drop).map_err(|block| block.reason);
        (may, notes)
    }

    /// Calls the model and streams its answer, except for the parts that an interceptor may still
    /// change.
    async fn ask(&self, events: &Events, cancel: &CancellationToken) -> Reply {
        let held = self.host.intercepts(&InterceptName::AssistantMessage);
        let args_held = self.host.intercepts(&InterceptName::ToolCall);
        let mut answer = Answer::default();
        let mut deltas = self.stream().await;
        let mut has_begun = false;
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
            if !std::mem::replace(&mut has_begun, true) {
                events.send(rpc::AssistantStart::default()).await;
            }
            match answer.take_in(delta) {
                Some(rpc::Event::TextDelta(_)) if held => {}
                Some(rpc::Event::ToolUseArgs(_)) if args_held => {}
                Some(event) => events.send(event).await,
                None => {}
            }
            if answer.stop.is_some() {
                break Ended::Complete;
            }
        };
        Reply {
            answer,
            held,
            ended,
        }
    }

    /// Handles a complete answer: shows and stores it, and runs its tools. Returns false when the
    /// prompt is finished.
    async fn answered(
        &self,
        answer: Answer,
        held: bool,
        events: &Events,
        cancel: &CancellationToken,
    ) -> bool {
        let usage = self.count(answer.tokens).await;
        events.send(usage).await;
        let stop = answer.stop.clone().unwrap_or(StopReason::EndTurn);
        let malformed = answer.malformed.clone();
        let has_calls = answer.calls();
        let calls: Vec<rpc::ToolCall> = answer.tool_calls().collect();
        let visible = self.visible(&answer, held).await;
        self.publish(answer, visible, held, events).await;
        if !has_calls {
            self.end_turn(stop, None, events).await;
            return false;
        }
        self.run_calls(&calls, &malformed, events, cancel).await;
        if cancel.is_cancelled() {
            // The model's turn has already ended; this one tells the driver why nothing follows.
            events.send(rpc::TurnEnd::new(StopReason::Aborted)).await;
            return false;
        }
        true
    }

    /// Stores an answer unchanged and shows it as the interceptors left it.
    async fn publish(
        &self,
        answer: Answer,
        visible: Option<(String, HeldNotes)>,
        held: bool,
        events: &Events,
    ) {
        // Answers can be large, so avoid copies.
        let (content, notes) = match visible {
            None => {
                self.tell_observers(answer.text());
                (shown(answer.blocks()), HeldNotes::default())
            }
            Some((visible, notes)) => {
                // Text that was held back is sent in one piece, as the interceptors left it.
                if held && !visible.is_empty() {
                    events.send(rpc::TextDelta::new(&visible)).await;
                }
                let content = if answer.text() == visible {
                    shown(answer.blocks())
                } else {
                    shown(&replaced(answer.blocks(), &visible))
                };
                self.tell_observers(visible);
                (content, notes)
            }
        };
        let content = if self.host.intercepts(&InterceptName::ToolCall) {
            without_args(content)
        } else {
            content
        };
        let time = self.append(Role::Assistant, answer.into_blocks()).await;
        let event = rpc::AssistantMessage::new(content, time);
        events.send(event).await;
        events.release(notes).await;
    }

    /// Returns the text to show instead of the answer's text, or `None` if no extension intercepts
    /// it.
    async fn visible(&self, answer: &Answer, held: bool) -> Option<(String, HeldNotes)> {
        if !held && !self.host.intercepts(&InterceptName::AssistantMessage) {
            return None;
        }
        let text = answer.text();
        if text.is_empty() {
            return None;
        }
        let (Ok(visible) | Err(visible), notes) = self.reviewed(text).await;
        Some((visible, notes))
    }

    /// Passes text from the model or its provider through the `assistant_message` interceptors.
    /// Returns the resulting text, or the reason given by the interceptor that blocked it. No part
    /// of the text may be shown before that.
    pub(super) async fn reviewed(&self, text: String) -> (Result<String, String>, HeldNotes) {
        let asked = AssistantMessageIntercept::new(text).into();
        let (outcome, notes) = self.host.intercept_holding_notes(asked).await;
        let text = match outcome.result {
            Ok(Intercept::AssistantMessage(message)) => Ok(message.text),
            Ok(_) => unreachable!("a chain does not change the type of its event"),
            Err(block) => Err(block.reason),
        };
        (text, notes)
    }

    /// Sends `assistant_message` with the visible text to the extensions.
    fn tell_observers(&self, visible: String) {
        if !visible.is_empty() {
            self.host
                .send_event(&AssistantMessageEvent::new(visible).into());
        }
    }

    /// Ends a call that failed. The part of the answer that was shown stays in the transcript.
    async fn failed(
        &self,
        answer: Answer,
        held: bool,
        error: ProviderError,
        events: &Events,
        cancel: &CancellationToken,
    ) {
        let partial = answer.into_partial();
        let reviewing = async {
            let visible = self.visible(&partial, held).await;
            (visible, self.reviewed(error.to_string()).await)
        };
        let reviewed = tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            reviewed = reviewing => Some(reviewed),
        };
        let Some((visible, (Ok(why) | Err(why), notes))) = reviewed else {
            return self.aborted(partial, held, events).await;
        };
        self.report_partial_usage(partial.tokens, events).await;
        if !partial.is_blank() {
            self.publish(partial, visible, held, events).await;
        }
        self.fail(why, events).await;
        events.release(notes).await;
    }

    /// Ends a call that was aborted. The part of the answer that was shown stays in the transcript.
    async fn aborted(&self, partial: Answer, held: bool, events: &Events) {
        self.report_partial_usage(partial.tokens, events).await;
        if !partial.is_blank() {
            // Text that was held back has not been intercepted, so do not show it.
            let content = (!held).then(|| shown(partial.blocks()));
            let text = partial.text();
            let time = self.append(Role::Assistant, partial.into_blocks()).await;
            if let Some(content) = content {
                self.tell_observers(text);
                events.send(rpc::AssistantMessage::new(content, time)).await;
            }
        }
        self.end_turn(StopReason::Aborted, None, events).await;
    }

    /// Counts the tokens that the provider has reported for an incomplete answer.
    async fn report_partial_usage(&self, tokens: Tokens, events: &Events) {
        if tokens != Tokens::default() {
            let usage = self.count(tokens).await;
            events.send(usage).await;
        }
    }

    /// Ends a model call, and with it the prompt, with an error.
    async fn fail(&self, why: String, events: &Events) {
        let error = rpc::Error::new(&why);
        self.end_turn(StopReason::Error, Some(why), events).await;
        events.send(error).await;
    }

    /// Reports the end of a model call to extensions and drivers.
    pub(super) async fn end_turn(&self, stop: StopReason, error: Option<String>, events: &Events) {
        let mut event = TurnEnd::new(stop.clone());
        event.error.clone_from(&error);
        self.host.send_event(&event.into());
        let mut event = rpc::TurnEnd::new(stop);
        event.error = error;
        events.send(event).await;
    }

    /// Adds a message to the transcript and the session, and returns its timestamp.
    pub(super) async fn append(&self, role: Role, content: Vec<Block>) -> String {
        let time = clock::now();
        let message = Message {
            role,
            content,
            time: time.clone(),
        };
        let mut state = self.state.lock().await;
        let written = state.session.append(&message);
        Arc::make_mut(&mut state.transcript).push(message);
        drop(state);
        self.report_write_error(written);
        time
    }
}

/// Removes the arguments of tool calls, which are shown once the interceptors have answered.
fn without_args(mut content: Vec<rpc::Block>) -> Vec<rpc::Block> {
    for block in &mut content {
        if let rpc::Block::ToolCall(call) = block {
            call.args.clear();
        }
    }
    content
}

/// Replaces the model's text with the text that the user sees.
fn replaced(blocks: &[Block], visible: &str) -> Vec<Block> {
    let mut visible = Some(visible).filter(|visible| !visible.is_empty());
    let mut content = Vec::new();
    for block in blocks {
        match block {
            // Put all of the text where the first text block was.
            Block::Text { .. } => content.extend(visible.take().map(|text| Block::Text {
                text: text.to_owned(),
            })),
            other => content.push(other.clone()),
        }
    }
    content
}
