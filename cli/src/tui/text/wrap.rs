//! Long lines as several: between words where there are some, never within what is seen as one character.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

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
            // Tidy already in all but a few calls.
            if span.content.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
                flat.text.push_str(&span.content);
            } else {
                flat.text.push_str(&tidy(&span.content).replace('\n', " "));
            }
            flat.runs
                .push((flat.text.len(), line.style.patch(span.style)));
        }
        flat.join();
        flat
    }

    /// No style ends within what is seen as one character: a terminal would take it for two.
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

    /// Where there is a single column, what takes two is a sign of it.
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

/// Where the rows of one line begin and end, the first with so much room, the others with so much. The spaces at which
/// it breaks belong to no row.
pub(crate) fn rows(text: &str, first: usize, rest: usize) -> Vec<Range<usize>> {
    let is_ascii = text.is_ascii();
    let mut rows = Vec::new();
    let mut start = 0;
    let mut room = first;
    while start < text.len() {
        // An indent that leaves no room is given up.
        let indent = text[start..]
            .bytes()
            .take_while(|byte| *byte == b' ')
            .count();
        if indent >= room {
            start += indent;
        }
        let row = if is_ascii {
            next_simple_row(text, start, room)
        } else {
            next_row(text, start, room)
        };
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

/// The row that begins at `start`, where each byte takes a column.
fn next_simple_row(text: &str, start: usize, room: usize) -> Row {
    let trimmed = |end: usize| start + text[start..end].trim_end_matches(' ').len();
    let Some(rest) = text
        .get(start + room.max(1)..)
        .filter(|rest| !rest.is_empty())
    else {
        return Row {
            range: start..trimmed(text.len()),
            next: text.len(),
        };
    };
    let full = text.len() - rest.len();
    let spaces = rest.bytes().take_while(|byte| *byte == b' ').count();
    let gap = text[start..full].rfind(' ').map(|gap| start + gap);
    let (end, next) = match gap {
        _ if spaces > 0 => (trimmed(full), full + spaces),
        Some(gap) if trimmed(gap) > start => (trimmed(gap), gap + 1),
        _ => (full, full),
    };
    Row {
        range: start..end,
        next,
    }
}

/// The row that begins at `start`. It holds one character at least.
fn next_row(text: &str, start: usize, room: usize) -> Row {
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
            return Row {
                range: start..end,
                next,
            };
        }
        used += columns;
        in_gap = false;
        after_wide = wide;
    }
    let end = start + text[start..].trim_end_matches(' ').len();
    Row {
        range: start..end,
        next: text.len(),
    }
}

/// Must not begin a row: it belongs to what stands before it.
fn closes(grapheme: &str) -> bool {
    grapheme.starts_with([
        '、', '。', '，', '．', '！', '？', '：', '；', '）', '」', '』', '】', '》', '〉', '〕',
        '”', '’', '…', '.', ',', '!', '?', ':', ';', ')', ']', '}',
    ])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ratatui::style::Modifier;

    use super::*;

    fn broken(text: &str, room: usize) -> Vec<&str> {
        rows(text, room, room)
            .into_iter()
            .map(|row| &text[row])
            .collect()
    }

    #[test]
    fn lines_break_between_words_and_never_within_a_character() {
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
    fn the_first_row_may_have_more_room_than_the_others_or_less() {
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
    fn no_style_ends_within_a_character() {
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
    fn tabs_reach_the_next_stop() {
        assert_eq!(tidy("a\tb\n\t漢\tc"), "a   b\n    漢  c");
    }

    #[test]
    fn prefixes_stand_before_every_row_while_there_is_room() {
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

    proptest! {
        #[test]
        fn simple_texts_break_as_all_do(text in "[a-c ]{0,60}", first in 1usize..12, rest in 1usize..12) {
            let mut start = 0;
            let mut room = first;
            for row in rows(&text, first, rest) {
                let indent = text[start..].bytes().take_while(|byte| *byte == b' ').count();
                if indent >= room {
                    start += indent;
                }
                if start == text.len() {
                    break;
                }
                let other = next_row(&text, start, room);
                prop_assert_eq!(&row, &other.range);
                start = other.next;
                room = rest;
            }
        }
    }
}
