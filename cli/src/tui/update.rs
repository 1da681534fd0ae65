//! The one place where the state changes: something has happened, and this is what comes of it.

mod agent;
mod command;
mod dialog;
mod keys;
mod said;

pub(crate) use agent::shown;
pub(crate) use dialog::ANSWERS;

use std::time::{Duration, Instant};

use ratatui::layout::Size;
use zot_protocol::{PanelResize, limits};

use super::{
    message::{Conversation, Did, Effect, Message, Model},
    state::{
        Agreed, Command, Dialog, Item, Level, Panel, Picker, Queued, State, Submits, Trust, Turn,
    },
};
use crate::clean;

/// How often it is looked how the extensions fare, while the user looks.
const LOOK: Duration = Duration::from_secs(1);

/// What a message makes of the state, and what else is to be done.
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
        Message::Said(said) => said::said(state, said, &mut effects),
        Message::Asked {
            number,
            caller,
            tool,
            args,
        } => dialog::asked(state, number, Agreed { caller, tool }, args, &mut effects),
        Message::Strangers(strangers, then) => {
            if strangers.is_empty() {
                effects.push(Effect::Trust(Vec::new(), then));
            } else {
                state.dialog = Some(Dialog::Trust(Trust::new(strangers, then, now)));
            }
        }
        Message::Started(conversation) => {
            state.ready = true;
            take_up(state, *conversation);
        }
        Message::Offered {
            commands,
            extensions,
        } => {
            state.commands = commands.iter().map(cleaned).collect();
            state.extensions = extensions;
            state.refresh_popup();
        }
        Message::Answered { extension, answer } => {
            said::answered(state, extension, answer, &mut effects);
        }
        Message::Did(did) => {
            state.doing = None;
            self::did(state, did);
        }
        Message::Inspected(new) => {
            if let Some(Dialog::Extensions { views, .. }) = &mut state.dialog {
                *views = new;
            }
        }
        Message::Login(tried) => dialog::tried(state, tried),
    }
    go_on(state, &mut effects);
    effects
}

/// Begins what waits, where nothing else is being done.
fn go_on(state: &mut State, effects: &mut Vec<Effect>) {
    while !state.is_busy() && !state.is_choosing() {
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
        effects.push(room_of(panel, size));
    }
}

/// Tells an extension how much room its panel has.
fn room_of(panel: &Panel, size: Size) -> Effect {
    let (width, height) = Panel::room(size);
    let resize = PanelResize::new(panel.id.clone(), width.into(), height.into());
    Effect::PanelResize(panel.extension.clone(), resize)
}

fn tick(state: &mut State, effects: &mut Vec<Effect>) {
    if let Some(Dialog::Extensions { looked, .. }) = &mut state.dialog
        && state.now.duration_since(*looked) >= LOOK
    {
        *looked = state.now;
        effects.push(Effect::Inspect);
    }
    if state.popup.is_looking {
        state.refresh_popup();
    }
}

fn did(state: &mut State, did: Did) {
    match did {
        Did::Told(level, text) => state.tell(level, clean::text(&text)),
        Did::Model(model) => {
            let text = format!("{} {} answers", model.provider, model.id);
            set_model(state, model);
            state.tell(Level::Done, clean::line(&text));
        }
        Did::Conversation(conversation) => take_up(state, *conversation),
        Did::Choices {
            title,
            choices,
            selected,
        } => {
            if choices.is_empty() {
                state.tell(
                    Level::Muted,
                    format!("{title}: there is nothing to choose from"),
                );
            } else {
                let picker = Picker::new(title, choices, selected);
                state.dialog = Some(Dialog::Picker(picker));
            }
        }
        Did::Shown(item) => state.output.push(item),
    }
}

fn take_up(state: &mut State, conversation: Conversation) {
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
    state.status.window = model.window;
}

/// An extension names its commands, and says what they are for.
fn cleaned(command: &Command) -> Command {
    Command {
        name: clean::line(&command.name),
        description: clean::line(&command.description),
        extension: clean::line(&command.extension),
    }
}
