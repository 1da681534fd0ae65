//! The dialog that asks for confirmation of a tool call, with a preview of the arguments.

use std::time::Instant;

use ratatui::text::{Line, Span};
use serde_json::Value;

use super::{answers, rule};
use crate::{
    clean,
    tui::{state::Question, text, theme::Theme, update::ANSWERS},
};

/// Maximum number of bytes to show per argument.
const MAX_BYTES: usize = 16 * 1024;

pub(crate) fn lines(
    question: &Question,
    others: usize,
    now: Instant,
    width: u16,
    room: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let tool = clean::line(&question.grant.tool);
    let title = match &question.grant.caller {
        Some(extension) => format!("Let {} run {tool}?", clean::line(extension)),
        None => format!("Run {tool}?"),
    };
    let remark = match others {
        0 => String::new(),
        others => format!("{others} more"),
    };
    let mut lines = vec![rule::titled(&title, &remark, width, theme)];
    let body = preview(question, width, theme);
    let roomy = room >= ANSWERS.len() + 6;
    let fits = room
        .saturating_sub(ANSWERS.len() + 2 + usize::from(roomy))
        .max(1);
    let hidden = body.len().saturating_sub(fits);
    let shown = if hidden > 0 {
        fits.saturating_sub(1)
    } else {
        fits
    };
    lines.extend(body.into_iter().take(shown));
    if hidden > 0 {
        let text = format!("  … {} more lines", hidden + 1);
        lines.push(Line::styled(text::fit(&text, width), theme.muted));
    }
    if roomy {
        lines.push(Line::default());
    }
    let accepts = now >= question.answerable_from;
    lines.extend(answers(&ANSWERS, question.selected, accepts, width, theme));
    lines.push(rule::plain(width, theme));
    lines
}

/// Returns each argument below its name. Strings are shown as they are, and other values as JSON.
fn preview(question: &Question, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for (name, value) in &question.args {
        let name = clean::line(name);
        let value = match value {
            Value::String(text) => clean::text(&text[..text.floor_char_boundary(MAX_BYTES)]),
            value => {
                let json = clean::json(value);
                json[..json.floor_char_boundary(MAX_BYTES)].to_owned()
            }
        };
        if value.contains('\n') {
            lines.push(Line::styled(
                text::fit(&format!("  {name}"), width),
                theme.muted,
            ));
            let indent = Line::from("    ");
            for line in value.lines() {
                lines.extend(text::wrap_between(
                    &Line::styled(line.replace('\t', "    "), theme.text),
                    width,
                    &indent,
                    &indent,
                ));
            }
        } else {
            let line = Line::from(vec![
                Span::styled(format!("{name}  "), theme.muted),
                Span::styled(value.replace('\t', " "), theme.text),
            ]);
            lines.extend(text::wrap_between(
                &line,
                width,
                &Line::from("  "),
                &Line::from("    "),
            ));
        }
    }
    if lines.is_empty() {
        lines.push(Line::styled("  no arguments", theme.muted));
    }
    lines
}
