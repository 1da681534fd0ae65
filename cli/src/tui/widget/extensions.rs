//! The `/ext` dialog: the extensions in load order, and the details and log of the selected one.

use std::time::Duration;

use ratatui::text::{Line, Span};
use zot_protocol::rpc::ExtensionState;

use super::{rule, selectable, window};
use crate::{
    clean, output,
    tui::{state::ExtensionView, text, theme::Theme},
};

const KEYS: &str = "↑↓ move · esc close";
/// Number of log lines to show.
const LOG_LINES: usize = 5;
/// Minimum height at which the columns have labels.
const MIN_ROOM_FOR_HEADING: usize = 10;
/// Width of the column with response times.
const TIMES: usize = 26;

pub(crate) fn lines(
    views: &[ExtensionView],
    selected: usize,
    width: u16,
    room: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let ready = views
        .iter()
        .filter(|it| it.info.state == ExtensionState::Ready);
    let remark = format!("{}/{} ready", ready.count(), views.len());
    let mut lines = vec![rule::titled("Extensions", &remark, width, theme)];
    if views.is_empty() {
        let none = text::fit(
            "  no extensions; run zot ext install, or pass --ext DIR",
            width,
        );
        lines.push(Line::styled(none, theme.muted));
    }
    let column = views
        .iter()
        .map(|it| text::width(&clean::line(&it.info.name)));
    let column = column.max().unwrap_or(0).clamp(4, 24);
    let details = detail(views.get(selected), width, theme);
    let has_heading = !views.is_empty() && room >= MIN_ROOM_FOR_HEADING;
    if has_heading {
        lines.push(text::fit_line(&heading(column, theme), width));
    }
    let fits = room
        .saturating_sub(3 + usize::from(has_heading) + details.len())
        .max(1);
    for index in window(selected, views.len(), fits) {
        let line = overview(&views[index], index == selected, column, theme);
        lines.push(text::fit_line(&line, width));
    }
    lines.extend(details);
    lines.truncate(room.saturating_sub(2).max(1));
    lines.push(Line::styled(text::fit(KEYS, width), theme.muted));
    lines.push(rule::plain(width, theme));
    lines
}

/// Returns the labels of the columns in [`overview`].
fn heading(column: usize, theme: &Theme) -> Line<'static> {
    let (name, state, time, version) = ("name", "state", "response, median / worst", "version");
    let column = column + 2;
    let labels = format!("    {name:column$}{state:<9}{time:<TIMES$}{version}");
    Line::styled(labels, theme.muted)
}

fn overview(view: &ExtensionView, chosen: bool, column: usize, theme: &Theme) -> Line<'static> {
    let info = &view.info;
    let (mark, state, style) = match info.state {
        ExtensionState::Ready => ("✓", "ready", theme.accent),
        ExtensionState::Starting => ("…", "starting", theme.muted),
        ExtensionState::Failed => ("✗", "failed", theme.error),
        _ => ("–", "unknown", theme.muted),
    };
    let name = clean::line(&info.name);
    let pad = column.saturating_sub(text::width(&name)) + 2;
    let mut rest = format!("{:pad$}{state:<9}", "");
    let times = match view.stats.median() {
        Some(median) => format!("{} / {}", time(median), time(view.stats.worst)),
        None => "–".to_owned(),
    };
    rest.push_str(&format!("{times:<TIMES$}"));
    let version = clean::line(&info.version);
    rest.push_str(if version.is_empty() { "–" } else { &version });
    if view.stats.failed > 0 {
        let failures = output::counted(view.stats.failed, "failure");
        rest.push_str(&format!("  {failures}"));
    }
    let [cursor, name] = selectable(name, chosen, theme);
    let mark = Span::styled(format!("{mark} "), style);
    Line::from(vec![cursor, mark, name, Span::styled(rest, theme.muted)])
}

fn detail(view: Option<&ExtensionView>, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let Some(view) = view else {
        return Vec::new();
    };
    let info = &view.info;
    let mut lines = vec![Line::default()];
    let mut add = |label: &str, text: String, style| {
        if !text.is_empty() {
            let line = Line::from(vec![
                Span::styled(format!("  {label:<11}"), theme.muted),
                Span::styled(clean::line(&text), style),
            ]);
            lines.push(text::fit_line(&line, width));
        }
    };
    add("error", info.error.clone().unwrap_or_default(), theme.error);
    let commands: Vec<String> = info.commands.iter().map(|it| format!("/{it}")).collect();
    add("commands", commands.join(" "), theme.text);
    add("tools", info.tools.join(" "), theme.text);
    add("intercepts", info.intercepts.join(" "), theme.text);
    add("audit", info.audited.join(" "), theme.strong);
    if let Some(median) = view.stats.median() {
        let text = format!(
            "median {} · worst {} · requests {} · blocked {} · rewritten {} · failed {}",
            time(median),
            time(view.stats.worst),
            view.stats.asked,
            view.stats.blocked,
            view.stats.rewritten,
            view.stats.failed
        );
        add("latency", text, theme.text);
    }
    let log = &view.log[view.log.len().saturating_sub(LOG_LINES)..];
    for (at, line) in log.iter().enumerate() {
        let label = if at == 0 { "log" } else { "" };
        add(label, line.clone(), theme.muted);
    }
    lines
}

/// Formats a duration as `0.4 ms`, `12 ms` or `1.5 s`.
fn time(time: Duration) -> String {
    let micros = time.as_micros();
    match micros {
        0..10_000 => format!("{}.{} ms", micros / 1_000, micros % 1_000 / 100),
        10_000..1_000_000 => format!("{} ms", micros / 1_000),
        _ => format!("{}.{} s", micros / 1_000_000, micros % 1_000_000 / 100_000),
    }
}
