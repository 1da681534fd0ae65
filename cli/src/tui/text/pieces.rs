//! The pieces of a Markdown text, one below the other.

use ratatui::text::{Line, Span};

use super::{
    blocks::Piece,
    highlight::{Reader, code_line},
    render::render,
    wrap::wrap_between,
};
use crate::tui::theme::Theme;

/// How far code is indented: its sign where there are no colours.
pub(super) const CODE_INDENT: &str = "  ";

/// What the next piece must know of those before it.
#[derive(Debug, Clone, Default)]
pub(super) struct Pieces {
    /// Whether there is something above.
    begun: bool,
    /// Whether that has empty lines in it, so that another is needed to see where it ends.
    was_apart: bool,
    /// The language of the block of code, and what is open in it.
    reader: Reader,
}

impl Pieces {
    /// The lines of the next pieces.
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
                self.reader = Reader::of(language);
                let label = Line::from(Span::styled(info.as_str(), theme.muted));
                let label = if info.is_empty() {
                    Vec::new()
                } else {
                    wrap_between(&label, width, &indent, &indent)
                };
                self.below(label, true, lines);
            }
            Piece::Code(line) => {
                lines.extend(code_line(&mut self.reader, line, width, &indent, theme));
            }
        }
    }

    /// Adds the lines of a block, an empty one before them.
    fn below(&mut self, drawn: Vec<Line<'static>>, apart: bool, lines: &mut Vec<Line<'static>>) {
        if self.begun && (apart || self.was_apart) {
            lines.push(Line::default());
        }
        self.begun = true;
        self.was_apart = drawn.iter().any(|line| line.spans.is_empty());
        lines.extend(drawn);
    }
}
