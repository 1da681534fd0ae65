//! Renders Markdown while it arrives.

use std::mem;

use ratatui::text::Line;

use super::{
    blocks::{Piece, Splitter},
    pieces::Pieces,
    unfinished,
    wrap::tidy,
};
use crate::tui::theme::Theme;

/// Longer lines are split, so that they need not be kept open.
const MAX_LINE: usize = 16 * 1024;

/// Renders a complete text.
pub(crate) fn markdown(source: &str, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mut stream = Stream::default();
    stream.push(source);
    stream.finish(width, theme)
}

/// A text that arrives in parts. A line is returned once nothing that follows can change it, and is
/// then neither kept nor drawn again. So the total cost is linear in the length of the text.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stream {
    /// The last line, unsanitised, because an escape sequence may be split between two parts.
    last: String,
    splitter: Splitter,
    /// Finished pieces that are not drawn yet.
    done: Vec<Piece>,
    pieces: Pieces,
}

impl Stream {
    /// Adds a part of the text.
    pub(crate) fn push(&mut self, delta: &str) {
        let mut rest = delta;
        while let Some(end) = rest.find('\n') {
            self.last.push_str(&rest[..end]);
            self.cut();
            let line = mem::take(&mut self.last);
            self.splitter.line(&tidy(&line), &mut self.done);
            rest = &rest[end + 1..];
        }
        self.last.push_str(rest);
        self.cut();
    }

    /// Returns new lines that can no longer change.
    pub(crate) fn finished(&mut self, width: u16, theme: &Theme) -> Vec<Line<'static>> {
        let done = mem::take(&mut self.done);
        self.pieces.draw(done, width, theme)
    }

    /// Draws the lines that may still change. Markup that is still open is already styled. They
    /// follow the lines of [`Stream::finished`].
    pub(crate) fn open(&self, width: u16, theme: &Theme) -> Vec<Line<'static>> {
        let mut done = self.done.clone();
        let mut splitter = self.splitter.clone();
        let last = if splitter.is_in_code() {
            self.last.clone()
        } else {
            unfinished::finished(&self.last)
        };
        end(&last, &mut splitter, &mut done);
        self.pieces.clone().draw(done, width, theme)
    }

    /// Ends the text: returns all remaining lines and resets the stream.
    pub(crate) fn finish(&mut self, width: u16, theme: &Theme) -> Vec<Line<'static>> {
        let mut whole = mem::take(self);
        end(&whole.last, &mut whole.splitter, &mut whole.done);
        whole.pieces.draw(whole.done, width, theme)
    }

    /// Splits the last line while it is too long, between words if possible.
    fn cut(&mut self) {
        if self.last.len() < MAX_LINE {
            return;
        }
        let whole = mem::take(&mut self.last);
        let mut rest = whole.as_str();
        while rest.len() >= MAX_LINE {
            let most = rest.floor_char_boundary(MAX_LINE);
            let end = rest[..most].rfind(' ').map_or(most, |space| space + 1);
            self.splitter.line(&tidy(&rest[..end]), &mut self.done);
            rest = &rest[end..];
        }
        self.last.push_str(rest);
    }
}

/// Ends the text after this line.
fn end(last: &str, splitter: &mut Splitter, done: &mut Vec<Piece>) {
    if !last.is_empty() {
        splitter.line(&tidy(last), done);
    }
    splitter.end(done);
}
