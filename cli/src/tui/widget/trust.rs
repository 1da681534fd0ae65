//! The trust dialog for an extension that comes with the project.

use std::time::Instant;

use ratatui::text::{Line, Span};

use super::rule;
use crate::{
    clean,
    tui::{state::TrustDialog, text, theme::Theme},
};

const WARNING: &str = "It comes with this project and is a program that runs on your machine.";
const ANSWERS: [&str; 2] = ["no, do not start it", "yes, always start it"];

pub(crate) fn lines(
    trust: &TrustDialog,
    now: Instant,
    width: u16,
    room: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let Some(extension) = trust.open.front() else {
        return Vec::new();
    };
    let title = format!("Start the extension {}?", clean::line(&extension.name));
    let remark = match trust.open.len() {
        0 | 1 => String::new(),
        more => format!("{} more", more - 1),
    };
    let mut lines = vec![rule::titled(&title, &remark, width, theme)];
    let mut about = vec![(WARNING.to_owned(), theme.text)];
    if !extension.description.is_empty() {
        about.push((clean::line(&extension.description), theme.text));
    }
    let dir = zot_host::extension::discover::escape::path(&extension.dir);
    about.extend([
        (format!("path    {dir}"), theme.muted),
        (
            format!("command {}", clean::line(&extension.command)),
            theme.muted,
        ),
        (
            format!("access  {}", clean::line(&extension.permissions)),
            theme.muted,
        ),
        (
            format!("reason  {}", clean::line(&extension.why)),
            theme.muted,
        ),
    ]);
    let fits = room.saturating_sub(ANSWERS.len() + 3);
    let about = about.iter().flat_map(|(text, style)| {
        let line = Line::styled(text.clone(), *style);
        text::wrap_between(&line, width, &Line::from("  "), &Line::from("          "))
    });
    lines.extend(about.take(fits));
    lines.push(Line::default());
    for (at, answer) in ANSWERS.iter().enumerate() {
        if now < trust.answerable_from {
            lines.push(Line::default());
            continue;
        }
        let chosen = at == trust.selected;
        let line = Line::from(vec![
            Span::styled(if chosen { "› " } else { "  " }, theme.accent),
            Span::styled(["n  ", "y  "][at], theme.muted),
            Span::styled(*answer, if chosen { theme.selected } else { theme.text }),
        ]);
        lines.push(text::fit_line(&line, width));
    }
    lines.push(rule::plain(width, theme));
    lines
}
