//! `zot ext list`: a table with details below each row.

use zot_host::{
    extension::{PermissionReport, discover::escape},
    home::Home,
};

use zot_process::Support;
use zot_protocol::Config;

use crate::{output::Style, package::installed::Installed, registration_summary, tui::text};

const HEADINGS: [&str; 5] = ["NAME", "VERSION", "SCOPE", "STATE", "SOURCE"];
/// Shown for a missing value.
const NONE: &str = "–";
/// The space between columns.
const GAP: &str = "  ";

/// Formats the table, fitted to `columns` if given.
pub(super) fn of(
    all: &[Installed],
    home: &Home,
    config: &Config,
    columns: Option<usize>,
) -> String {
    let style = Style::of_stdout();
    let rows: Vec<[String; 5]> = all.iter().map(row).collect();
    let mut widths = HEADINGS.map(str::len);
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = text::width(cell).max(*width);
        }
    }
    // Limit the version, which is free text, to leave room for the name and the state.
    widths[1] = widths[1].min(16);
    let fit = |text: &str| match columns {
        Some(columns) => text::fit(text, u16::try_from(columns).unwrap_or(u16::MAX)),
        None => text.to_owned(),
    };
    // If a source is too long for its column, show each source on its own line. Truncating a source
    // would remove the commit at its end.
    let in_column = columns.is_none_or(|columns| {
        let mut lines = rows.iter().map(|row| line(row, &widths));
        lines.all(|line| text::width(&line) <= columns)
    });
    let headings = HEADINGS.map(ToOwned::to_owned);
    let shown = |row: &[String; 5]| {
        let [first @ .., _] = row;
        if in_column {
            line(row, &widths)
        } else {
            line(first, &widths)
        }
    };
    let mut table = format!("{}\n", style.muted(fit(&shown(&headings))));
    for (it, row) in all.iter().zip(&rows) {
        table.push_str(&format!("{}\n", fit(&shown(row))));
        let [.., source] = row;
        let source = Some(format!("from {source}")).filter(|_| !in_column && source != NONE);
        for detail in source.into_iter().chain(details(it, home, config)) {
            let room = columns.map(|columns| columns.saturating_sub(GAP.len()));
            for line in wrapped(&detail, room) {
                let line = fit(&format!("{GAP}{line}"));
                table.push_str(&format!("{}\n", style.muted(line)));
            }
        }
    }
    table
}

fn row(it: &Installed) -> [String; 5] {
    let mut state = it.state.word().to_owned();
    if it.is_changed() == Some(true) {
        state.push_str(", changed");
    }
    let version = it
        .manifest
        .as_ref()
        .and_then(|manifest| manifest.version.as_deref())
        .unwrap_or(NONE);
    let source = match (&it.entry, it.link_target()) {
        (Some(entry), _) => entry.source.to_string(),
        (None, Some(target)) => format!("link to {}", escape::path(&target)),
        (None, None) => NONE.to_owned(),
    };
    [
        escape::text(it.name()),
        escape::text(version),
        it.store.scope.to_string(),
        state,
        source,
    ]
}

fn line(cells: &[String], widths: &[usize]) -> String {
    let mut line = String::new();
    for (index, (cell, width)) in cells.iter().zip(widths).enumerate() {
        if index + 1 == cells.len() {
            line.push_str(cell);
        } else {
            let cell = text::fit(cell, u16::try_from(*width).unwrap_or(u16::MAX));
            let space = " ".repeat(width - text::width(&cell));
            line.push_str(&format!("{cell}{space}{GAP}"));
        }
    }
    line
}

fn details(it: &Installed, home: &Home, config: &Config) -> Vec<String> {
    let mut details = Vec::new();
    if let Some(reason) = it.state.reason() {
        let reason = reason.lines().next().unwrap_or_default();
        details.push(format!("! {}", escape::text(reason)));
    }
    let audited = it.audited(config);
    if !audited.is_empty() {
        let events = audited.join(", ");
        details.push(format!(
            "! audit mode: its answers are not applied ({events})"
        ));
    }
    let manifest = it.manifest.as_ref();
    if let Some(description) = manifest.and_then(|manifest| manifest.description.as_ref()) {
        details.push(escape::text(description));
    }
    if let Some(manifest) = manifest {
        let report = PermissionReport::of(manifest, Support::probe());
        details.push(match &report.declared {
            Some(_) => format!("access: {}", escape::text(&report.to_string())),
            None => "access: unrestricted (declares no permissions)".to_owned(),
        });
    }
    if let Some((path, owner)) = it.separate_data(home) {
        let path = escape::path(&path);
        details.push(format!(
            "data: {path} (the default directory belongs to {owner})"
        ));
    }
    let known = it.last_known(home);
    details.extend(known.as_ref().and_then(registration_summary::one_line));
    details
}

/// Wraps text to a few lines. The last line may be longer than `columns`.
fn wrapped(detail: &str, columns: Option<usize>) -> Vec<String> {
    const MAX_LINES: usize = 4;
    let Some(columns) = columns else {
        return vec![detail.to_owned()];
    };
    let mut lines = vec![String::new()];
    for word in detail.split(' ') {
        let count = lines.len();
        let line = lines.last_mut().expect("`lines` is never empty");
        let fits = text::width(line) + 1 + text::width(word) <= columns;
        if line.is_empty() || fits || count == MAX_LINES {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        } else {
            lines.push(format!("{GAP}{word}"));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn long_text_wraps() {
        assert_eq!(wrapped("one two three", None), ["one two three"]);
        assert_eq!(wrapped("one two three", Some(7)), ["one two", "  three"]);
        let lines = wrapped("a b c d e f g h", Some(3));
        assert_eq!(lines, ["a b", "  c", "  d", "  e f g h"]);
    }
}
