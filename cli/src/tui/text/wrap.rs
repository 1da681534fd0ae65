//! Long lines as several: between words where there are some, never within what is seen as one character.

use std::ops::Range;

use super::fit::{MORE, clusters, width};
use crate::clean;
use ratatui::{
    style::Style,
    text::{Line, Span},
};

/// The columns between two tab stops.
const TAB: usize = 4;
/// An indent that leaves less than this for the text is given up.
const LEAST: usize = 8;

/// Cleaned, and with spaces for tabs: several lines of which nothing but text and line breaks is left.
pub(crate) fn tidy(text: &str) -> String {
    let text = clean::text(text);
    if !text.contains('\t') {
        return text;
    }
    let mut tidy = String::with_capacity(text.len() + 64);
    let mut column = 0;
    for (_, grapheme, columns) in clusters(&text) {
        match grapheme {
            "\n" => {
                column = 0;
                tidy.push('\n');
            }
            "\t" => {
                let spaces = TAB - column % TAB;
                column += spaces;
                tidy.extend(std::iter::repeat_n(' ', spaces));
            }
            grapheme => {
                column += columns;
                tidy.push_str(grapheme);
            }
        }
    }
    tidy
}

/// Several lines in one style.
pub(crate) fn plain(text: &str, width: u16, style: Style) -> Vec<Line<'static>> {
    tidy(text)
        .lines()
        .flat_map(|line| wrap(&Line::styled(line, style), width))
        .collect()
}

/// One line as several.
pub(crate) fn wrap(line: &Line<'_>, width: u16) -> Vec<Line<'static>> {
    wrap_between(line, width, &Line::default(), &Line::default())
}

/// One line as several, the first of them after one prefix, the others after another of the same kind.
pub(crate) fn wrap_between(
    line: &Line<'_>,
    width: u16,
    first: &Line<'_>,
    rest: &Line<'_>,
) -> Vec<Line<'static>> {
    let width = usize::from(width.max(1));
    let first = Prefix::of(first, width);
    let rest = Prefix::of(rest, width);
    let mut flat = Flat::of(line);
    if first.room.min(rest.room) < 2 {
        flat.narrow();
    }
    let mut runs = flat.runs.as_slice();
    let mut lines = Vec::new();
    for row in rows(&flat.text, first.room, rest.room) {
        let prefix = if lines.is_empty() { &first } else { &rest };
        let mut spans = prefix.spans.clone();
        if row.is_empty() {
            trim_end(&mut spans);
        }
        let mut at = row.start;
        while at < row.end {
            let Some(((end, style), later)) = runs.split_first() else {
                break;
            };
            if *end > at {
                let upto = row.end.min(*end);
                spans.push(Span::styled(flat.text[at..upto].to_owned(), *style));
                at = upto;
            }
            if *end <= at {
                runs = later;
            }
        }
        lines.push(Line::from(spans));
    }
    lines
}

/// Takes away the spaces at the end: who copies the line does not want them.
fn trim_end(spans: &mut Vec<Span<'static>>) {
    while let Some(last) = spans.last_mut() {
        let trimmed = last.content.trim_end_matches(' ');
        if !trimmed.is_empty() {
            last.content = trimmed.to_owned().into();
            return;
        }
        spans.pop();
    }
}

/// What stands before a line, and the columns that it leaves.
struct Prefix {
    spans: Vec<Span<'static>>,
    room: usize,
}

impl Prefix {
    fn of(line: &Line<'_>, columns: usize) -> Self {
        let mut left = columns.saturating_sub(LEAST);
        let mut spans = Vec::new();
        for span in &line.spans {
            let mut text = String::new();
            for (_, grapheme, columns) in clusters(&span.content) {
                if columns > left {
                    left = 0;
                    break;
                }
                left -= columns;
                text.push_str(grapheme);
            }
            if !text.is_empty() {
                spans.push(Span::styled(text, line.style.patch(span.style)));
            }
        }
        let used: usize = spans.iter().map(|span| width(&span.content)).sum();
        Self {
            spans,
            room: columns - used,
        }
    }
}

/// The texts of a line as one, and the style of each run of it by where it ends.
struct Flat {
    text: String,
    runs: Vec<(usize, Style)>,
}

impl Flat {
    fn of(line: &Line<'_>) -> Self {
        let mut flat = Self {
            text: String::new(),
            runs: Vec::new(),
        };
        for span in &line.spans {
            // Already tidy in all but a few calls, and then this finds nothing to do.
            if span.content.contains(|char: char| char.is_control()) {
                flat.text.push_str(&tidy(&span.content).replace('\n', " "));
            } else {
                flat.text.push_str(&clean::text(&span.content));
            }
            flat.runs
                .push((flat.text.len(), line.style.patch(span.style)));
        }
        flat
    }

    /// Where there is a single column, what takes two is a sign of it.
    fn narrow(&mut self) {
        let whole = std::mem::take(&mut self.text);
        let mut start = 0;
        for (end, _) in &mut self.runs {
            for (_, grapheme, columns) in clusters(&whole[start..*end]) {
                self.text
                    .push_str(if columns < 2 { grapheme } else { MORE });
            }
            start = *end;
            *end = self.text.len();
        }
    }
}

/// Where the rows of one line begin and end, the first with so much room, the others with so much. The spaces at which
/// it breaks belong to no row.
pub(crate) fn rows(text: &str, first: usize, rest: usize) -> Vec<Range<usize>> {
    if text.is_ascii() && text.len() <= first {
        return vec![0..text.trim_end_matches(' ').len()];
    }
    let mut rows = Vec::new();
    let mut start = 0;
    let mut room = first;
    while let Some(row) = next_row(text, start, room) {
        start = row.next;
        rows.push(row.range);
        room = rest;
    }
    if rows.is_empty() {
        rows.push(0..0);
    }
    rows
}

struct Row {
    range: Range<usize>,
    /// Where the next one begins.
    next: usize,
}

/// The row that begins at `start`, `None` at the end. It holds one character at least.
fn next_row(text: &str, start: usize, room: usize) -> Option<Row> {
    if start >= text.len() {
        return None;
    }
    // An indent that leaves no room is given up.
    let indent = text[start..]
        .bytes()
        .take_while(|byte| *byte == b' ')
        .count();
    let start = if indent >= room {
        start + indent
    } else {
        start
    };
    let mut used = 0;
    // Where the row can end, and where the next one begins then.
    let mut stop: Option<(usize, usize)> = None;
    let mut in_gap = false;
    let mut after_wide = false;
    for (at, grapheme, columns) in clusters(&text[start..]) {
        let at = start + at;
        if grapheme == " " {
            let end = stop.filter(|_| in_gap).map_or(at, |(end, _)| end);
            stop = Some((end, at + 1));
            in_gap = true;
            after_wide = false;
            used += columns;
            continue;
        }
        let wide = columns > 1;
        if (wide || after_wide) && !in_gap && !closes(grapheme) {
            stop = Some((at, at));
        }
        if used + columns > room && at > start {
            let (end, next) = stop.filter(|(end, _)| *end > start).unwrap_or((at, at));
            return Some(Row {
                range: start..end,
                next,
            });
        }
        used += columns;
        in_gap = false;
        after_wide = wide;
    }
    let end = start + text[start..].trim_end_matches(' ').len();
    Some(Row {
        range: start..end,
        next: text.len(),
    })
}

/// Must not begin a row: it belongs to what stands before it.
fn closes(grapheme: &str) -> bool {
    grapheme.starts_with([
        '、', '。', '，', '．', '！', '？', '：', '；', '）', '」', '』', '】', '》', '〉', '〕',
        '”', '’', '…', '.', ',', '!', '?', ':', ';', ')', ']', '}',
    ])
}
