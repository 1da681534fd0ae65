//! The dialog that asks for confirmation of a tool call. The user can see everything about the
//! call: long content scrolls, and characters that a terminal would not show are escaped.

use std::time::Instant;

use ratatui::text::{Line, Span};
use serde_json::Value;
use zot_host::Preview;

use super::{answers, rule, window};
use crate::{
    clean,
    tui::{
        state::{Answer, AskedCall, Body, Question},
        text,
        theme::Theme,
    },
};

/// Minimum number of rows for the body, the two rules and the line below the body. With fewer, only
/// some of the answers are shown.
const MIN_REST: usize = 7;

/// The part of the body that is visible.
pub(crate) struct Visible {
    body: Body,
    /// Number of rows for the body.
    pub(crate) rows: usize,
    /// Number of rows for the answers.
    answers: usize,
}

impl Visible {
    /// Returns the scroll position at which the end of the body is visible.
    pub(crate) fn last_scroll(&self) -> usize {
        self.body.len().saturating_sub(self.rows)
    }
}

/// Divides the rows of the dialog between the body and the answers.
pub(crate) fn visible(question: &Question, width: u16, rows: usize, theme: &Theme) -> Visible {
    // Below the answers, there are a blank line and a line about where rules are saved.
    let count = question.answers.len() + 2;
    let answers = if rows >= count + MIN_REST {
        count
    } else {
        (rows.saturating_sub(3) / 2).clamp(1, count)
    };
    Visible {
        body: question.body(width, || body(&question.call, width, theme)),
        // The other three rows are two rules and the line below the body.
        rows: rows.saturating_sub(answers + 3).max(1),
        answers,
    }
}

pub(crate) fn lines(
    question: &Question,
    others: usize,
    now: Instant,
    width: u16,
    rows: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let tool = clean::line(&question.call.tool);
    let title = match &question.call.caller {
        Some(extension) => format!("Let {} run {tool}?", clean::line(extension)),
        None => format!("Run {tool}?"),
    };
    let remark = match others {
        0 => String::new(),
        others => format!("{others} more"),
    };
    let visible = visible(question, width, rows, theme);
    // The screen may have been resized since the user scrolled.
    let above = question.scroll.min(visible.last_scroll());
    let title = match subject(&question.call).filter(|_| above > 0) {
        Some(subject) => format!("{title} {}", text::fit(&subject, width / 2)),
        None => title,
    };
    let mut lines = vec![rule::titled(&title, &remark, width, theme)];
    lines.extend(visible.body.iter().skip(above).take(visible.rows).cloned());
    let below = visible.last_scroll() - above;
    if visible.last_scroll() > 0 {
        let text = format!("  ↑ {above} above · ↓ {below} below · pgup pgdn home end");
        lines.push(Line::styled(text::fit(&text, width), theme.accent));
    } else {
        lines.push(Line::default());
    }
    lines.extend(choices(question, now, width, theme, visible.answers));
    lines.push(rule::plain(width, theme));
    lines
}

/// Draws the answers, and the line about where rules are saved.
fn choices(
    question: &Question,
    now: Instant,
    width: u16,
    theme: &Theme,
    rows: usize,
) -> Vec<Line<'static>> {
    let keys: Vec<String> = question.answers.iter().map(|it| it.0.to_string()).collect();
    let labels = question.answers.iter().map(|it| it.1.as_str());
    let pairs: Vec<(&str, &str)> = keys.iter().map(String::as_str).zip(labels).collect();
    let accepts = question.delay.is_over(now);
    let mut lines = answers(&pairs, question.selected, accepts, width, theme);
    lines.push(Line::default());
    lines.push(if accepts {
        Line::styled(text::fit(&saves(question), width), theme.muted)
    } else {
        Line::default()
    });
    let shown = window(question.selected, lines.len(), rows);
    lines.drain(shown).collect()
}

/// Returns the file or the start of the command, to show in the title when the user has scrolled
/// past it.
fn subject(call: &AskedCall) -> Option<String> {
    let subject = call.args.get("path").or_else(|| call.args.get("command"));
    let line = subject?.as_str()?.lines().next()?;
    Some(clean::visible(line).replace('\t', " "))
}

/// Returns the line about where the rules of the answers are saved, with the key that changes this.
fn saves(question: &Question) -> String {
    let rules = question.answers.iter();
    let rules = rules.filter(|(_, _, answer)| matches!(answer, Answer::Always(_)));
    let keys: Vec<String> = rules.map(|(key, ..)| key.to_string()).collect();
    let place = if question.saves {
        "all sessions (saved in config.json)"
    } else {
        "this session"
    };
    format!("  s  {} apply to: {place}", keys.join(", "))
}

/// Returns the complete description of a call.
fn body(call: &AskedCall, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if let Some(rule) = &call.rule {
        labelled("rule", &rule.to_string(), width, theme, &mut lines);
    }
    let diff = match &call.preview {
        Some(Preview::Diff(diff)) => Some(diff),
        Some(Preview::Unavailable(why)) => {
            let why = clean::visible(why);
            let room = width.saturating_sub(2).max(1);
            lines.extend(indented(text::plain(&why, room, theme.error)));
            None
        }
        _ => None,
    };
    for (name, value) in &call.args {
        // The diff shows these arguments.
        if diff.is_some() && matches!(name.as_str(), "content" | "edits") {
            continue;
        }
        match value {
            Value::String(text) => labelled(name, text, width, theme, &mut lines),
            value => labelled(name, &clean::pretty_json(value), width, theme, &mut lines),
        }
    }
    match diff {
        Some(diff) if diff.is_empty() => {
            lines.push(Line::styled("  no changes", theme.muted));
        }
        Some(diff) => {
            let room = width.saturating_sub(2).max(1);
            lines.extend(indented(text::diff(&clean::visible(diff), room, theme)));
        }
        None if call.args.is_empty() => lines.push(Line::styled("  no arguments", theme.muted)),
        None => {}
    }
    lines
}

fn indented(lines: Vec<Line<'static>>) -> impl Iterator<Item = Line<'static>> {
    lines.into_iter().map(|line| {
        let mut spans = vec![Span::raw("  ")];
        spans.extend(line.spans);
        Line::from(spans).style(line.style)
    })
}

/// Adds a value with its name: on the same line, or below the name if the value has several lines.
fn labelled(name: &str, value: &str, width: u16, theme: &Theme, lines: &mut Vec<Line<'static>>) {
    let name = clean::visible(name).replace('\n', "\\n");
    let value = clean::visible(value).replace('\t', "    ");
    if value.contains('\n') {
        let name = Line::styled(format!("  {name}"), theme.muted);
        lines.push(text::fit_line(&name, width));
        let indent = Line::from("    ");
        for line in value.split('\n') {
            let line = Line::styled(line.to_owned(), theme.text);
            lines.extend(text::wrap_between(&line, width, &indent, &indent));
        }
    } else {
        let line = Line::from(vec![
            Span::styled(format!("{name}  "), theme.muted),
            Span::styled(value, theme.text),
        ]);
        let (first, rest) = (Line::from("  "), Line::from("    "));
        lines.extend(text::wrap_between(&line, width, &first, &rest));
    }
}
