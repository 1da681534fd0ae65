//! A tool call as a box: its name and arguments, what it is at, what came of it.

use std::{path::Path, time::Duration};

use ratatui::text::{Line, Span};
use serde_json::Value;
use zot_protocol::{Object, ToolStatus};

use super::spinner;
use crate::{
    clean,
    tui::{
        state::{Call, Ran},
        text,
        theme::Theme,
    },
};

/// The left edge of the box.
const EDGE: &str = "  │ ";
/// So much of the arguments is looked at for a line.
const MOST: usize = 1024;
/// So many lines of a result are unfolded.
const UNFOLDED: usize = 2_000;

/// A call that is being written, waits or runs.
pub(crate) fn running(
    call: &Call,
    is_next: bool,
    time: Duration,
    width: u16,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let (mark, style) = if is_next {
        (spinner::sign(time), theme.accent)
    } else {
        ("·", theme.muted)
    };
    let about = match &call.args {
        Some(args) => summary(&call.name, args),
        None => clean::line(&call.draft[..call.draft.floor_char_boundary(MOST)]),
    };
    let mut lines = vec![head(mark, style, &call.name, &about, "", width, theme)];
    lines.extend(call.progress.iter().map(|line| edged(line, width, theme)));
    lines
}

/// A call that has a result: the head, and the first lines of it.
pub(crate) fn ran(ran: &Ran, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = vec![head_of(ran, width, theme)];
    let limit = ran.limit();
    if let Some(diff) = diff_of(ran) {
        let body = text::diff(diff, width.saturating_sub(4).max(1), theme);
        let hidden = body.len().saturating_sub(limit);
        lines.extend(body.into_iter().take(limit).map(|line| within(line, theme)));
        lines.extend(more(hidden, width, theme));
        return lines;
    }
    let count = ran.text.lines().count();
    // One line that stands for all of a file says less than their number.
    let shown = if limit == 1 && count > 1 { 0 } else { limit };
    let body = ran.text.lines().take(shown);
    lines.extend(body.map(|line| edged(line, width, theme)));
    lines.extend(ran.images.iter().map(|line| edged(line, width, theme)));
    lines.extend(more(count.saturating_sub(shown), width, theme));
    lines
}

/// All of a result.
pub(crate) fn whole(ran: &Ran, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = vec![head_of(ran, width, theme)];
    let inner = width.saturating_sub(4).max(1);
    let body = match diff_of(ran) {
        Some(diff) => text::diff(diff, inner, theme),
        None => text::plain(&ran.text, inner, theme.muted),
    };
    let hidden = body.len().saturating_sub(UNFOLDED);
    lines.extend(
        body.into_iter()
            .take(UNFOLDED)
            .map(|line| within(line, theme)),
    );
    if hidden > 0 {
        let text = text::fit(&format!("{EDGE}… {hidden} more lines"), width);
        lines.push(Line::styled(text, theme.muted));
    }
    lines
}

fn head_of(ran: &Ran, width: u16, theme: &Theme) -> Line<'static> {
    let (mark, style, verdict) = match ran.status {
        ToolStatus::Completed => ("✓", theme.accent, ""),
        ToolStatus::Blocked => ("✗", theme.error, "blocked"),
        ToolStatus::Cancelled => ("–", theme.muted, "cancelled"),
        ToolStatus::TimedOut => ("✗", theme.error, "timed out"),
        _ => ("✗", theme.error, "failed"),
    };
    let about = summary(&ran.name, &ran.args);
    let by = ran.extension.as_ref().map(|name| format!("[{name}]"));
    let remark: Vec<&str> = by
        .as_deref()
        .into_iter()
        .chain(Some(verdict).filter(|verdict| !verdict.is_empty()))
        .collect();
    let remark = remark.join(" ");
    head(mark, style, &ran.name, &about, &remark, width, theme)
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

fn edged(line: &str, width: u16, theme: &Theme) -> Line<'static> {
    let line = line.replace('\t', "    ");
    Line::styled(text::fit(&format!("{EDGE}{line}"), width), theme.muted)
}

fn within(line: Line<'static>, theme: &Theme) -> Line<'static> {
    let mut spans = vec![Span::styled(EDGE, theme.muted)];
    spans.extend(line.spans);
    Line::from(spans).style(line.style)
}

fn more(hidden: usize, width: u16, theme: &Theme) -> Option<Line<'static>> {
    let lines = if hidden == 1 { "line" } else { "lines" };
    (hidden > 0).then(|| {
        let text = format!("{EDGE}… {hidden} {lines} · ctrl+o");
        Line::styled(text::fit(&text, width), theme.muted)
    })
}

/// The change that an edit has made.
fn diff_of(ran: &Ran) -> Option<&str> {
    let edited = ran.name == "edit" && ran.extension.is_none();
    let (_, diff) = ran.text.split_once('\n')?;
    (edited && ran.status == ToolStatus::Completed && diff.starts_with("---")).then_some(diff)
}

/// The arguments in a line: what matters of the tools that are known, everything of the others.
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
            let text = clean::text(&text[..text.floor_char_boundary(MOST)]);
            text.trim().replace('\n', " ⏎ ")
        }
        _ if args.is_empty() => String::new(),
        _ => {
            let json = clean::json(&Value::Object(args.clone()));
            json[..json.floor_char_boundary(MOST)].to_owned()
        }
    }
}

/// A path within the working directory without that.
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
