//! Messages that the user sends while the agent works. They reach the model before its next step.

use zot_host::Prompt;

use crate::tui::{
    message::Effect,
    state::{State, Steered, UserPrompt},
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

/// Queues a message for the end of the turn. The agent has rejected it, because the turn has ended
/// or too many messages are waiting.
pub(super) fn refused(state: &mut State, sent: &str) {
    let Some(turn) = &mut state.turn else {
        return;
    };
    if let Some(at) = turn.steered.iter().rposition(|it| it.sent == sent) {
        let steered = turn.steered.remove(at);
        state.queue_prompt(UserPrompt::text(steered.unwrap_or_default().sent));
    }
}

/// Returns what to show for a message that has reached the agent.
pub(super) fn delivered(state: &mut State, text: &str) -> Option<String> {
    let steered = &mut state.turn.as_mut()?.steered;
    let at = steered.iter().position(|it| it.sent == text);
    match at {
        Some(at) => steered.remove(at).map(|it| it.shown),
        // An extension has changed the text, so all of it is shown.
        None => {
            steered.pop_front();
            None
        }
    }
}

/// Queues the messages that did not reach the agent before the turn ended.
pub(super) fn turn_ended(state: &mut State, left: impl IntoIterator<Item = Steered>) {
    for steered in left {
        state.queue_prompt(UserPrompt::text(steered.sent));
    }
}
