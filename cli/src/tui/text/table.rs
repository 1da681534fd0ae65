//! Renders tables. Columns are as wide as their content. If the table does not fit, the widest
//! columns shrink first. If it still does not fit, each row becomes a list of its cells.

use pulldown_cmark::Alignment;
use ratatui::text::{Line, Span};

use super::wrap::{wrap, wrap_between};
use crate::tui::theme::Theme;

/// Number of columns between two cells.
const SEPARATOR: usize = 3;
/// Minimum width of a column. A narrower one is unreadable.
const MIN_COLUMN: usize = 6;

type Cell = Vec<Span<'static>>;

/// A table being built. Its first row is the header.
pub(super) struct Table {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    pub(super) fn new(alignments: Vec<Alignment>) -> Self {
        Self {
            alignments,
            rows: Vec::new(),
        }
    }

    /// Starts a row.
    pub(super) fn row(&mut self) {
        self.rows.push(Vec::new());
    }

    /// Adds a cell to the current row.
    pub(super) fn cell(&mut self, cell: Cell) {
        if let Some(row) = self.rows.last_mut() {
            row.push(cell);
        }
    }

    /// Renders the table in at most `room` columns.
    pub(super) fn lines(self, room: usize, theme: &Theme) -> Vec<Line<'static>> {
        let natural: Vec<usize> = (0..self.alignments.len())
            .map(|column| self.cells(column).map(width_of).max().unwrap_or(0).max(1))
            .collect();
        match widths(&natural, room) {
            Some(widths) => self.grid(&widths, theme),
            None => self.records(room, theme),
        }
    }

    fn cells(&self, column: usize) -> impl Iterator<Item = &Cell> {
        self.rows.iter().filter_map(move |row| row.get(column))
    }

    fn grid(self, widths: &[usize], theme: &Theme) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        for (number, row) in self.rows.into_iter().enumerate() {
            let is_head = number == 0;
            let cells: Vec<Vec<Line<'static>>> = widths
                .iter()
                .enumerate()
                .map(|(column, width)| {
                    let mut cell = Line::from(row.get(column).cloned().unwrap_or_default());
                    if is_head {
                        cell = cell.style(theme.strong);
                    }
                    wrap(&cell, u16::try_from(*width).unwrap_or(u16::MAX))
                })
                .collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(0);
            for at in 0..height {
                let mut spans = Vec::new();
                for (column, cell) in cells.iter().enumerate() {
                    if column > 0 {
                        spans.push(Span::styled(" │ ", theme.muted));
                    }
                    let line = cell.get(at).cloned().unwrap_or_default();
                    let is_last = column + 1 == widths.len();
                    align(
                        line,
                        widths[column],
                        self.alignments[column],
                        is_last,
                        &mut spans,
                    );
                }
                lines.push(Line::from(spans));
            }
            if is_head {
                let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.push(Line::from(Span::styled(rule.join("─┼─"), theme.muted)));
            }
        }
        lines
    }

    /// Renders each row as a list of its cells, with the column names as labels.
    fn records(self, room: usize, theme: &Theme) -> Vec<Line<'static>> {
        let mut rows = self.rows.into_iter();
        let head = rows.next().unwrap_or_default();
        let room = u16::try_from(room).unwrap_or(u16::MAX);
        let mut lines = Vec::new();
        let mut is_first = true;
        for row in rows {
            if !std::mem::take(&mut is_first) {
                lines.push(Line::default());
            }
            for (column, cell) in row.into_iter().enumerate() {
                let mut spans: Cell = head.get(column).cloned().unwrap_or_default();
                for span in &mut spans {
                    span.style = span.style.patch(theme.strong);
                }
                if !spans.is_empty() {
                    spans.push(Span::styled(": ", theme.muted));
                }
                spans.extend(cell);
                lines.extend(wrap_between(
                    &Line::from(spans),
                    room,
                    &Line::default(),
                    &Line::from("  "),
                ));
            }
        }
        if is_first {
            let names = head
                .into_iter()
                .flat_map(|cell| cell.into_iter().chain([Span::raw(" ")]));
            lines.extend(wrap(&Line::from(names.collect::<Vec<_>>()), room));
        }
        lines
    }
}

/// Returns the column widths, or `None` if the table does not fit.
fn widths(natural: &[usize], room: usize) -> Option<Vec<usize>> {
    let frame = SEPARATOR * natural.len().saturating_sub(1);
    let room = room.checked_sub(frame)?;
    let needed: usize = natural.iter().map(|width| (*width).min(MIN_COLUMN)).sum();
    if needed > room {
        return None;
    }
    // Limit the widest columns to a common width, so that they share the space that narrower
    // columns do not need.
    let mut sorted = natural.to_vec();
    sorted.sort_unstable();
    let mut left = room;
    let mut most = usize::MAX;
    for (at, width) in sorted.iter().enumerate() {
        let share = left / (sorted.len() - at);
        if *width > share {
            most = share;
            break;
        }
        left -= width;
    }
    Some(natural.iter().map(|width| (*width).min(most)).collect())
}

fn width_of(cell: &Cell) -> usize {
    cell.iter().map(Span::width).sum()
}

/// Adds one line of a cell, padded to the column's width. The last column has no padding at its
/// end.
fn align(
    line: Line<'static>,
    width: usize,
    alignment: Alignment,
    is_last: bool,
    spans: &mut Vec<Span<'static>>,
) {
    let free = width.saturating_sub(line.width());
    let before = match alignment {
        Alignment::Right => free,
        Alignment::Center => free / 2,
        Alignment::Left | Alignment::None => 0,
    };
    if before > 0 {
        spans.push(Span::raw(" ".repeat(before)));
    }
    spans.extend(line.spans);
    if free > before && !is_last {
        spans.push(Span::raw(" ".repeat(free - before)));
    }
}
