//! Wraps long lines: between words if possible, and never within a grapheme.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::fit::{MORE, clusters, width};
use crate::clean;
use ratatui::{
    style::Style,
    text::{Line, Span},
};

/// The distance between tab stops.
const TAB: usize = 4;
/// Minimum number of columns for the text. A prefix that would leave fewer is truncated.
const MIN_TEXT: usize = 8;

/// Sanitises text and expands its tabs. Only visible characters and line breaks remain.
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

/// Wraps multi-line text in a single style.
pub(crate) fn plain(text: &str, width: u16, style: Style) -> Vec<Line<'static>> {
    tidy(text)
        .lines()
        .flat_map(|line| wrap(&Line::styled(line, style), width))
        .collect()
}

/// Wraps one line.
pub(crate) fn wrap(line: &Line<'_>, width: u16) -> Vec<Line<'static>> {
    wrap_between(line, width, &Line::default(), &Line::default())
}

/// Wraps one line, with one prefix for the first row and another for the other rows.
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

/// Removes trailing spaces, which would be included when the user copies the line.
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

/// A prefix, and the number of columns that it leaves for the text.
struct Prefix {
    spans: Vec<Span<'static>>,
    room: usize,
}

impl Prefix {
    fn of(line: &Line<'_>, columns: usize) -> Self {
        let mut left = columns.saturating_sub(MIN_TEXT);
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

/// The text of a line, and its style runs, each with the offset where it ends.
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
            flat.text.push_str(&tidy(&span.content).replace('\n', " "));
            flat.runs
                .push((flat.text.len(), line.style.patch(span.style)));
        }
        flat.join();
        flat
    }

    /// Moves style boundaries to grapheme boundaries, because terminals would draw a split grapheme
    /// as two.
    fn join(&mut self) {
        if self.text.is_ascii() {
            return;
        }
        let mut runs = self.runs.iter_mut().peekable();
        for (at, cluster, _) in clusters(&self.text) {
            let end = at + cluster.len();
            while let Some((upto, _)) = runs.next_if(|(upto, _)| *upto <= end) {
                if *upto > at {
                    *upto = end;
                }
            }
        }
    }

    /// Replaces wide graphemes, which do not fit if the width is one column.
    fn narrow(&mut self) {
        let whole = std::mem::take(&mut self.text);
        let mut start = 0;
        for (end, _) in &mut self.runs {
            for grapheme in whole[start..*end].graphemes(true) {
                let is_narrow = grapheme.width() < 2;
                self.text.push_str(if is_narrow { grapheme } else { MORE });
            }
            start = *end;
            *end = self.text.len();
        }
    }
}

/// Returns the rows of a line. `first` is the width of the first row, and `rest` that of the other
/// rows. Spaces at a break do not belong to any row.
pub(crate) fn rows(text: &str, first: usize, rest: usize) -> Vec<Range<usize>> {
    let mut rows = Vec::new();
    let mut start = 0;
    let mut room = first;
    while start < text.len() {
        // Drop an indent that leaves no space for text.
        let indent = text[start..]
            .bytes()
            .take_while(|byte| *byte == b' ')
            .count();
        if indent >= room {
            start += indent;
        }
        let row = next_row(text, start, room);
        start = row.next;
        rows.push(row.range);
        room = rest;
    }
    if rows.is_empty() {
        rows.push(0..0);
    }
    rows
}

struct WrappedRow {
    range: Range<usize>,
    /// The start of the next row.
    next: usize,
}

/// Returns the row that starts at `start`. It has at least one grapheme.
fn next_row(text: &str, start: usize, room: usize) -> WrappedRow {
    let mut used = 0;
    // The last possible break: the end of this row, and the start of the next.
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
            return WrappedRow {
                range: start..end,
                next,
            };
        }
        used += columns;
        in_gap = false;
        after_wide = wide;
    }
    let end = start + text[start..].trim_end_matches(' ').len();
    WrappedRow {
        range: start..end,
        next: text.len(),
    }
}

/// Reports whether a grapheme, such as closing punctuation, must not start a row.
fn closes(grapheme: &str) -> bool {
    grapheme.starts_with([
        '、', '。', '，', '．', '！', '？', '：', '；', '）', '」', '』', '】', '》', '〉', '〕',
        '”', '’', '…', '.', ',', '!', '?', ':', ';', ')', ']', '}',
    ])
}

#[cfg(test)]
mod tests {
    use ratatui::style::Modifier;

    use super::*;

    fn broken(text: &str, room: usize) -> Vec<&str> {
        rows(text, room, room)
            .into_iter()
            .map(|row| &text[row])
            .collect()
    }

    #[test]
    fn lines_break_between_words_and_never_within_a_grapheme() {
        for (text, room, expected) in [
            ("", 5, vec![""]),
            ("   ", 5, vec![""]),
            ("one two", 7, vec!["one two"]),
            ("one two  ", 7, vec!["one two"]),
            ("one two", 6, vec!["one", "two"]),
            ("one  two", 4, vec!["one", "two"]),
            ("  one two", 5, vec!["  one", "two"]),
            ("        one", 5, vec!["one"]),
            ("longword x", 4, vec!["long", "word", "x"]),
            ("a longword", 4, vec!["a", "long", "word"]),
            ("漢字漢字", 5, vec!["漢字", "漢字"]),
            ("漢字、漢", 4, vec!["漢", "字、", "漢"]),
            ("ab漢字 cd", 4, vec!["ab漢", "字", "cd"]),
            (
                "e\u{301}e\u{301}e\u{301}",
                2,
                vec!["e\u{301}e\u{301}", "e\u{301}"],
            ),
            ("👩‍🚀👩‍🚀", 3, vec!["👩‍🚀", "👩‍🚀"]),
            ("a\u{a0}b c", 3, vec!["a\u{a0}b", "c"]),
        ] {
            assert_eq!(broken(text, room), expected, "{text:?} in {room}");
        }
    }

    #[test]
    fn the_first_row_can_have_a_different_width() {
        let text = "one two three";
        let of = |first, rest| -> Vec<&str> {
            rows(text, first, rest)
                .into_iter()
                .map(|row| &text[row])
                .collect()
        };
        assert_eq!(of(3, 20), ["one", "two three"]);
        assert_eq!(of(8, 3), ["one two", "thr", "ee"]);
    }

    #[test]
    fn styles_do_not_split_graphemes() {
        let line = Line::from(vec![
            Span::raw("e"),
            Span::styled("\u{301}x", Modifier::BOLD),
        ]);
        let spans: Vec<String> = wrap(&line, 9)[0]
            .iter()
            .map(|span| span.content.to_string())
            .collect();
        assert_eq!(spans, ["e\u{301}", "x"]);
    }

    #[test]
    fn tabs_expand_to_tab_stops() {
        assert_eq!(tidy("a\tb\n\t漢\tc"), "a   b\n    漢  c");
    }

    #[test]
    fn prefixes_are_repeated_and_truncated_to_fit() {
        let lines = |width| -> Vec<String> {
            let wrapped = wrap_between(
                &Line::from("some words"),
                width,
                &Line::from("1. "),
                &Line::from("   "),
            );
            wrapped.iter().map(ToString::to_string).collect()
        };
        assert_eq!(lines(11), ["1. some", "   words"]);
        assert_eq!(lines(9), ["1some", " words"]);
        assert_eq!(lines(5), ["some", "words"]);
    }
}
