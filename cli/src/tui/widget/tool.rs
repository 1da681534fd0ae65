//! A tool call: its name and arguments, its progress, and its result.

use std::{collections::VecDeque, path::Path, time::Duration};

use ratatui::text::{Line, Span};
use serde_json::Value;
use zot_protocol::{Object, ToolStatus};

use super::spinner;
use crate::{
    clean, output,
    tui::{
        state::{Call, FinishedCall, SHELL},
        text,
        theme::Theme,
    },
};

/// The left border of the output.
const EDGE: &str = "  │ ";
/// Maximum number of bytes of arguments in the summary line.
const MAX_BYTES: usize = 1024;
/// Maximum number of rows for the reason why a call was blocked.
const MAX_REASON_ROWS: usize = 12;
/// Maximum number of rows for the end of a failed command's output.
const MAX_TAIL_ROWS: usize = 10;
/// Maximum number of lines of an unfolded result.
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
            .map(|line| output_line(&line.replace('\t', "    "), width, theme)),
    );
    lines
}

/// Draws a finished call: its summary line, and the first lines of its output. For a failed
/// command, draws the last lines instead, which say why it failed.
pub(crate) fn finished(call: &FinishedCall, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let Folded { rows, hidden, .. } = Folded::of(call, width, theme);
    let more = (hidden > 0).then(|| {
        let lines = output::counted(hidden as u64, "line");
        let text = format!("{EDGE}… {lines} · ctrl+o");
        Line::styled(text::fit(&text, width), theme.muted)
    });
    let mut lines = vec![head_of(call, width, theme)];
    if call.failed_command().is_some() {
        lines.extend(more);
        lines.extend(rows);
    } else {
        lines.extend(rows);
        lines.extend(more);
    }
    lines
}

/// Reports whether [`finished`] leaves out some of the output.
pub(crate) fn is_folded(call: &FinishedCall, width: u16, theme: &Theme) -> bool {
    let folded = Folded::of(call, width, theme);
    folded.hidden > 0 || folded.is_cut
}

/// The part of an output that is shown.
struct Folded {
    rows: Vec<Line<'static>>,
    /// The number of lines left out, or of wrapped rows in a diff or a reason. A line that is
    /// truncated at the edge is not counted; see `is_cut`.
    hidden: usize,
    /// Whether a row is truncated at the edge of the screen.
    is_cut: bool,
}

impl Folded {
    fn of(call: &FinishedCall, width: u16, theme: &Theme) -> Self {
        let limit = call.limit();
        let inner = width.saturating_sub(4).max(1);
        if let Some(diff) = diff_of(call) {
            return Self::first(text::diff(diff, inner, theme), limit, theme);
        }
        // Wrap the reason instead of truncating it, so that the user can read all of it. It is
        // rarely longer than a few lines.
        if call.status == ToolStatus::Blocked {
            let rows = text::plain(&call.text, inner, theme.muted);
            return Self::first(rows, limit.max(MAX_REASON_ROWS), theme);
        }
        if let Some(failed) = call.failed_command() {
            return Self::last(&failed.output, inner, theme);
        }
        let count = call.text.lines().count();
        // For a file, the number of lines is more useful than the first line.
        let shown = if limit == 1 && count > 1 { 0 } else { limit };
        let lines = call.text.lines().take(shown);
        let lines = lines.chain(call.images.iter().map(String::as_str));
        let lines: Vec<String> = lines.map(|line| line.replace('\t', "    ")).collect();
        let is_cut = |line: &String| text::width(line) > usize::from(inner);
        Self {
            is_cut: lines.iter().any(is_cut),
            rows: lines
                .iter()
                .map(|line| output_line(line, width, theme))
                .collect(),
            hidden: count.saturating_sub(shown),
        }
    }

    fn first(rows: Vec<Line<'static>>, limit: usize, theme: &Theme) -> Self {
        Self {
            hidden: rows.len().saturating_sub(limit),
            rows: rows
                .into_iter()
                .take(limit)
                .map(|row| with_edge(row, theme))
                .collect(),
            is_cut: false,
        }
    }

    /// Returns the last rows. They are wrapped, because an error message is often longer than a
    /// line.
    fn last(output: &[&str], inner: u16, theme: &Theme) -> Self {
        let mut shown = VecDeque::new();
        let mut hidden = output.len();
        for line in output.iter().rev() {
            let rows = text::plain(line, inner, theme.muted);
            if shown.len() + rows.len() > MAX_TAIL_ROWS && !shown.is_empty() {
                break;
            }
            hidden -= usize::from(rows.len() <= MAX_TAIL_ROWS);
            // Show the end of a very long line.
            for row in rows.into_iter().rev().take(MAX_TAIL_ROWS) {
                shown.push_front(with_edge(row, theme));
            }
        }
        Self {
            rows: shown.into(),
            hidden,
            is_cut: false,
        }
    }
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
    let failed = call.failed_command();
    let verdict = match &failed {
        Some(failed) if !failed.end.is_empty() => failed.end,
        _ => verdict,
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
    Line::styled(text::fit(&format!("{EDGE}{line}"), width), theme.muted)
}

fn with_edge(line: Line<'static>, theme: &Theme) -> Line<'static> {
    let mut spans = vec![Span::styled(EDGE, theme.muted)];
    spans.extend(line.spans);
    Line::from(spans).style(line.style)
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
    if matches!(name, "grep" | "find")
        && let Some(search) = search(args)
    {
        return search;
    }
    let main = match name {
        "bash" | SHELL => "command",
        "read" | "write" | "edit" => "path",
        "skill" => "name",
        "background" => "id",
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

/// Summarises a search: the pattern, the path, and the glob that limits the files.
fn search(args: &Object) -> Option<String> {
    let text = |name: &str| args.get(name).and_then(Value::as_str);
    let mut search = clean::line(text("pattern")?);
    search.truncate(search.floor_char_boundary(MAX_BYTES));
    if let Some(path) = text("path") {
        search.push_str(&format!(" in {}", clean::line(&short(path))));
    }
    if let Some(glob) = text("glob") {
        search.push_str(&format!(" ({})", clean::line(glob)));
    }
    Some(search)
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Ctrl+o must unfold exactly the calls that show the hint.
    #[test]
    fn a_call_is_folded_if_its_output_is_not_complete() {
        let words = "word ".repeat(12);
        let wrapped = [words.trim_end(); 4].join("\n");
        for width in [24, 31, 80] {
            for (status, text) in [
                (ToolStatus::Failed, wrapped.as_str()),
                (ToolStatus::Failed, "a\nb"),
                (ToolStatus::Failed, ""),
                (ToolStatus::Failed, &words.repeat(20)),
                (ToolStatus::Blocked, &words.repeat(20)),
                (ToolStatus::Blocked, "a\nb\nc\nd\ne\nf\ng"),
                (ToolStatus::Completed, "1\n2\n3\n4\n5\n6\n7"),
                (ToolStatus::Completed, "1\n2\n3\n4\n5\n6"),
            ] {
                let call = FinishedCall {
                    name: "bash".to_owned(),
                    args: Object::new(),
                    extension: None,
                    status: status.clone(),
                    text: text.to_owned(),
                    images: Vec::new(),
                };
                let theme = Theme::plain();
                let texts = |lines: Vec<Line<'_>>| -> Vec<String> {
                    lines.iter().map(ToString::to_string).collect()
                };
                let shown = texts(finished(&call, width, &theme));
                let says_so = shown.iter().any(|it| it.contains("ctrl+o"));
                let full = texts(unfolded(&call, width, &theme));
                assert_eq!(is_folded(&call, width, &theme), says_so, "{width} {text}");
                assert_eq!(full != shown, says_so, "{width} {text}");
            }
        }
    }

    #[test]
    fn the_main_arguments_are_shown_on_one_line() {
        for (name, args, expected) in [
            ("bash", json!({"command": "a\nb"}), "a ⏎ b"),
            ("read", json!({"path": "a.txt", "limit": 3}), "a.txt"),
            ("grep", json!({"pattern": "x+"}), "x+"),
            (
                "grep",
                json!({"pattern": "x+", "path": "src", "glob": "*.rs"}),
                "x+ in src (*.rs)",
            ),
            ("find", json!({"pattern": "*\u{1b}[2J.rs"}), "*.rs"),
            (
                "background",
                json!({"id": "bg-1", "action": "kill"}),
                "bg-1",
            ),
            // An extension's tool can have the name of a built-in one.
            ("grep", json!({"query": "x"}), r#"{"query":"x"}"#),
            ("weather", json!({"city": "Berlin"}), r#"{"city":"Berlin"}"#),
            ("weather", json!({}), ""),
        ] {
            let args = args.as_object().expect("an object");
            assert_eq!(summary(name, args), expected, "{name}");
        }
    }
}
