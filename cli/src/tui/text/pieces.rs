//! Draws the pieces of a Markdown document in order.

use ratatui::text::{Line, Span};

use super::{
    blocks::Piece,
    highlight::{Tokenizer, code_line},
    render::render,
    wrap::wrap_between,
};
use crate::tui::theme::Theme;

/// The indent of code blocks, which distinguishes them when there are no colours.
pub(super) const CODE_INDENT: &str = "  ";

/// State carried from one piece to the next.
#[derive(Debug, Clone, Default)]
pub(super) struct Pieces {
    /// Whether anything has been drawn yet.
    has_content: bool,
    /// Whether the last piece contained blank lines. If so, the next piece needs a blank line
    /// before it to show where the last one ends.
    had_blank_lines: bool,
    /// The highlighter of the open code block.
    tokenizer: Tokenizer,
}

impl Pieces {
    /// Returns the lines of the next pieces.
    pub(super) fn draw(
        &mut self,
        pieces: Vec<Piece>,
        width: u16,
        theme: &Theme,
    ) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        for piece in pieces {
            self.piece(&piece, width, theme, &mut lines);
        }
        lines
    }

    fn piece(&mut self, piece: &Piece, width: u16, theme: &Theme, lines: &mut Vec<Line<'static>>) {
        let indent = Line::from(CODE_INDENT);
        match piece {
            Piece::Blocks(blocks) => {
                let drawn = render(&blocks.source, None, width, theme);
                self.below(drawn, !blocks.is_rest, lines);
            }
            Piece::Item(item) => {
                let drawn = render(&item.source, item.number, width, theme);
                self.below(drawn, !item.is_tight, lines);
            }
            Piece::Fence(info) => {
                let language = info.split([' ', ',', '{']).next().unwrap_or_default();
                self.tokenizer = Tokenizer::of(language);
                let label = Line::from(Span::styled(info.as_str(), theme.muted));
                let label = if info.is_empty() {
                    Vec::new()
                } else {
                    wrap_between(&label, width, &indent, &indent)
                };
                self.below(label, true, lines);
            }
            Piece::Code(line) => {
                lines.extend(code_line(&mut self.tokenizer, line, width, &indent, theme));
            }
        }
    }

    /// Adds a block's lines, with a blank line before them if needed.
    fn below(&mut self, drawn: Vec<Line<'static>>, separate: bool, lines: &mut Vec<Line<'static>>) {
        if self.has_content && (separate || self.had_blank_lines) {
            lines.push(Line::default());
        }
        self.has_content = true;
        self.had_blank_lines = drawn.iter().any(|line| line.spans.is_empty());
        lines.extend(drawn);
    }
}
