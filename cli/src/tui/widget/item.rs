//! Finished items, as printed to the scrollback.

use ratatui::text::{Line, Span};

use super::tool;
use crate::clean;
use crate::tui::{
    state::{Item, Level},
    text,
    theme::Theme,
};

/// Indentation of the model's text.
pub(crate) const INDENT: u16 = 2;

/// Returns the width of the model's text.
pub(crate) fn inner(width: u16) -> u16 {
    if width > 20 { width - INDENT } else { width }
}

/// Indents lines of the model's text.
pub(crate) fn indented(lines: Vec<Line<'static>>, width: u16) -> Vec<Line<'static>> {
    if inner(width) == width {
        return lines;
    }
    let indent = |line: Line<'static>| {
        let mut spans = vec![Span::raw("  ")];
        spans.extend(line.spans);
        Line::from(spans).style(line.style)
    };
    lines.into_iter().map(indent).collect()
}

/// Returns the lines of an item, without a blank line before it.
pub(crate) fn lines(item: &Item, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    match item {
        Item::Banner(lines) => banner(lines, width, theme),
        Item::User(text) => user(text, width, theme),
        Item::Answer(text) => indented(text::markdown(text, inner(width), theme), width),
        Item::Streamed { lines, .. } => indented(lines.clone(), width),
        Item::Thought(thought) => vec![super::thought::folded(thought, width, theme)],
        Item::ThoughtUnfolded(thought, place) => {
            super::thought::unfolded(thought, *place, width, theme)
        }
        Item::Tool(call) => tool::finished(call, width, theme),
        Item::ToolUnfolded(call) => tool::unfolded(call, width, theme),
        Item::Display { extension, text } => {
            let head = Line::styled(text::fit(&format!("◆ {extension}"), width), theme.accent);
            let body = text::plain(text, inner(width), theme.text);
            std::iter::once(head).chain(indented(body, width)).collect()
        }
        Item::Notice { level, text } => notice(*level, text, width, theme),
        Item::Listing { title, rows } => listing(title, rows, width, theme),
        Item::Summary(summary) => {
            let head = Line::styled("– compacted to this summary", theme.muted);
            let body = text::plain(summary, inner(width), theme.muted);
            std::iter::once(head).chain(indented(body, width)).collect()
        }
        Item::Divider(title) => vec![super::rule::titled("", title, width, theme)],
    }
}

fn banner(lines: &[String], width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mut banner = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let style = if at == 0 { theme.strong } else { theme.muted };
        banner.extend(text::wrap(&Line::styled(line.clone(), style), width));
    }
    banner
}

fn user(text: &str, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for (at, line) in text::tidy(text).lines().enumerate() {
        let mark = if at == 0 { "› " } else { "  " };
        lines.extend(text::wrap_between(
            &Line::styled(line.to_owned(), theme.strong),
            width,
            &Line::styled(mark, theme.accent),
            &Line::from("  "),
        ));
    }
    lines
}

fn notice(level: Level, text: &str, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let (mark, mark_style, style) = match level {
        Level::Muted => ("– ", theme.muted, theme.muted),
        Level::Done => ("✓ ", theme.accent, theme.text),
        Level::Warning => ("! ", theme.strong, theme.text),
        Level::Error => ("✗ ", theme.error, theme.error),
    };
    let mut lines = Vec::new();
    for (at, line) in text::tidy(text).lines().enumerate() {
        let first = if at == 0 {
            Line::styled(mark, mark_style)
        } else {
            Line::from("  ")
        };
        // The first line is the message; later lines, such as hints, are muted.
        let style = if at == 0 { style } else { theme.muted };
        let line = Line::styled(line.to_owned(), style);
        lines.extend(text::wrap_between(&line, width, &first, &Line::from("  ")));
    }
    lines
}

fn listing(
    title: &str,
    rows: &[(String, String)],
    width: u16,
    theme: &Theme,
) -> Vec<Line<'static>> {
    // A few long names must not push all descriptions to the right.
    let most = usize::from(width) / 3;
    let widths = rows.iter().map(|(name, _)| text::width(name));
    let column = widths.filter(|width| *width <= most).max().unwrap_or(most);
    let indent = Line::from(" ".repeat(column + 4));
    let mut lines = vec![Line::styled(text::fit(title, width), theme.strong)];
    for (name, about) in rows {
        let used = text::width(name);
        let name = Span::styled(format!("  {name}"), theme.accent);
        let pad = column.saturating_sub(used) + 2;
        let first = Line::from(vec![name, Span::raw(" ".repeat(pad))]);
        let about = Line::styled(clean::line(about), theme.text);
        lines.extend(text::wrap_between(&about, width, &first, &indent));
    }
    lines
}
