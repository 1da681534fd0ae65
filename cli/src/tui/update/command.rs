//! Handles submitted lines: prompts, built-in commands and extension commands.

use std::path::PathBuf;

use clap::ValueEnum;
use zot_host::{approval::ConfirmMode, provider::demo};

use super::{shell, steering};
use crate::{
    clean,
    tui::{
        builtin::Builtin,
        message::{AfterTrust, Effect},
        state::{
            Activity, Choice, Dialog, Item, Level, Picked, Picker, Queued, State, Turn, UserPrompt,
        },
    },
};

/// The key bindings listed by `/help`.
const KEYS: [(&str, &str); 16] = [
    ("enter", "send; the agent reads it before its next step"),
    ("alt+enter", "insert a new line"),
    ("esc", "cancel the turn, clear the queue, dismiss notes"),
    ("ctrl+c", "clear the editor or cancel; twice to exit"),
    ("ctrl+d", "exit if the editor is empty"),
    ("up, down", "browse the prompt history"),
    (
        "tab",
        "complete, or queue the prompt while the agent is working",
    ),
    ("@", "pick a file"),
    ("/", "pick a command"),
    ("!", "run a shell command; the model sees its output"),
    ("ctrl+r", "search the prompt history"),
    ("ctrl+g", "write the prompt in $VISUAL or $EDITOR"),
    ("ctrl+o", "show the last folded result in full"),
    ("ctrl+t", "show or fold the model's thinking"),
    ("ctrl+l", "redraw the screen"),
    ("ctrl+z", "suspend; resume with `fg`"),
];

/// Handles a submitted line.
pub(super) fn submit(
    state: &mut State,
    text: &str,
    images: Vec<PathBuf>,
    effects: &mut Vec<Effect>,
) {
    let text = text.trim_end();
    if text.trim().is_empty() || shell::submit(state, text, effects) {
        return;
    }
    if let Some((name, args)) = command_of(text) {
        if let Some(builtin) = Builtin::of(name) {
            return builtin_sent(state, builtin, args, effects);
        }
        if let Some(command) = state
            .commands
            .iter()
            .find(|it| it.name.eq_ignore_ascii_case(name))
        {
            let name = command.name.clone();
            return command_sent(state, name, args, effects);
        }
        // The demo model uses `/call` to call a tool, so it is not a command.
        let is_call = name == "call" && state.status.provider == demo::NAME;
        if !is_call && is_name(name) {
            state.editor.set(text);
            let hint = if state.starting() > 0 {
                "extensions are still starting; try again when they are ready"
            } else {
                "run /help to list commands"
            };
            let text = format!("unknown command /{name}\nhint: {hint}");
            return state.notify(Level::Error, text);
        }
    }
    submit_literally(state, text, images, effects);
}

/// Sends text unchanged, even if it looks like a command.
pub(super) fn submit_literally(
    state: &mut State,
    text: &str,
    images: Vec<PathBuf>,
    effects: &mut Vec<Effect>,
) {
    state.notes.clear();
    let text = text.trim_end().to_owned();
    let prompt = UserPrompt {
        text,
        images,
        is_users: true,
    };
    steering::send(state, prompt, effects);
}

/// Reports whether submitting this text would run a command.
pub(crate) fn would_run(state: &State, text: &str) -> bool {
    let is_known = |(name, _): (&str, &str)| {
        let mut commands = state.commands.iter();
        Builtin::of(name).is_some() || commands.any(|it| it.name.eq_ignore_ascii_case(name))
    };
    shell_command(text).is_some() || command_of(text).is_some_and(is_known)
}

/// Returns the command in a line that begins with `!`. Text of several lines is a prompt, because a
/// long paste must not run when it returns to the editor without its chip. Text that begins with
/// `![`, a Markdown image, is a prompt too.
pub(crate) fn shell_command(text: &str) -> Option<&str> {
    let command = text.strip_prefix('!')?;
    let is_image = command.starts_with('[');
    let command = command.trim();
    (!is_image && !command.contains('\n')).then_some(command)
}

/// Splits a line into the command name and the arguments.
fn command_of(text: &str) -> Option<(&str, &str)> {
    let line = text.strip_prefix('/')?;
    let (name, args) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    Some((name, args.trim()))
}

/// Reports whether the text looks like a command name rather than a path.
fn is_name(text: &str) -> bool {
    let of_name = |char: char| char.is_alphanumeric() || matches!(char, '-' | '_' | '.' | ':');
    !text.is_empty() && text.chars().all(of_name)
}

fn command_sent(state: &mut State, name: String, args: &str, effects: &mut Vec<Effect>) {
    if let Some(command) = &state.command {
        let text = format!("{} is still running; press esc to cancel it", command.label);
        return state.notify(Level::Warning, text);
    }
    state.command = Some(Activity {
        label: format!("/{name}"),
        since: state.now,
    });
    effects.push(Effect::Command {
        name,
        args: args.to_owned(),
    });
}

fn builtin_sent(state: &mut State, builtin: Builtin, args: &str, effects: &mut Vec<Effect>) {
    if !state.ready && builtin.needs_agent() {
        // The agent is still starting, so run the command when it is ready.
        let queued = Queued::Builtin(builtin, args.to_owned());
        return state.queue.push_back(queued);
    }
    if builtin.needs_idle_agent() && state.is_busy() {
        let text = format!("/{} will run when the turn ends", builtin.name());
        state.notify(Level::Muted, text);
        state
            .queue
            .push_back(Queued::Builtin(builtin, args.to_owned()));
        return;
    }
    run(state, builtin, args, effects);
}

/// Runs a built-in command. If the command needs an idle agent, the caller must make sure that it
/// is idle.
pub(super) fn run(state: &mut State, builtin: Builtin, args: &str, effects: &mut Vec<Effect>) {
    let mut begin = |state: &mut State, label: &str, effect: Effect| {
        state.begin(label);
        effects.push(effect);
    };
    match builtin {
        Builtin::Help => help(state),
        Builtin::Model if args.is_empty() => begin(state, "loading models", Effect::ListModels),
        Builtin::Model => begin(
            state,
            "switching model",
            Effect::SetModel {
                provider: None,
                id: args.to_owned(),
            },
        ),
        Builtin::Clear => {
            state.notes.clear();
            begin(state, "clearing", Effect::Clear);
        }
        Builtin::Compact => {
            state.turn = Some(Turn::new("compacting", None, state.now));
            effects.push(Effect::Compact);
        }
        Builtin::Sessions => begin(state, "loading sessions", Effect::ListSessions),
        Builtin::Session => match session(args) {
            Ok(effect) => begin(state, "processing session", effect),
            Err(usage) => state.notify(Level::Error, usage),
        },
        Builtin::Rewind => begin(state, "loading messages", Effect::ListMessages),
        Builtin::Export if args.is_empty() => {
            state.notify(Level::Error, format!("usage: /export {}", builtin.args()));
        }
        Builtin::Export => begin(state, "exporting", Effect::Export(PathBuf::from(args))),
        Builtin::Tasks => begin(state, "listing commands", Effect::ListBackground),
        Builtin::Why => begin(state, "loading decisions", Effect::ShowDecisions),
        Builtin::Skills => begin(state, "loading skills", Effect::ShowSkills),
        Builtin::ReloadExt => begin(
            state,
            "reloading extensions",
            Effect::FindUntrusted(AfterTrust::Reload),
        ),
        Builtin::Ext => {
            state.dialog = Some(Dialog::Extensions {
                selected: 0,
                views: Vec::new(),
                requested: state.now,
            });
            effects.push(Effect::Inspect);
        }
        Builtin::Login => login(state, args),
        Builtin::Logout => logout(state, args, effects),
        Builtin::Jail => effects.push(Effect::SetJail(true)),
        Builtin::Unjail => effects.push(Effect::SetJail(false)),
        Builtin::Yolo => yolo(state),
        Builtin::Exit => effects.push(Effect::Exit),
    }
}

fn help(state: &mut State) {
    let of_builtin = |builtin: &Builtin| {
        let name = format!("/{} {}", builtin.name(), builtin.args());
        (name.trim_end().to_owned(), builtin.about().to_owned())
    };
    state.output.push(Item::Listing {
        title: "Keys".to_owned(),
        rows: KEYS
            .map(|(key, about)| (key.to_owned(), about.to_owned()))
            .to_vec(),
    });
    state.output.push(Item::Listing {
        title: "Commands".to_owned(),
        rows: Builtin::value_variants().iter().map(of_builtin).collect(),
    });
    let mut rest = state.commands.as_slice();
    while let Some(first) = rest.first() {
        let (own, others) = rest.split_at(
            rest.iter()
                .position(|it| it.extension != first.extension)
                .unwrap_or(rest.len()),
        );
        let rows = own
            .iter()
            .map(|it| (format!("/{}", it.name), it.description.clone()))
            .collect();
        state.output.push(Item::Listing {
            title: format!("Commands from {}", first.extension),
            rows,
        });
        rest = others;
    }
}

fn session(args: &str) -> Result<Effect, String> {
    let (what, rest) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
    let rest = rest.trim();
    let usage = || "usage: /session fork [N] | export FILE | import FILE".to_owned();
    match (what, rest) {
        ("fork", "") => Ok(Effect::Fork(None)),
        ("fork", number) => match number.parse() {
            Ok(at) => Ok(Effect::Fork(Some(at))),
            Err(_) => Err(usage()),
        },
        ("export", file) if !file.is_empty() => Ok(Effect::Export(PathBuf::from(file))),
        ("import", file) if !file.is_empty() => Ok(Effect::Import(PathBuf::from(file))),
        _ => Err(usage()),
    }
}

/// Returns the provider specified in the arguments. If there is none, opens a picker.
fn provider(
    state: &mut State,
    name: &str,
    title: &str,
    of: fn(String) -> Picked,
) -> Option<String> {
    if name.is_empty() {
        let choices = state.providers.names().map(|name| Choice {
            label: clean::line(name),
            detail: clean::line(state.providers.key_variable(name).unwrap_or_default()),
            picked: of(name.to_owned()),
        });
        let picker = Picker::new(title, choices.collect(), 0);
        state.dialog = Some(Dialog::Picker(picker));
        return None;
    }
    if state.providers.get(name).is_some() {
        return Some(name.to_owned());
    }
    state.notify(Level::Error, state.providers.unknown(name));
    None
}

fn login(state: &mut State, args: &str) {
    if let Some(provider) = provider(state, args, "Log in to", Picked::Login) {
        state.dialog = Some(Dialog::login(provider));
    }
}

fn logout(state: &mut State, args: &str, effects: &mut Vec<Effect>) {
    if let Some(provider) = provider(state, args, "Log out of", Picked::Logout) {
        effects.push(Effect::Logout(provider));
    }
}

fn yolo(state: &mut State) {
    match (state.approvals.mode(), state.mode_without_confirmation) {
        (ConfirmMode::Always, ConfirmMode::Rules) => {
            state.approvals.set_mode(ConfirmMode::Rules);
            let text = "tools will run without asking, except where your rules say to ask";
            state.notify(Level::Done, text);
        }
        (ConfirmMode::Always, _) => stop_asking(state),
        (mode, _) => {
            state.mode_without_confirmation = mode;
            state.approvals.set_mode(ConfirmMode::Always);
            state.notify(Level::Done, "zot will ask before each tool call");
        }
    }
}

/// Runs all tool calls without asking from now on.
pub(super) fn stop_asking(state: &mut State) {
    state.approvals.set_mode(ConfirmMode::Never);
    state.notify(Level::Done, "tools will run without asking");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_not_commands() {
        assert_eq!(command_of("/model  x y "), Some(("model", "x y")));
        assert!(is_name("reload-ext"));
        assert!(!is_name("etc/hosts"));
        assert!(!is_name(""));
    }

    #[test]
    fn session_arguments_are_parsed() {
        assert!(matches!(session("fork"), Ok(Effect::Fork(None))));
        assert!(matches!(session("fork 3"), Ok(Effect::Fork(Some(3)))));
        assert!(matches!(session("export a b.md"), Ok(Effect::Export(file)) if file == *"a b.md"));
        assert!(session("export").is_err() && session("fork x").is_err() && session("").is_err());
    }
}
