//! Notes from extensions, one line each, prefixed with the extension's name in brackets.

use ratatui::text::{Line, Span};
use zot_protocol::NoteLevel;

use crate::tui::{
    state::{Note, Notes},
    text,
    theme::Theme,
};

/// Returns the latest notes that fit, and the number of earlier notes.
pub(crate) fn lines(notes: &Notes, width: u16, room: usize, theme: &Theme) -> Vec<Line<'static>> {
    if room == 0 {
        return Vec::new();
    }
    let mut counts: Vec<String> = notes
        .skipped()
        .iter()
        .map(|(extension, count)| format!("[{extension}] {count} earlier"))
        .collect();
    let shown = notes.shown();
    let fits = room.saturating_sub(counts.len());
    let hidden = shown.len().saturating_sub(fits.max(1));
    if hidden > 0 {
        counts = vec![format!("{} earlier", hidden as u64 + total(notes))];
    }
    let fits = room.saturating_sub(counts.len()).max(1);
    let first = shown.len().saturating_sub(fits);
    let counts = counts
        .iter()
        .map(|text| Line::styled(text::fit(&format!("  {text}"), width), theme.muted));
    let notes = shown[first..].iter().map(|it| line(it, width, theme));
    let mut lines: Vec<Line<'static>> = counts.chain(notes).collect();
    let over = lines.len().saturating_sub(room);
    lines.drain(..over);
    lines
}

fn total(notes: &Notes) -> u64 {
    notes.skipped().iter().map(|(_, count)| count).sum()
}

fn line(note: &Note, width: u16, theme: &Theme) -> Line<'static> {
    let (mark, style) = match note.level {
        NoteLevel::Success => ("✓", theme.accent),
        NoteLevel::Warn => ("!", theme.strong),
        NoteLevel::Error => ("✗", theme.error),
        _ => ("·", theme.muted),
    };
    let text = if note.level == NoteLevel::Error {
        theme.error
    } else {
        theme.muted
    };
    let mut spans = vec![Span::styled(format!("{mark} "), style)];
    if let Some(extension) = &note.extension {
        spans.push(Span::styled(format!("[{extension}] "), theme.muted));
    }
    spans.push(Span::styled(note.message.clone(), text));
    text::fit_line(&Line::from(spans), width)
}
