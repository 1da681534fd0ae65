//! Code in colours, line by line.
//!
//! A small reader of our own: comments, strings, numbers and words, by a table of languages. It is ready at once, reads
//! ten megabytes a second, and its state between two lines is a few bytes, so code is coloured while it arrives. The
//! grammars of editors (`syntect`, on a regex engine in Rust) were measured for this: more exact, but 30 to 130 ms for
//! the first block, 0.3 MB/s from then on, and 2.5 MB of program.

mod languages;
mod reader;

use ratatui::text::{Line, Span};

pub(super) use self::reader::Reader;
use super::wrap::wrap_between;
use crate::tui::theme::Theme;

/// One line of code, which is tidy, behind an indent.
pub(super) fn code_line(
    reader: &mut Reader,
    line: &str,
    width: u16,
    indent: &Line<'_>,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let spans: Vec<Span<'_>> = reader
        .line(line)
        .into_iter()
        .map(|(range, part)| Span::styled(&line[range], part.style(theme)))
        .collect();
    wrap_between(&Line::from(spans), width, indent, indent)
}
