//! A tool call: its name and arguments, its progress, and its result.

use std::{path::Path, time::Duration};

use ratatui::text::{Line, Span};
use serde_json::Value;
use zot_protocol::{Object, ToolStatus};

use super::spinner;
use crate::{
    clean, output,
    tui::{
        state::{Call, FinishedCall},
        text,
        theme::Theme,
    },
};

/// The left border of the output.
const EDGE: &str = "  │ ";
/// Maximum number of bytes of arguments in the summary line.
const MAX_BYTES: usize = 1024;
/// Maximum number of rows of the reason for blocking a call.
const MAX_REASON_ROWS: usize = 12;
/// Maximum number of lines of an unfolded result to show.
const MAX_UNFOLDED_LINES: usize = 2_000;

/// Draws a call without a result: the model is still writing it, or it is queued or running.
pub(crate) fn running(
    call: &Call,
    is_next: bool,
    time: Duration,
    width: u16,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let (mark, style) = if is_next {
        (spinner::frame(time), theme.accent)
    } else {
        ("·", theme.muted)
    };
    let about = match &call.args {
        Some(args) => summary(&call.name, args),
        None => clean::line(&call.draft[..call.draft.floor_char_boundary(MAX_BYTES)]),
    };
    let mut lines = vec![head(mark, style, &call.name, &about, "", width, theme)];
    lines.extend(
        call.progress
            .iter()
            .map(|line| output_line(line, width, theme)),
    );
    lines
}

/// Draws a finished call: its summary line, and the first lines of its output.
pub(crate) fn finished(call: &FinishedCall, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = vec![head_of(call, width, theme)];
    let limit = call.limit();
    if let Some(diff) = diff_of(call) {
        let body = text::diff(diff, width.saturating_sub(4).max(1), theme);
        let hidden = body.len().saturating_sub(limit);
        lines.extend(
            body.into_iter()
                .take(limit)
                .map(|line| with_edge(line, theme)),
        );
        lines.extend(more(hidden, width, theme));
        return lines;
    }
    // A reason must be read as a whole, so it is wrapped. It is rarely longer than a few lines.
    if call.status == ToolStatus::Blocked {
        let rows = text::plain(&call.text, width.saturating_sub(4).max(1), theme.muted);
        let hidden = rows.len().saturating_sub(limit.max(MAX_REASON_ROWS));
        let shown = rows.into_iter().take(limit.max(MAX_REASON_ROWS));
        lines.extend(shown.map(|line| with_edge(line, theme)));
        lines.extend(more(hidden, width, theme));
        return lines;
    }
    let count = call.text.lines().count();
    // For a file, the number of lines is more useful than the first line.
    let shown = if limit == 1 && count > 1 { 0 } else { limit };
    let body = call.text.lines().take(shown);
    lines.extend(body.map(|line| output_line(line, width, theme)));
    lines.extend(
        call.images
            .iter()
            .map(|line| output_line(line, width, theme)),
    );
    lines.extend(more(count.saturating_sub(shown), width, theme));
    lines
}

/// Draws a finished call with its full output.
pub(crate) fn unfolded(call: &FinishedCall, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = vec![head_of(call, width, theme)];
    let inner = width.saturating_sub(4).max(1);
    let body = match diff_of(call) {
        Some(diff) => text::diff(diff, inner, theme),
        None => text::plain(&call.text, inner, theme.muted),
    };
    let hidden = body.len().saturating_sub(MAX_UNFOLDED_LINES);
    lines.extend(
        body.into_iter()
            .take(MAX_UNFOLDED_LINES)
            .map(|line| with_edge(line, theme)),
    );
    if hidden > 0 {
        let more = output::counted(hidden as u64, "more line");
        let text = text::fit(&format!("{EDGE}… {more}"), width);
        lines.push(Line::styled(text, theme.muted));
    }
    lines
}

fn head_of(call: &FinishedCall, width: u16, theme: &Theme) -> Line<'static> {
    let (mark, style, verdict) = match call.status {
        ToolStatus::Completed => ("✓", theme.accent, ""),
        ToolStatus::Blocked => ("✗", theme.error, "blocked"),
        ToolStatus::Cancelled => ("–", theme.muted, "cancelled"),
        ToolStatus::TimedOut => ("✗", theme.error, "timed out"),
        _ => ("✗", theme.error, "failed"),
    };
    let about = summary(&call.name, &call.args);
    let by = call.extension.as_ref().map(|name| format!("[{name}]"));
    let remark: Vec<&str> = by
        .as_deref()
        .into_iter()
        .chain(Some(verdict).filter(|verdict| !verdict.is_empty()))
        .collect();
    let remark = remark.join(" ");
    head(mark, style, &call.name, &about, &remark, width, theme)
}

fn head(
    mark: &str,
    style: ratatui::style::Style,
    name: &str,
    about: &str,
    remark: &str,
    width: u16,
    theme: &Theme,
) -> Line<'static> {
    let mut spans = vec![
        Span::styled(format!("{mark} "), style),
        Span::styled(name.to_owned(), theme.strong),
    ];
    if !remark.is_empty() {
        let style = if mark == "✗" {
            theme.error
        } else {
            theme.muted
        };
        spans.push(Span::styled(format!(" {remark}"), style));
    }
    spans.push(Span::styled(format!("  {about}"), theme.muted));
    text::fit_line(&Line::from(spans), width)
}

fn output_line(line: &str, width: u16, theme: &Theme) -> Line<'static> {
    let line = line.replace('\t', "    ");
    Line::styled(text::fit(&format!("{EDGE}{line}"), width), theme.muted)
}

fn with_edge(line: Line<'static>, theme: &Theme) -> Line<'static> {
    let mut spans = vec![Span::styled(EDGE, theme.muted)];
    spans.extend(line.spans);
    Line::from(spans).style(line.style)
}

fn more(hidden: usize, width: u16, theme: &Theme) -> Option<Line<'static>> {
    (hidden > 0).then(|| {
        let lines = output::counted(hidden as u64, "line");
        let text = format!("{EDGE}… {lines} · ctrl+o");
        Line::styled(text::fit(&text, width), theme.muted)
    })
}

/// Returns the diff in the result of a completed edit.
fn diff_of(call: &FinishedCall) -> Option<&str> {
    let edited = call.name == "edit" && call.extension.is_none();
    let (_, diff) = call.text.split_once('\n')?;
    (edited && call.status == ToolStatus::Completed && diff.starts_with("---")).then_some(diff)
}

/// Summarises the arguments on one line. For built-in tools, this is the main argument; for other
/// tools, it is all arguments as JSON.
pub(crate) fn summary(name: &str, args: &Object) -> String {
    let main = match name {
        "bash" => "command",
        "read" | "write" | "edit" => "path",
        "skill" => "name",
        _ => "",
    };
    match args.get(main) {
        Some(Value::String(text)) if main == "path" => clean::line(&short(text)),
        Some(Value::String(text)) => {
            let text = clean::text(&text[..text.floor_char_boundary(MAX_BYTES)]);
            text.trim().replace('\n', " ⏎ ")
        }
        _ if args.is_empty() => String::new(),
        _ => {
            let json = clean::json(&Value::Object(args.clone()));
            json[..json.floor_char_boundary(MAX_BYTES)].to_owned()
        }
    }
}

/// Shortens a path inside the working directory to a relative one. Returns other paths unchanged.
fn short(path: &str) -> String {
    let relative = std::env::current_dir().ok().and_then(|cwd| {
        Some(
            Path::new(path)
                .strip_prefix(cwd)
                .ok()?
                .display()
                .to_string(),
        )
    });
    relative.unwrap_or_else(|| path.to_owned())
}
