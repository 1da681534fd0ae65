//! Applies messages to the state, and returns the effects to perform.

mod agent;
mod command;
mod dialog;
mod history;
mod host;
mod keys;
mod question;
mod shell;
mod steering;

pub(crate) use agent::block_text;
pub(crate) use command::{shell_command, would_run};

use std::time::{Duration, Instant};

use ratatui::layout::Size;
use zot_host::{Prompt, provider::Model};
use zot_protocol::{PanelResize, limits};

use super::{
    message::{Conversation, Effect, EffectResult, Message},
    state::{
        Command, Dialog, Item, Level, Outputs, Panel, Queued, State, Submits, TrustDialog, Turn,
        UserPrompt,
    },
};
use crate::clean;

/// Minimum length of a turn that rings the bell when it ends.
const LONG_TURN: Duration = Duration::from_secs(10);
/// How often the `/ext` dialog refreshes its statistics.
const REFRESH: Duration = Duration::from_secs(1);

/// Applies a message to the state and returns the effects to perform.
pub(crate) fn update(state: &mut State, message: Message, now: Instant) -> Vec<Effect> {
    state.now = now;
    let mut effects = Vec::new();
    match message {
        Message::Key(key) => keys::key(state, key, &mut effects),
        Message::Paste(text) => keys::paste(state, &text, &mut effects),
        Message::Resized(size) => resized(state, size, &mut effects),
        Message::Tick => tick(state, &mut effects),
        Message::Event(event) => agent::event(state, event),
        Message::Focus(has_focus) => state.has_focus = Some(has_focus),
        Message::Ended => {
            effects.extend(ends_long_turn(state).then_some(Effect::Ring));
            agent::ended(state);
        }
        Message::Host(said) => host::message(state, said, &mut effects),
        Message::Untrusted(untrusted, then) => {
            if untrusted.is_empty() {
                effects.push(Effect::Trust(Vec::new(), then));
            } else {
                state.dialog = Some(Dialog::Trust(TrustDialog::new(untrusted, then)));
            }
        }
        Message::Started(conversation) => {
            state.ready = true;
            load_conversation(state, *conversation);
        }
        Message::RegistryChanged {
            commands,
            extensions,
        } => {
            state.commands = commands.iter().map(cleaned).collect();
            state.extensions = extensions;
            state.refresh_popup();
        }
        Message::CommandResponse { extension, answer } => {
            host::command_response(state, extension, answer, &mut effects);
        }
        Message::Notice(level, text) => state.notify(level, clean::line(&text)),
        Message::SteeringRefused => steering::refused(state),
        Message::ImagesRead(read) => images_read(state, read, &mut effects),
        Message::DraftEdited(edited) => keys::draft_edited(state, edited),
        Message::ShellProgress(line) => shell::progress(state, &line),
        Message::ShellEnded(outcome) => shell::ended(state, outcome),
        Message::EffectDone(result) => {
            state.activity = None;
            effect_done(state, result);
        }
        Message::Inspected(new) => {
            if let Some(Dialog::Extensions { views, .. }) = &mut state.dialog {
                *views = new;
            }
        }
        Message::Login(tried) => dialog::login_result(state, tried),
    }
    run_queue(state, &mut effects);
    effects
}

/// Reports whether to notify the user that the turn has ended: it was long, nothing else is queued,
/// the user has not cancelled it, and the terminal is not known to have focus.
fn ends_long_turn(state: &State) -> bool {
    let is_long = state
        .turn
        .as_ref()
        .is_some_and(|turn| !turn.cancelled && state.now.duration_since(turn.since) >= LONG_TURN);
    is_long && state.rings && state.queue.is_empty() && state.has_focus != Some(true)
}

/// Starts queued work while the agent is idle.
fn run_queue(state: &mut State, effects: &mut Vec<Effect>) {
    while !state.is_busy() && !state.has_blocking_dialog() {
        // Shell commands run one at a time.
        if state.shell.is_some() && matches!(state.queue.front(), Some(Queued::Shell(_))) {
            return;
        }
        match state.queue.pop_front() {
            Some(Queued::Prompt(UserPrompt {
                text,
                images,
                is_users,
            })) => {
                state.submits = Submits::default();
                let mut turn = Turn::new("starting", Some(text.clone()), state.now);
                turn.is_users = is_users;
                state.turn = Some(turn);
                if images.is_empty() {
                    send(state, Prompt::text(text), effects);
                } else {
                    effects.push(Effect::ReadImages { text, images });
                }
            }
            Some(Queued::Submitted { extension, .. }) if state.submits.run >= limits::SUBMITS => {
                state.submit_dropped(&extension);
            }
            Some(Queued::Submitted { text, .. }) => {
                state.submits.run += 1;
                state.submits.running = true;
                state.turn = Some(Turn::new("starting", Some(text.clone()), state.now));
                effects.push(Effect::Prompt(Prompt::text(text)));
            }
            Some(Queued::Shell(command)) => shell::run(state, &command, effects),
            Some(Queued::Builtin(builtin, args)) => command::run(state, builtin, &args, effects),
            None => return,
        }
    }
}

/// Sends the user's prompt together with the outputs of their commands. The screen shows one line
/// for each output.
fn send(state: &mut State, mut prompt: Prompt, effects: &mut Vec<Effect>) {
    let (sent, shown) = state.outputs.take_into(&prompt.text);
    if let Some(turn) = &mut state.turn {
        turn.prompt = Some(shown.clone());
        turn.sent = (sent != shown).then(|| (sent.clone(), shown));
    }
    prompt.text = sent;
    effects.push(Effect::Prompt(prompt));
}

/// Sends a prompt whose images have been read, unless the user has cancelled it. If an image cannot
/// be read, nothing is sent, and the text returns to the editor if the editor is empty.
fn images_read(state: &mut State, read: Result<Prompt, String>, effects: &mut Vec<Effect>) {
    match read {
        Ok(prompt) if state.turn.as_ref().is_some_and(|turn| !turn.cancelled) => {
            send(state, prompt, effects);
        }
        Ok(_) => agent::ended(state),
        Err(why) => {
            let prompt = state.turn.take().and_then(|turn| turn.prompt);
            if let Some(text) = prompt.filter(|_| state.editor.is_empty()) {
                state.editor.set(&text);
            }
            state.notify(Level::Error, clean::text(&why));
        }
    }
}

fn resized(state: &mut State, size: Size, effects: &mut Vec<Effect>) {
    state.size = size;
    for panel in &state.panels {
        effects.push(panel_resize(panel, size));
    }
}

/// Returns the effect that reports the size of a panel to its extension.
fn panel_resize(panel: &Panel, size: Size) -> Effect {
    let (width, height) = Panel::room(size);
    let resize = PanelResize::new(panel.id.clone(), width.into(), height.into());
    Effect::PanelResize(panel.extension.clone(), resize)
}

fn tick(state: &mut State, effects: &mut Vec<Effect>) {
    if let Some(Dialog::Extensions { requested, .. }) = &mut state.dialog
        && state.now.duration_since(*requested) >= REFRESH
    {
        *requested = state.now;
        effects.push(Effect::Inspect);
    }
    if state.popup.is_searching {
        state.refresh_popup();
    }
}

fn effect_done(state: &mut State, result: EffectResult) {
    match result {
        EffectResult::Notice(level, text) => state.notify(level, clean::text(&text)),
        EffectResult::Model(model) => {
            let text = format!("switched to {} {}", model.provider, model.id);
            set_model(state, *model);
            state.notify(Level::Done, clean::line(&text));
        }
        EffectResult::Conversation(conversation) => load_conversation(state, *conversation),
        EffectResult::Rewound { conversation, text } => {
            load_conversation(state, *conversation);
            if state.editor.is_empty() {
                let (text, outputs) = Outputs::split(&text);
                state.outputs = outputs;
                state.editor.set(text);
                // An extension may have submitted the message.
                state.mark_inserted();
            }
        }
        EffectResult::Choices(picker, none) if picker.matching().is_empty() => {
            state.notify(Level::Muted, none);
        }
        EffectResult::Choices(picker, _) => state.dialog = Some(Dialog::Picker(picker)),
        EffectResult::Print(item) => state.output.push(item),
    }
}

fn load_conversation(state: &mut State, conversation: Conversation) {
    let Conversation {
        title,
        items,
        model,
        used,
        jailed,
    } = conversation;
    state.notes.clear();
    state.folded.clear();
    state.thoughts.clear();
    for item in &items {
        match item {
            Item::User(_) => state.thoughts.clear(),
            Item::Thought(thought) => state.thoughts.fold(thought.clone()),
            _ => {}
        }
    }
    if !title.is_empty() {
        state.output.push(Item::Divider(title));
    }
    state.output.extend(items);
    set_model(state, model);
    state.status.used = used;
    state.status.jailed = jailed;
}

fn set_model(state: &mut State, model: Model) {
    state.status.provider = model.provider;
    state.status.model = model.id;
    state.status.window = model.context_window;
}

/// Sanitises the names and the description of an extension command.
fn cleaned(command: &Command) -> Command {
    Command {
        name: clean::line(&command.name),
        description: clean::line(&command.description),
        extension: clean::line(&command.extension),
    }
}

#[cfg(test)]
mod tests;
