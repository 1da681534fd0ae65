//! The dialog that asks whether to trust a project extension.

use std::time::Instant;

use ratatui::text::Line;

use super::{answers, rule};
use crate::{
    clean,
    tui::{state::TrustDialog, text, theme::Theme},
};

const WARNING: &str = "It comes with this project and will run as a program on your machine.";
const ANSWERS: [(&str, &str); 2] = [("n", "no, do not start it"), ("y", "yes, always start it")];

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
    for (label, text) in [
        ("path   ", &dir),
        ("command", &extension.command),
        ("access ", &extension.permissions),
        ("reason ", &extension.why),
    ] {
        about.push((format!("{label} {}", clean::line(text)), theme.muted));
    }
    let fits = room.saturating_sub(ANSWERS.len() + 3);
    let about = about.iter().flat_map(|(text, style)| {
        let line = Line::styled(text.clone(), *style);
        text::wrap_between(&line, width, &Line::from("  "), &Line::from("          "))
    });
    lines.extend(about.take(fits));
    lines.push(Line::default());
    let accepts = trust.delay.is_over(now);
    lines.extend(answers(&ANSWERS, trust.selected, accepts, width, theme));
    lines.push(rule::plain(width, theme));
    lines
}
