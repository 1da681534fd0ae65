//! Renders Markdown as it arrives.

use std::mem;

use ratatui::text::Line;

use super::{
    blocks::{Piece, Splitter},
    pieces::Pieces,
    unfinished,
    wrap::tidy,
};
use crate::tui::theme::Theme;

/// Maximum length of a line. A longer line is split, so that its start can be drawn.
const MAX_LINE: usize = 16 * 1024;

/// Renders a complete text.
pub(crate) fn markdown(source: &str, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mut stream = Stream::default();
    stream.push(source);
    stream.finish(width, theme)
}

/// Text that arrives in parts. A line is returned once no later text can change it. It is then
/// neither stored nor drawn again, so the total cost is linear in the length of the text.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stream {
    /// The last line. It is not sanitised yet, because an escape sequence can be split between two
    /// parts.
    last: String,
    splitter: Splitter,
    /// Finished pieces that have not been drawn yet.
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

    /// Returns the new lines that can no longer change.
    pub(crate) fn finished(&mut self, width: u16, theme: &Theme) -> Vec<Line<'static>> {
        let done = mem::take(&mut self.done);
        self.pieces.draw(done, width, theme)
    }

    /// Draws the lines that can still change, which follow the lines from [`Stream::finished`].
    /// Markup that has not been closed yet is already styled.
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

    /// If the last line is too long, splits it, between words if possible.
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
