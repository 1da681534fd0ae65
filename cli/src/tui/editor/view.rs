//! Lays out the editor's text in screen rows.

use std::ops::Range;

use ratatui::text::{Line, Span};

use super::chips::Chips;
use crate::tui::{
    text::{clusters, rows, width},
    theme::Theme,
};

/// The distance between tab stops.
const TAB: usize = 4;

/// Text laid out for a given width: chips are shown as labels, tabs as spaces, secrets as dots.
pub(super) struct View {
    shown: String,
    /// The offset of each character, in the displayed text and in the original.
    places: Vec<(usize, usize)>,
    /// The ranges of chips in the displayed text.
    chips: Vec<Range<usize>>,
    rows: Vec<ViewRow>,
    columns: usize,
}

struct ViewRow {
    /// The offset at which the row starts. Text between it and `shown` belongs to this row but is
    /// not displayed (an indent that does not fit).
    from: usize,
    shown: Range<usize>,
}

impl View {
    pub(super) fn of(written: &str, chips: &Chips, is_secret: bool, columns: u16) -> Self {
        // Reserve a column for the cursor after a full row.
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
            .extend(broken.into_iter().enumerate().map(|(number, row)| ViewRow {
                from: if number == 0 { from } else { from + row.start },
                shown: from + row.start..from + row.end,
            }));
        // Add a character for the line break, so that the end of a line and the start of the next
        // one are separate positions.
        self.shown.push('\n');
    }

    pub(super) fn height(&self) -> usize {
        self.rows.len()
    }

    /// Returns the column and row of a position in the original text.
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

    /// Returns the position in the original text that is nearest to the given column and row.
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

    /// Draws a range of rows.
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
