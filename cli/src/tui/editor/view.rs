//! What is written, as rows of the screen.

use std::ops::Range;

use ratatui::text::{Line, Span};

use super::chips::Chips;
use crate::tui::{
    text::{clusters, rows, width},
    theme::Theme,
};

/// The columns between two tab stops.
const TAB: usize = 4;

/// The text as it is shown at some width: chips as their labels, tabs as spaces, a secret as dots.
pub(super) struct View {
    shown: String,
    /// Where each character begins: in what is shown, and in what is written.
    places: Vec<(usize, usize)>,
    /// What is shown of chips.
    chips: Vec<Range<usize>>,
    rows: Vec<Row>,
    columns: usize,
}

struct Row {
    /// Places from here on are in this row, though what is there may not be shown: an indent without room.
    from: usize,
    shown: Range<usize>,
}

impl View {
    pub(super) fn of(written: &str, chips: &Chips, is_secret: bool, columns: u16) -> Self {
        // The cursor needs a place behind a full row.
        let columns = usize::from(columns).saturating_sub(1).max(1);
        let mut view = Self {
            shown: String::with_capacity(written.len()),
            places: Vec::new(),
            chips: Vec::new(),
            rows: Vec::new(),
            columns,
        };
        let mut start = 0;
        for line in written.split('\n') {
            view.line(start, line, chips, is_secret);
            start += line.len() + 1;
        }
        view
    }

    fn line(&mut self, start: usize, line: &str, chips: &Chips, is_secret: bool) {
        let from = self.shown.len();
        let mut column = 0;
        for (at, cluster, columns) in clusters(line) {
            let here = self.shown.len();
            self.places.push((here, start + at));
            let label = cluster.chars().next().and_then(|char| chips.label(char));
            if let Some(label) = label {
                self.shown.push_str(&label);
                self.chips.push(here..self.shown.len());
                column += width(&label);
            } else if is_secret || columns > 0 && self.columns == 1 && !cluster.is_ascii() {
                self.shown.push('•');
            } else if cluster == "\t" {
                let spaces = TAB - column % TAB;
                self.shown.extend(std::iter::repeat_n(' ', spaces));
                column += spaces;
            } else {
                self.shown.push_str(cluster);
                column += columns;
            }
        }
        self.places.push((self.shown.len(), start + line.len()));
        let line = &self.shown[from..];
        let broken = rows(line, self.columns, self.columns);
        self.rows
            .extend(broken.into_iter().enumerate().map(|(number, row)| Row {
                from: if number == 0 { from } else { from + row.start },
                shown: from + row.start..from + row.end,
            }));
        // The end of a line is a place of its own, which the next line does not begin at.
        self.shown.push('\n');
    }

    pub(super) fn height(&self) -> usize {
        self.rows.len()
    }

    /// The column and the row of a place in what is written.
    pub(super) fn cursor(&self, written: usize) -> (usize, usize) {
        let at = self.places.partition_point(|(_, place)| *place < written);
        let shown = self.places.get(at).map_or(0, |(shown, _)| *shown);
        let row = self
            .rows
            .partition_point(|row| row.from <= shown)
            .saturating_sub(1);
        let start = self.rows.get(row).map_or(0, |row| row.shown.start);
        let column = width(&self.shown[start..shown.max(start)]);
        (column.min(self.columns), row)
    }

    /// The place in what is written that is nearest to a column of a row.
    pub(super) fn place(&self, column: usize, row: usize) -> usize {
        let Some(this) = self.rows.get(row) else {
            return 0;
        };
        let end = self.rows.get(row + 1).map_or(usize::MAX, |next| next.from);
        let first = self
            .places
            .partition_point(|(shown, _)| *shown < this.shown.start);
        let mut nearest = None;
        let mut used = 0;
        let mut before = this.shown.start;
        for (shown, written) in self.places[first..]
            .iter()
            .take_while(|(shown, _)| *shown < end)
        {
            used += width(&self.shown[before..*shown]);
            before = *shown;
            if nearest.is_some() && used > column {
                break;
            }
            nearest = Some(*written);
        }
        nearest.unwrap_or(0)
    }

    /// Some of the rows.
    pub(super) fn lines(&self, which: Range<usize>, theme: &Theme) -> Vec<Line<'static>> {
        let rows = &self.rows[which.start.min(self.rows.len())..which.end.min(self.rows.len())];
        rows.iter()
            .map(|row| self.draw(&row.shown, theme))
            .collect()
    }

    fn draw(&self, row: &Range<usize>, theme: &Theme) -> Line<'static> {
        let mut spans = Vec::new();
        let mut at = row.start;
        let mut push = |range: Range<usize>, style| {
            if !range.is_empty() {
                spans.push(Span::styled(self.shown[range].to_owned(), style));
            }
        };
        for chip in self
            .chips
            .iter()
            .filter(|chip| chip.start < row.end && chip.end > row.start)
        {
            let from = chip.start.max(row.start);
            let to = chip.end.min(row.end);
            push(at..from, theme.text);
            push(from..to, theme.accent);
            at = to;
        }
        push(at..row.end, theme.text);
        Line::from(spans)
    }
}
