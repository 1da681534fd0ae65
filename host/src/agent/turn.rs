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
    message::{Block, Message, Role, shown},
    provider::ProviderError,
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

/// How a model call ended.
enum Ended {
    Answered {
        answer: Answer,
        /// Whether the answer's text was held back from the user while it streamed.
        held: bool,
    },
    Failed(ProviderError),
    Aborted {
        answer: Answer,
        held: bool,
    },
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
        let asked = self.host.intercept(UserMessageIntercept::new(text).into());
        let asked = tokio::select! {
            biased;
            () = cancel.cancelled() => return false,
            asked = asked => asked,
        };
        let text = match asked.result {
            Ok(Intercept::UserMessage(message)) => message.text,
            Ok(_) => unreachable!("a chain does not change the type of its event"),
            Err(block) => {
                events.send(rpc::Error::new(block.reason)).await;
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
            ready = self.may_begin(step) => Some(ready),
        };
        match ready {
            Some(Ok(())) => {}
            Some(Err(reason)) => {
                self.end_turn(StopReason::Error, Some(reason), events).await;
                return false;
            }
            None => {
                self.end_turn(StopReason::Aborted, None, events).await;
                return false;
            }
        }
        match self.ask(events, cancel).await {
            Ended::Answered { answer, held } => self.answered(answer, held, events, cancel).await,
            Ended::Failed(error) => {
                let reviewed = tokio::select! {
                    biased;
                    () = cancel.cancelled() => None,
                    reviewed = self.reviewed(error.to_string()) => Some(reviewed),
                };
                match reviewed {
                    Some(Ok(text) | Err(text)) => {
                        self.end_turn(StopReason::Error, Some(text), events).await;
                    }
                    None => self.end_turn(StopReason::Aborted, None, events).await,
                }
                false
            }
            Ended::Aborted { answer, held } => {
                self.aborted(answer, held, events).await;
                false
            }
        }
    }

    /// Asks the `turn_start` interceptors, and those of the system prompt if it has to be rebuilt.
    async fn may_begin(&self, step: u32) -> Result<(), String> {
        self.may_call_model(step, TurnPurpose::Prompt).await?;
        self.prepare_system_prompt().await
    }

    /// Asks the `turn_start` interceptors, which can block any model call. `Err` is the reason.
    pub(super) async fn may_call_model(
        &self,
        step: u32,
        purpose: TurnPurpose,
    ) -> Result<(), String> {
        let mut turn = TurnStartIntercept::new(step);
        turn.purpose = Some(purpose);
        let asked = self.host.intercept(turn.into()).await;
        asked.result.map(drop).map_err(|block| block.reason)
    }

    /// Calls the model and streams its answer, except for the parts that an interceptor may still
    /// change.
    async fn ask(&self, events: &Events, cancel: &CancellationToken) -> Ended {
        let held = self.host.intercepts(&InterceptName::AssistantMessage);
        let args_held = self.host.intercepts(&InterceptName::ToolCall);
        let mut answer = Answer::default();
        let mut deltas = self.stream().await;
        events.send(rpc::AssistantStart::default()).await;
        loop {
            let delta = tokio::select! {
                biased;
                () = cancel.cancelled() => return Ended::Aborted { answer, held },
                delta = deltas.next() => delta,
            };
            match delta {
                Some(Ok(delta)) => match answer.take_in(delta) {
                    Some(rpc::Event::TextDelta(_)) if held => {}
                    Some(rpc::Event::ToolUseArgs(_)) if args_held => {}
                    Some(event) => events.send(event).await,
                    None => {}
                },
                Some(Err(error)) => return Ended::Failed(error),
                None => break,
            }
            if answer.stop.is_some() {
                break;
            }
        }
        if answer.stop.is_none() {
            return Ended::Failed(self.cut_off().await);
        }
        Ended::Answered { answer, held }
    }

    /// Handles a complete answer: stores it unchanged, shows it as the interceptors leave it, and
    /// runs its tools.
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
        // Answers can be large, so avoid copies.
        let content = match self.visible(&answer, held).await {
            None => {
                self.tell_observers(answer.text());
                shown(answer.blocks())
            }
            Some(visible) => {
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
                content
            }
        };
        let content = if self.host.intercepts(&InterceptName::ToolCall) {
            without_args(content)
        } else {
            content
        };
        let has_calls = answer.calls();
        let calls: Vec<rpc::ToolCall> = answer.tool_calls().collect();
        let time = self.append(Role::Assistant, answer.into_blocks()).await;
        let event = rpc::AssistantMessage::new(content, time);
        events.send(event).await;
        if !has_calls {
            self.end_turn(stop, None, events).await;
            return false;
        }
        self.run_calls(&calls, &malformed, events, cancel).await;
        !cancel.is_cancelled()
    }

    /// Returns the text to show instead of the answer's text, or `None` if no extension intercepts
    /// it.
    async fn visible(&self, answer: &Answer, held: bool) -> Option<String> {
        if !held && !self.host.intercepts(&InterceptName::AssistantMessage) {
            return None;
        }
        let text = answer.text();
        if text.is_empty() {
            return None;
        }
        let (Ok(visible) | Err(visible)) = self.reviewed(text).await;
        Some(visible)
    }

    /// Passes text from the model or its provider through the `assistant_message` interceptors.
    /// Returns the resulting text, or the reason given by the interceptor that blocked it. No part
    /// of the text may be shown or stored before that.
    pub(super) async fn reviewed(&self, text: String) -> Result<String, String> {
        let asked = AssistantMessageIntercept::new(text);
        match self.host.intercept(asked.into()).await.result {
            Ok(Intercept::AssistantMessage(message)) => Ok(message.text),
            Ok(_) => unreachable!("a chain does not change the type of its event"),
            Err(block) => Err(block.reason),
        }
    }

    /// Sends `assistant_message` with the visible text to the extensions.
    fn tell_observers(&self, visible: String) {
        if !visible.is_empty() {
            self.host
                .send_event(&AssistantMessageEvent::new(visible).into());
        }
    }

    /// Stores the text so far, but drops a message with tool calls, since the tools did not run.
    async fn aborted(&self, answer: Answer, held: bool, events: &Events) {
        if !answer.calls() && !answer.text().is_empty() {
            // Text that was held back has not been intercepted, so do not show it.
            let content = (!held).then(|| shown(answer.blocks()));
            let time = self.append(Role::Assistant, answer.into_blocks()).await;
            if let Some(content) = content {
                events.send(rpc::AssistantMessage::new(content, time)).await;
            }
        }
        self.end_turn(StopReason::Aborted, None, events).await;
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
