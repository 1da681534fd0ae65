//! Syntax highlighting, line by line.
//!
//! This is a small tokenizer for comments, strings, numbers and words, driven by a table of
//! languages. It has no startup cost and stores only a few bytes of state between lines, so code is
//! highlighted as it arrives. `syntect` (with its regex engine in Rust) is more precise, but it
//! takes 30 to 130 ms for the first block and processes 0.3 MB/s afterwards, and adds 2.5 MB to the
//! binary.

mod languages;
mod tokenizer;

use ratatui::text::{Line, Span};

pub(super) use self::tokenizer::Tokenizer;
use super::wrap::wrap_between;
use crate::tui::theme::Theme;

/// Highlights and wraps one line of code, and indents it. The line must be the output of
/// [`tidy`](super::wrap::tidy).
pub(super) fn code_line(
    tokenizer: &mut Tokenizer,
    line: &str,
    width: u16,
    indent: &Line<'_>,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let spans: Vec<Span<'_>> = tokenizer
        .line(line)
        .into_iter()
        .map(|(range, part)| Span::styled(&line[range], part.style(theme)))
        .collect();
    wrap_between(&Line::from(spans), width, indent, indent)
}
