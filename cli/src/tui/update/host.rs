//! Messages and command responses from extensions. **All text is sanitised here, before it becomes
//! part of the state.**

use zot_protocol::{Action, CommandResponse, NoteLevel, PanelClose};

use super::{panel_resize, question};
use crate::{
    clean,
    tui::{
        bridge::HostMessage,
        message::Effect,
        state::{Item, Level, Note, Panel, State, UserPrompt},
        widget::tool,
    },
};

/// Maximum number of open panels per extension.
const MAX_PANELS: usize = 4;

pub(super) fn message(state: &mut State, message: HostMessage, effects: &mut Vec<Effect>) {
    match message {
        HostMessage::Note {
            extension,
            level,
            message,
        } => state.notes.add(Note {
            extension: Some(clean::line(&extension)),
            level,
            message: clean::line(&message),
        }),
        HostMessage::ToolCalled(call) => {
            let (extension, tool) = (clean::line(&call.extension), clean::line(&call.name));
            let about = tool::summary(&call.name, &call.args);
            state.notify(Level::Muted, format!("{extension} runs {tool}  {about}"));
        }
        HostMessage::ToolCallEnded(result) => {
            let (extension, tool) = (clean::line(&result.extension), clean::line(&result.name));
            let status = clean::line(&result.status.to_string());
            state.notify(Level::Muted, format!("{extension}: {tool} {status}"));
        }
        HostMessage::Skipped { extension, count } => {
            state.notes.skip(clean::line(&extension), count);
        }
        HostMessage::Notice(level, message) => state.notes.add(Note {
            extension: None,
            level,
            message: clean::line(&message),
        }),
        HostMessage::ClearNotes(extension) => state.notes.clear_of(&clean::line(&extension)),
        HostMessage::OpenPanel(extension, open) => {
            self::open(state, extension, &open.panel, effects);
        }
        HostMessage::RenderPanel(extension, render) => {
            let mut panels = state.panels.iter_mut();
            let panel = panels.find(|it| it.extension == extension && it.id == render.panel_id);
            if let Some(panel) = panel {
                panel.render(&render);
            }
        }
        HostMessage::ClosePanel(extension, close) => state
            .panels
            .retain(|panel| panel.extension != extension || panel.id != close.panel_id),
        HostMessage::Gone(extension) => {
            state.panels.retain(|panel| panel.extension != extension);
            state.notes.add(Note {
                extension: Some(clean::line(&extension)),
                level: NoteLevel::Info,
                message: "run /reload-ext to restart it".to_owned(),
            });
        }
        HostMessage::Submit { extension, text } => {
            let text = clean::text(&text);
            if !text.trim().is_empty() {
                state.queue_submitted(clean::line(&extension), text);
            }
        }
        HostMessage::SubmitsDropped(extension) => state.submit_dropped(&clean::line(&extension)),
        HostMessage::Withdrawn(number) => question::withdraw(state, number),
        HostMessage::Confirm(number, call) => question::ask(state, number, *call, effects),
    }
}

fn open(
    state: &mut State,
    extension: String,
    panel: &zot_protocol::Panel,
    effects: &mut Vec<Effect>,
) {
    let panel = Panel::new(extension, panel);
    let same = |it: &Panel| it.extension == panel.extension && it.id == panel.id;
    state.panels.retain(|it| !same(it));
    let of_extension = |it: &Panel| it.extension == panel.extension;
    if state.panels.iter().filter(|it| of_extension(it)).count() >= MAX_PANELS
        && let Some(oldest) = state.panels.iter().position(of_extension)
    {
        let closed = state.panels.remove(oldest);
        effects.push(Effect::PanelClose(
            closed.extension,
            PanelClose::new(closed.id),
        ));
    }
    effects.push(panel_resize(&panel, state.size));
    state.panels.push(panel);
}

/// Applies the response to an extension's command.
pub(super) fn command_response(
    state: &mut State,
    extension: String,
    answer: Result<CommandResponse, String>,
    effects: &mut Vec<Effect>,
) {
    state.command = None;
    let answer = match answer {
        Ok(answer) => answer,
        Err(why) => return state.notify(Level::Error, clean::text(&why)),
    };
    if let Some(error) = answer.error.filter(|error| !error.is_empty()) {
        let text = format!("[{extension}] {error}");
        return state.notify(Level::Error, clean::line(&text));
    }
    match answer.action.unwrap_or_default() {
        Action::Prompt => {
            let text = clean::text(&answer.prompt.unwrap_or_default());
            if !text.trim().is_empty() {
                state.notes.clear();
                state.queue_prompt(UserPrompt::of_command(text));
            }
        }
        Action::Insert => {
            let text = clean::text(&answer.insert.unwrap_or_default());
            state.editor.insert(&text);
            state.mark_inserted();
            state.refresh_popup();
        }
        Action::Display => {
            let text = clean::text(&answer.display.unwrap_or_default());
            state.output.push(Item::Display {
                extension: clean::line(&extension),
                text,
            });
        }
        Action::OpenPanel => {
            if let Some(mut panel) = answer.open_panel {
                Panel::truncate(
                    panel.title.as_mut(),
                    Some(&mut panel.lines),
                    panel.footer.as_mut(),
                );
                open(state, extension, &panel, effects);
            }
        }
        _ => {}
    }
}
