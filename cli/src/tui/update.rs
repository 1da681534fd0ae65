//! The only place that changes the state: applies a message and returns the effects to perform.

mod agent;
mod command;
mod dialog;
mod host;
mod keys;

pub(crate) use agent::block_text;
pub(crate) use dialog::ANSWERS;

use std::time::{Duration, Instant};

use ratatui::layout::Size;
use zot_host::provider::Model;
use zot_protocol::{PanelResize, limits};

use super::{
    message::{Conversation, Effect, EffectResult, Message},
    state::{
        Command, Dialog, Item, Level, Panel, Picker, Queued, State, Submits, TrustDialog, Turn,
    },
};
use crate::clean;

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
        Message::Ended => agent::ended(state),
        Message::Host(said) => host::message(state, said, &mut effects),
        Message::Untrusted(untrusted, then) => {
            if untrusted.is_empty() {
                effects.push(Effect::Trust(Vec::new(), then));
            } else {
                state.dialog = Some(Dialog::Trust(TrustDialog::new(untrusted, then, now)));
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

/// Starts queued work while the agent is idle.
fn run_queue(state: &mut State, effects: &mut Vec<Effect>) {
    while !state.is_busy() && !state.has_blocking_dialog() {
        match state.queue.pop_front() {
            Some(Queued::Prompt(text)) => {
                state.submits = Submits::default();
                prompt(state, text, effects);
            }
            Some(Queued::Submitted { extension, .. }) if state.submits.run >= limits::SUBMITS => {
                state.submit_dropped(&extension);
            }
            Some(Queued::Submitted { text, .. }) => {
                state.submits.run += 1;
                state.submits.running = true;
                prompt(state, text, effects);
            }
            Some(Queued::Builtin(builtin, args)) => command::run(state, builtin, &args, effects),
            None => return,
        }
    }
}

fn prompt(state: &mut State, text: String, effects: &mut Vec<Effect>) {
    state.turn = Some(Turn::new("starting", Some(text.clone()), state.now));
    effects.push(Effect::Prompt(text));
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
        EffectResult::Choices {
            title,
            choices,
            selected,
        } => {
            if choices.is_empty() {
                state.notify(Level::Muted, format!("no {}s found", title.to_lowercase()));
            } else {
                let picker = Picker::new(title, choices, selected);
                state.dialog = Some(Dialog::Picker(picker));
            }
        }
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

/// Sanitises the texts of an extension command.
fn cleaned(command: &Command) -> Command {
    Command {
        name: clean::line(&command.name),
        description: clean::line(&command.description),
        extension: clean::line(&command.extension),
    }
}
