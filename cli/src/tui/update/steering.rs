//! Messages that the user sends while the agent works. They reach the model before its next step.

use zot_host::Prompt;

use crate::{
    clean,
    tui::{
        message::Effect,
        state::{Level, State, Steered, UserPrompt},
    },
};

/// Sends a prompt to the running turn, or queues it if no turn accepts it. Images have to be read
/// first, so a prompt with images waits for the end of the turn.
pub(super) fn send(state: &mut State, prompt: UserPrompt, effects: &mut Vec<Effect>) {
    let accepts = |turn: &crate::tui::state::Turn| turn.is_steerable && !turn.cancelled;
    if !prompt.images.is_empty() || !state.turn.as_ref().is_some_and(accepts) {
        return state.queue_prompt(prompt);
    }
    let (sent, shown) = state.outputs.take_into(&prompt.text);
    if let Some(turn) = &mut state.turn {
        let (sent, text) = (sent.clone(), prompt.text);
        turn.steered.push_back(Steered { sent, shown, text });
    }
    effects.push(Effect::Steer(Prompt::text(sent)));
}

/// Queues the last message for the end of the turn. The agent has rejected it, because the turn has
/// ended or too many messages are waiting.
pub(super) fn refused(state: &mut State) {
    let refused = state.turn.as_mut().and_then(|it| it.steered.pop_back());
    requeue(state, refused);
}

/// Returns what to show for a message that has reached the agent, which delivers messages in order.
/// If an extension has changed the text, all of it is shown.
pub(super) fn delivered(state: &mut State, text: String) -> String {
    let oldest = state.turn.as_mut().and_then(|it| it.steered.pop_front());
    match oldest {
        Some(steered) if steered.sent == text => steered.shown,
        _ => text,
    }
}

/// Reports that an extension has blocked the oldest message.
pub(super) fn blocked(state: &mut State, reason: &str) {
    if let Some(turn) = &mut state.turn {
        turn.steered.pop_front();
    }
    let reason = clean::text(reason);
    let text = format!("your message was not delivered: {reason}");
    state.notify(Level::Warning, text);
}

/// Queues messages that did not reach the agent before the turn ended.
pub(super) fn requeue(state: &mut State, messages: impl IntoIterator<Item = Steered>) {
    for text in take_back(state, messages.into_iter().collect()) {
        state.queue_prompt(UserPrompt {
            text,
            images: Vec::new(),
            is_users: true,
        });
    }
}

/// Returns the text of messages that did not reach the agent. Keeps the outputs that they contain
/// for the next message.
pub(super) fn take_back(state: &mut State, messages: Vec<Steered>) -> Vec<String> {
    for message in messages.iter().rev() {
        state.outputs.restore(&message.sent, &message.text);
    }
    messages.into_iter().map(|it| it.text).collect()
}
