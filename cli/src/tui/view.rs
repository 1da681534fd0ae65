//! Draws the screen from the state.

use ratatui::{
    buffer::Buffer,
    layout::{Rect, Size},
    style::{Modifier, Style},
    text::Line,
};

use super::{
    state::{Dialog, Focus, Item, State},
    update::{shell_command, would_run},
    widget::{
        confirm, editor, extensions, item, login, notes, outputs, panel, picker, popup, queue,
        spinner, status, thought, tool, trust,
    },
};

/// Minimum screen height at which there are blank lines between the parts.
const MIN_HEIGHT_FOR_GAPS: u16 = 12;
/// Minimum screen height at which the status bar is shown.
const MIN_HEIGHT_FOR_BAR: u16 = 4;

/// Takes the finished items out of the state and returns them as lines for the scrollback.
pub(crate) fn finished(state: &mut State) -> Vec<Line<'static>> {
    let width = state.size.width;
    let mut lines = Vec::new();
    for item in std::mem::take(&mut state.output) {
        let is_notice = matches!(item, Item::Notice { .. });
        let joins = matches!(item, Item::Banner(_) | Item::Streamed { first: false, .. })
            || is_notice && state.last_was_notice;
        if !joins {
            lines.push(Line::default());
        }
        lines.extend(item::lines(&item, width, &state.theme));
        state.last_was_notice = is_notice;
    }
    if let Some(turn) = &mut state.turn {
        let streamed = turn.stream.finished(item::inner(width), &state.theme);
        if !streamed.is_empty() {
            if !turn.has_shown {
                lines.push(Line::default());
            }
            turn.has_shown = true;
            state.last_was_notice = false;
            lines.extend(item::indented(streamed, width));
        }
    }
    lines
}

/// Draws the live area below the scrollback. It is never taller than the terminal.
pub(crate) fn live(state: &State) -> Buffer {
    let size = state.size;
    let (bottom, cursor) = bottom(state);
    let room = usize::from(size.height).saturating_sub(bottom.len());
    let mut lines = top(state, room);
    let above = lines.len();
    lines.extend(bottom);
    // If the lines do not fit, keep the last ones, which are more important.
    let over = lines.len().saturating_sub(size.height.max(1).into());
    lines.drain(..over);
    let height = u16::try_from(lines.len().max(1)).unwrap_or(size.height);
    let mut buffer = Buffer::empty(Rect::new(0, 0, size.width, height));
    for (y, line) in (0..height).zip(&lines) {
        buffer.set_line(0, y, line, size.width);
        buffer.set_style(Rect::new(0, y, size.width, 1), Style::new());
    }
    if let Some((x, y)) = cursor {
        let y = (usize::from(y) + above).saturating_sub(over);
        let x = x.min(size.width.saturating_sub(1));
        let y = u16::try_from(y).unwrap_or(0).min(height - 1);
        let reversed = Style::new().add_modifier(Modifier::REVERSED);
        buffer[(x, y)].set_style(reversed);
    }
    buffer
}

/// Returns the part above the input: the running turn, the queue and the notes.
fn top(state: &State, room: usize) -> Vec<Line<'static>> {
    let (width, theme) = (state.size.width, &state.theme);
    let roomy = state.size.height >= MIN_HEIGHT_FOR_GAPS;
    let mut parts: Vec<Vec<Line<'static>>> = Vec::new();
    let mut joins = false;
    if let Some(turn) = &state.turn {
        if let Some(prompt) = &turn.prompt {
            parts.push(item::lines(&Item::User(prompt.clone()), width, theme));
        }
        let open = turn.stream.open(item::inner(width), theme);
        // The rest of the streaming text continues directly below its printed lines.
        joins = turn.has_shown && !open.is_empty();
        parts.push(item::indented(open, width));
        if let Some(thought) = turn.thought.as_ref().filter(|_| state.thoughts.are_shown) {
            parts.push(thought::live(thought, width, theme));
        }
        let time = state.now.duration_since(turn.since);
        let calls = turn.calls.iter().enumerate();
        let calls = calls.flat_map(|(at, call)| tool::running(call, at == 0, time, width, theme));
        parts.push(calls.collect());
        let asks = !state.questions.is_empty();
        parts.push(vec![spinner::of_turn(turn, asks, state.now, width, theme)]);
    }
    if let Some(activity) = &state.activity {
        parts.push(vec![spinner::of_activity(
            activity, "", state.now, width, theme,
        )]);
    }
    if let Some(command) = &state.command {
        let hint = " · esc to cancel";
        parts.push(vec![spinner::of_activity(
            command, hint, state.now, width, theme,
        )]);
    }
    if let Some(shell) = &state.shell {
        let time = state.now.duration_since(shell.since);
        let mut lines = tool::running(&shell.call, true, time, width, theme);
        lines.push(spinner::of_shell(shell, state.now, width, theme));
        parts.push(lines);
    }
    parts.push(outputs::lines(
        &state.outputs,
        state.can_drop_outputs(),
        width,
        theme,
    ));
    let steered = state.turn.iter().flat_map(|turn| &turn.steered);
    parts.push(queue::lines(steered, &state.queue, width, theme));
    parts.push(notes::lines(&state.notes, width, (room / 2).max(1), theme));
    let mut lines: Vec<Line<'static>> = Vec::new();
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        if roomy && !std::mem::take(&mut joins) {
            lines.push(Line::default());
        }
        lines.extend(part);
    }
    if roomy {
        lines.push(Line::default());
    }
    let over = lines.len().saturating_sub(room);
    lines.drain(..over);
    lines
}

fn has_bar(size: Size) -> bool {
    size.height >= MIN_HEIGHT_FOR_BAR
}

/// Returns the number of rows that a dialog can fill.
pub(crate) fn rows_of_dialog(size: Size) -> usize {
    size.height
        .saturating_sub(has_bar(size).into())
        .max(1)
        .into()
}

/// Returns the editor or dialog, the status bar below it, and the cursor position.
fn bottom(state: &State) -> (Vec<Line<'static>>, Option<(u16, u16)>) {
    let (size, theme) = (state.size, &state.theme);
    let width = size.width;
    let bar = has_bar(size);
    let rows = rows_of_dialog(size);
    let room = size.height.saturating_sub(u16::from(bar)).max(1);
    let (mut lines, cursor) = match (state.focus(), &state.dialog) {
        (Focus::Question, _) => (question(state, rows), None),
        (Focus::Dialog, Some(Dialog::Trust(it))) => {
            (trust::lines(it, state.now, width, rows, theme), None)
        }
        (Focus::Dialog, Some(Dialog::Picker(it))) => (picker::lines(it, width, rows, theme), None),
        (Focus::Dialog, Some(Dialog::Login(it))) => login::lines(it, state.now, width, theme),
        (
            Focus::Dialog,
            Some(Dialog::Extensions {
                selected, views, ..
            }),
        ) => (
            extensions::lines(views, *selected, width, rows, theme),
            None,
        ),
        (Focus::Panel, _) => {
            let panel = state.panels.last();
            let lines = panel.map(|it| panel::lines(it, size, room, theme));
            (lines.unwrap_or_default(), None)
        }
        (Focus::Editor | Focus::Dialog, _) => {
            let most = (room * 2 / 3).max(1);
            let (mut lines, cursor) =
                editor::lines(&state.editor, editor_title(state), width, most, theme);
            // Limit the popup's height, because a popup that fills the screen would hide the
            // conversation.
            let left = rows.saturating_sub(lines.len()).min((rows / 2).max(4));
            lines.extend(popup::lines(&state.popup, width, left, theme));
            (lines, Some(cursor))
        }
    };
    if bar {
        lines.push(status::line(state, width));
    }
    (lines, cursor)
}

/// Returns the title of the editor, which says what happens to text that is not a prompt.
fn editor_title(state: &State) -> &'static str {
    let text = state.editor.written();
    if state.editor.begins_with_chip() {
        ""
    } else if would_run(state, text) && state.is_inserted() {
        "an extension may have written this · edit it to run it"
    } else if shell_command(text).is_some() {
        "run in the shell"
    } else {
        ""
    }
}

fn question(state: &State, rows: usize) -> Vec<Line<'static>> {
    let others = state.questions.len().saturating_sub(1);
    let question = state.questions.front();
    let lines = question
        .map(|it| confirm::lines(it, others, state.now, state.size.width, rows, &state.theme));
    lines.unwrap_or_default()
}
