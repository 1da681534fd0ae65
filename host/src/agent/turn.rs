//! Runs one prompt, from the user's message to `done`: calls the model, runs its tools, and repeats
//! until the model stops or fails, the prompt is aborted, or the step limit is reached.
//!
//! **Whatever happens, the transcript stays valid**: every tool call in it is followed by its
//! result.

use std::{collections::VecDeque, sync::Arc};

use tokio_util::sync::CancellationToken;
use zot_protocol::{
    AssistantMessageEvent, AssistantMessageIntercept, Intercept, InterceptName, NoteLevel, Object,
    StopReason, TurnEnd, TurnPurpose, TurnStart, TurnStartIntercept, UserMessageEvent,
    UserMessageIntercept, rpc,
};

use super::{
    Agent,
    answer::Answer,
    events::Events,
    images,
    model_call::{Ended, Reply},
    steering::SteerError,
};
use crate::{
    clock,
    extension::notes::HeldNotes,
    message::{Block, Message, Role, shown},
    provider::ProviderError,
    session::Mark,
};

/// A prompt from the user.
#[derive(Debug, Clone, Default)]
pub struct Prompt {
    /// The text.
    pub text: String,
    /// The images, each as a media type and base64 data.
    pub images: Vec<(String, String)>,
    /// The JSON Schema of the final answer, for providers with structured output; `None` for text.
    /// zot does not check that the answer matches it.
    pub output_schema: Option<Arc<Object>>,
}

impl Prompt {
    /// Creates a prompt without images.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// Returns the size in bytes.
    pub(super) fn bytes(&self) -> usize {
        let images = self.images.iter().map(|(_, data)| data.len());
        self.text.len() + images.sum::<usize>()
    }
}

/// Why a message was not added to the transcript.
enum NotSubmitted {
    /// An interceptor blocked it.
    Blocked { reason: String, notes: HeldNotes },
    /// The prompt was aborted.
    Aborted,
}

/// What to do after a model call.
enum Next {
    /// Make another one, with the results of the tools.
    Call,
    /// End the prompt, unless the user has sent a message in the meantime.
    Finish,
    /// End the prompt, after a failure or an abort.
    End,
}

impl Agent {
    /// Runs a prompt to its end. The last event is `done`, exactly once.
    pub(crate) async fn prompt(&self, prompt: Prompt, events: &Events, cancel: &CancellationToken) {
        let output_schema = prompt.output_schema.clone();
        self.state.lock().await.output_schema = output_schema;
        self.make_room(events, cancel).await;
        self.remark_on_changes().await;
        match self.submit(prompt, events, cancel).await {
            Ok(()) => self.steps(events, cancel).await,
            Err(NotSubmitted::Blocked { reason, notes }) => {
                events.send(rpc::Error::new(reason)).await;
                events.release(notes).await;
            }
            Err(NotSubmitted::Aborted) => {}
        }
        self.steering.close();
        events.send(rpc::Done::default()).await;
        self.sync().await;
    }

    /// Accepts messages for the prompt that is about to run.
    pub(crate) fn accept_steering(&self) {
        self.steering.open();
    }

    /// Adds a message to the running prompt.
    pub(crate) fn steer(&self, prompt: Prompt) -> Result<(), SteerError> {
        self.steering.push(prompt)
    }

    /// Adds messages that the user has sent in the meantime to the transcript. Returns whether any
    /// was added.
    async fn deliver(
        &self,
        messages: VecDeque<Prompt>,
        events: &Events,
        cancel: &CancellationToken,
    ) -> bool {
        let mut delivered = false;
        for message in messages {
            match self.submit(message, events, cancel).await {
                Ok(()) => delivered = true,
                Err(NotSubmitted::Blocked { reason, notes }) => {
                    events.send(rpc::SteerBlocked::new(reason)).await;
                    events.release(notes).await;
                }
                Err(NotSubmitted::Aborted) => break,
            }
        }
        delivered
    }

    /// Adds the user's message to the transcript, unless an interceptor blocks it.
    async fn submit(
        &self,
        prompt: Prompt,
        events: &Events,
        cancel: &CancellationToken,
    ) -> Result<(), NotSubmitted> {
        let Prompt { text, images, .. } = prompt;
        let asked = UserMessageIntercept::new(text).into();
        let (asked, notes) = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(NotSubmitted::Aborted),
            answered = self.host.intercept_holding_notes(asked) => answered,
        };
        let text = match asked.result {
            Ok(Intercept::UserMessage(message)) => message.text,
            Ok(_) => unreachable!("a chain does not change the type of its event"),
            Err(block) => {
                let reason = block.reason;
                return Err(NotSubmitted::Blocked { reason, notes });
            }
        };
        let mut event = UserMessageEvent::new(&text);
        event.image_count = u32::try_from(images.len()).ok().filter(|count| *count > 0);
        let mut content = images::fit_prompt(images).await;
        for block in &content {
            if let Block::Remark { text } = block {
                self.config.hooks.notice(NoteLevel::Warn, text);
            }
        }
        if !text.is_empty() || content.is_empty() {
            content.push(Block::Text { text });
        }
        let content_shown = shown(&content);
        let (mut remarks, told) = self.state.lock().await.take_remarks();
        remarks.extend(self.toolbox.remarks());
        content.splice(0..0, remarks.into_iter().map(|text| Block::Remark { text }));
        let time = self.append(Role::User, content).await;
        if let Some(told) = told {
            let written = self.state.lock().await.set_told(told);
            self.report_write_error(written);
        }
        self.host.send_event(&event.into());
        events
            .send(rpc::UserMessage::new(content_shown, time))
            .await;
        events.release(notes).await;
        Ok(())
    }

    async fn steps(&self, events: &Events, cancel: &CancellationToken) {
        for step in 1.. {
            if self.config.max_steps.is_some_and(|most| step > most) {
                let s = if step == 2 { "" } else { "s" };
                let message = format!("reached the limit of {} model call{s}", step - 1);
                return events.send(rpc::Error::new(message)).await;
            }
            match self.step(step, events, cancel).await {
                Next::Call => {
                    self.make_room(events, cancel).await;
                    // Deliver the messages after making room, so that a summary does not replace
                    // them before the model has read them.
                    self.deliver(self.steering.take(), events, cancel).await;
                }
                Next::Finish => loop {
                    let messages = self.steering.take_or_close();
                    if messages.is_empty() {
                        return;
                    }
                    self.make_room(events, cancel).await;
                    if self.deliver(messages, events, cancel).await {
                        break;
                    }
                },
                Next::End => return,
            }
        }
    }

    /// Calls the model once and runs its tools.
    async fn step(&self, step: u32, events: &Events, cancel: &CancellationToken) -> Next {
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
                return Next::End;
            }
            None => {
                self.end_turn(StopReason::Aborted, None, events).await;
                return Next::End;
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
        Next::End
    }

    /// Asks the `turn_start` interceptors, and those of the system prompt if it has to be built.
    async fn may_begin(&self, step: u32, events: &Events) -> Result<(), String> {
        let (may, notes) = self.may_call_model(step, TurnPurpose::Prompt).await;
        events.release(notes).await;
        may?;
        self.prepare_prefix().await
    }

    /// Asks the `turn_start` interceptors, which can block any model call. The error is the reason.
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

    /// Handles a complete answer: shows and stores it, and runs its tools.
    async fn answered(
        &self,
        answer: Answer,
        held: bool,
        events: &Events,
        cancel: &CancellationToken,
    ) -> Next {
        let usage = self.count(answer.tokens).await;
        events.send(usage).await;
        let stop = answer.stop.clone().unwrap_or(StopReason::EndTurn);
        let calls: Vec<rpc::ToolCall> = answer.tool_calls().collect();
        let mut malformed = answer.malformed.clone();
        if stop == StopReason::Length {
            // A last call without arguments is probably incomplete.
            let last = calls.last().filter(|call| call.args.is_empty());
            let cut = last.filter(|call| malformed.iter().all(|(id, _)| *id != call.id));
            malformed.extend(cut.map(|call| (call.id.clone(), String::new())));
            let remark = self.report_cut(calls.is_empty()).await;
            for (_, why) in &mut malformed {
                why.clone_from(&remark);
            }
        }
        let visible = self.visible(&answer, held).await;
        self.publish(answer, visible, held, events).await;
        if calls.is_empty() {
            self.end_turn(stop, None, events).await;
            return Next::Finish;
        }
        self.run_calls(&calls, &malformed, events, cancel).await;
        if cancel.is_cancelled() {
            // The model's turn has already ended; this event tells the driver why nothing follows.
            self.mark_end(&StopReason::Aborted, None).await;
            events.send(rpc::TurnEnd::new(StopReason::Aborted)).await;
            return Next::End;
        }
        Next::Call
    }

    /// Tells the user that an answer was truncated at the output limit. Returns the result of a
    /// tool call that is incomplete because of this. If the answer has no calls, prepares a remark
    /// for the model.
    async fn report_cut(&self, is_text: bool) -> String {
        let cut = "cut off at the model's output limit";
        if is_text {
            let remark = format!("Your previous answer was {cut}.");
            self.state.lock().await.remarks.push(remark);
        }
        let message = format!("the answer was {cut}");
        self.config.hooks.notice(NoteLevel::Warn, &message);
        format!(
            "the answer was {cut} before this call was complete, so it did not run. Write less at a time, for example in several calls."
        )
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

    /// Returns the text to show instead of the answer's text, or `None` if there is no text or no
    /// extension intercepts it.
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
    /// of the text may be shown before this returns.
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

    /// Ends a model call that failed. The text of the incomplete answer is kept in the transcript.
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

    /// Ends a model call that was aborted. The text of the incomplete answer is kept in the
    /// transcript.
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
        self.mark_end(&stop, error.clone()).await;
        let mut event = rpc::TurnEnd::new(stop);
        event.error = error;
        events.send(event).await;
    }

    /// Records in the session how the model's turn ended, unless it ended normally.
    async fn mark_end(&self, stop: &StopReason, error: Option<String>) {
        if !matches!(stop, StopReason::EndTurn | StopReason::ToolUse) {
            let stop = stop.clone();
            self.mark(&Mark::TurnEnd { stop, error }).await;
        }
    }

    /// Records in the session something that the user sees in addition to the messages.
    pub(super) async fn mark(&self, mark: &Mark) {
        let written = self.state.lock().await.session.mark(mark);
        self.report_write_error(written);
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
        Arc::make_mut(&mut state.transcript).push(Arc::new(message));
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
