//! One prompt, from the user's message to `done`: the model is called, its tools run, and the model called again, until
//! it stops, fails, is aborted, or has been called often enough.
//!
//! **Whatever happens, the transcript stays valid**: every tool call in it is followed by its result.

use futures_util::StreamExt;
use tokio_util::sync::CancellationToken;
use zot_protocol::{
    AssistantMessageEvent, AssistantMessageIntercept, Intercept, InterceptName, StopReason,
    TurnEnd, TurnPurpose, TurnStart, TurnStartIntercept, UserMessageEvent, UserMessageIntercept,
    rpc,
};

use super::{Agent, answer::Answer, events::Events, tool_calls::Call};
use crate::{
    clock,
    message::{Block, Message, Role, shown},
    provider::ProviderError,
};

/// What the user says.
#[derive(Debug, Clone, Default)]
pub struct Prompt {
    /// The text.
    pub text: String,
    /// Images: media type and base64.
    pub images: Vec<(String, String)>,
}

impl Prompt {
    /// A text without images.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            images: Vec::new(),
        }
    }
}

/// How a call of the model ended.
enum Ended {
    Answered {
        answer: Answer,
        /// Whether its text was kept from the user while it came.
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
        events.tell(rpc::Done::default()).await;
        self.sync().await;
    }

    /// Puts the user's message into the transcript, unless somebody refuses it.
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
            Ok(_) => unreachable!("a chain keeps the kind of its event"),
            Err(block) => {
                events.tell(rpc::Error::new(block.reason)).await;
                return false;
            }
        };
        let mut told = UserMessageEvent::new(&text);
        told.image_count = u32::try_from(images.len()).ok().filter(|count| *count > 0);
        let image = |(mime_type, data)| Block::Image { mime_type, data };
        let mut content: Vec<Block> = images.into_iter().map(image).collect();
        if !text.is_empty() || content.is_empty() {
            content.push(Block::Text { text });
        }
        let content_shown = shown(&content);
        let time = self.append(Role::User, content).await;
        self.host.tell(&told.into());
        events
            .tell(rpc::UserMessage::new(content_shown, time))
            .await;
        true
    }

    async fn steps(&self, events: &Events, cancel: &CancellationToken) {
        for step in 1.. {
            if self.settings.max_steps.is_some_and(|most| step > most) {
                let message = format!("the limit of {} model calls is reached", step - 1);
                return events.tell(rpc::Error::new(message)).await;
            }
            if !self.step(step, events, cancel).await {
                return;
            }
            self.make_room(events, cancel).await;
        }
    }

    /// One call of the model and the tools that it wants. False when the prompt is at its end.
    async fn step(&self, step: u32, events: &Events, cancel: &CancellationToken) -> bool {
        self.host.tell(&TurnStart::new(step).into());
        events.tell(rpc::TurnStart::new(step)).await;
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

    /// The interceptors of a turn, and, where it is the first since something changed, of the system prompt.
    async fn may_begin(&self, step: u32) -> Result<(), String> {
        self.may_call_model(step, TurnPurpose::Prompt).await?;
        self.prepare_system_prompt().await
    }

    /// Asks the interceptors of `turn_start`, who have a say in every call of the model. `Err` has the reason of a refusal.
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

    /// Calls the model, and tells its answer as it comes, but nothing that an interceptor may change before it was asked.
    async fn ask(&self, events: &Events, cancel: &CancellationToken) -> Ended {
        let held = self.host.intercepts(&InterceptName::AssistantMessage);
        let args_held = self.host.intercepts(&InterceptName::ToolCall);
        let mut answer = Answer::default();
        let mut deltas = self.stream().await;
        events.tell(rpc::AssistantStart::default()).await;
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
                    Some(event) => events.tell(event).await,
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

    /// A whole answer: into the transcript as it is, to the user as the interceptors leave it. Then its tools run.
    async fn answered(
        &self,
        answer: Answer,
        held: bool,
        events: &Events,
        cancel: &CancellationToken,
    ) -> bool {
        let usage = self.count(answer.tokens).await;
        events.tell(usage).await;
        let stop = answer.stop.clone().unwrap_or(StopReason::EndTurn);
        let malformed = answer.malformed.clone();
        // An answer may be large: nothing of it is copied that need not be.
        let content = match self.visible(&answer, held).await {
            None => {
                self.tell_observers(answer.text());
                shown(answer.blocks())
            }
            Some(visible) => {
                // What was held back comes in one piece, as it is by now.
                if held && !visible.is_empty() {
                    events.tell(rpc::TextDelta::new(&visible)).await;
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
        let calls: Vec<Call> = answer.blocks().iter().filter_map(Call::of).collect();
        let time = self.append(Role::Assistant, answer.into_blocks()).await;
        let event = rpc::AssistantMessage::new(content, time);
        events.tell(event).await;
        if !has_calls {
            self.end_turn(stop, None, events).await;
            return false;
        }
        self.run_calls(&calls, &malformed, events, cancel).await;
        !cancel.is_cancelled()
    }

    /// What the user sees of an answer's text, where somebody has a say in that; `None`: the text itself.
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

    /// A text that comes from the model or its provider, as the interceptors of `assistant_message` leave it, or the reason
    /// of the one that refuses it. Nothing of it is shown or kept before.
    pub(super) async fn reviewed(&self, text: String) -> Result<String, String> {
        let asked = AssistantMessageIntercept::new(text);
        match self.host.intercept(asked.into()).await.result {
            Ok(Intercept::AssistantMessage(message)) => Ok(message.text),
            Ok(_) => unreachable!("a chain keeps the kind of its event"),
            Err(block) => Err(block.reason),
        }
    }

    /// Tells extensions what the user sees of an answer.
    fn tell_observers(&self, visible: String) {
        if !visible.is_empty() {
            self.host.tell(&AssistantMessageEvent::new(visible).into());
        }
    }

    /// Keeps the text so far; a message that calls tools is dropped, since they did not run.
    async fn aborted(&self, answer: Answer, held: bool, events: &Events) {
        if !answer.calls() && !answer.text().is_empty() {
            // What was held back has not been looked at, so it is not shown.
            let content = (!held).then(|| shown(answer.blocks()));
            let time = self.append(Role::Assistant, answer.into_blocks()).await;
            if let Some(content) = content {
                events.tell(rpc::AssistantMessage::new(content, time)).await;
            }
        }
        self.end_turn(StopReason::Aborted, None, events).await;
    }

    /// The end of a call of the model, as extensions and drivers are told.
    pub(super) async fn end_turn(&self, stop: StopReason, error: Option<String>, events: &Events) {
        let mut told = TurnEnd::new(stop.clone());
        told.error.clone_from(&error);
        self.host.tell(&told.into());
        let mut event = rpc::TurnEnd::new(stop);
        event.error = error;
        events.tell(event).await;
    }

    /// Puts a message into the transcript and the session, and gives its time.
    pub(super) async fn append(&self, role: Role, content: Vec<Block>) -> String {
        let time = clock::now();
        let message = Message {
            role,
            content,
            time: time.clone(),
        };
        self.record(message).await;
        time
    }
}

/// Blocks without the arguments of calls, which are shown once the interceptors have been asked about them.
fn without_args(mut content: Vec<rpc::Block>) -> Vec<rpc::Block> {
    for block in &mut content {
        if let rpc::Block::ToolCall(call) = block {
            call.args.clear();
        }
    }
    content
}

/// Blocks with the text that the user sees in place of the model's own.
fn replaced(blocks: &[Block], visible: &str) -> Vec<Block> {
    let mut visible = Some(visible).filter(|visible| !visible.is_empty());
    let mut content = Vec::new();
    for block in blocks {
        match block {
            // All of it stands where the first text stood.
            Block::Text { .. } => content.extend(visible.take().map(|text| Block::Text {
                text: text.to_owned(),
            })),
            other => content.push(other.clone()),
        }
    }
    content
}
