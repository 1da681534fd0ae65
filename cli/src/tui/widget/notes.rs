//! Notes from extensions, wrapped, and prefixed with the extension's name in brackets.

use ratatui::text::{Line, Span};
use zot_protocol::NoteLevel;

use crate::tui::{
    state::{Note, Notes},
    text,
    theme::Theme,
};

/// Maximum number of rows of one note. The log has the whole text.
const MAX_ROWS: usize = 3;

/// Returns the latest notes that fit, and the number of earlier notes.
pub(crate) fn lines(notes: &Notes, width: u16, room: usize, theme: &Theme) -> Vec<Line<'static>> {
    if room == 0 {
        return Vec::new();
    }
    let rows: Vec<Vec<Line<'static>>> = notes
        .shown()
        .iter()
        .map(|it| note_rows(it, width, theme))
        .collect();
    // Returns how many of the latest notes fit into this many rows, but at least one.
    let fitting = |room: usize| {
        let mut used = 0;
        let fits = rows.iter().rev().take_while(|rows| {
            used += rows.len();
            used <= room
        });
        fits.count().max(1).min(rows.len())
    };
    let mut counts: Vec<String> = notes
        .skipped()
        .iter()
        .map(|(extension, count)| format!("[{extension}] {count} earlier"))
        .collect();
    let mut shown = fitting(room.saturating_sub(counts.len()));
    if shown < rows.len() {
        shown = fitting(room - 1);
        let hidden = (rows.len() - shown) as u64 + total(notes);
        counts = vec![format!("{hidden} earlier")];
    }
    let first = rows.len() - shown;
    let counts = counts
        .iter()
        .map(|text| Line::styled(text::fit(&format!("  {text}"), width), theme.muted));
    let notes = rows.into_iter().skip(first).flatten();
    let mut lines: Vec<Line<'static>> = counts.chain(notes).collect();
    let over = lines.len().saturating_sub(room);
    lines.drain(..over);
    lines
}

fn total(notes: &Notes) -> u64 {
    notes.skipped().iter().map(|(_, count)| count).sum()
}

fn note_rows(note: &Note, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let (mark, style) = match note.level {
        NoteLevel::Success => ("✓", theme.accent),
        NoteLevel::Warn => ("!", theme.strong),
        NoteLevel::Error => ("✗", theme.error),
        _ => ("·", theme.muted),
    };
    let plain = if note.level == NoteLevel::Error {
        theme.error
    } else {
        theme.muted
    };
    let mut spans = Vec::new();
    if let Some(extension) = &note.extension {
        spans.push(Span::styled(format!("[{extension}] "), theme.muted));
    }
    spans.push(Span::styled(note.message.clone(), plain));
    let mark = Line::from(Span::styled(format!("{mark} "), style));
    let mut rows = text::wrap_between(&Line::from(spans), width, &mark, &Line::from("  "));
    if rows.len() > MAX_ROWS {
        rows.truncate(MAX_ROWS);
        let last = rows.pop().unwrap_or_default();
        let cut = Line::from([last.spans, vec![Span::styled(" …", plain)]].concat());
        rows.push(text::fit_line(&cut, width));
    }
    rows
}
