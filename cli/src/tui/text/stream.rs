//! Markdown while it arrives.

use std::mem;

use ratatui::text::Line;

use super::{
    blocks::{Piece, Splitter},
    pieces::Pieces,
    unfinished,
    wrap::tidy,
};
use crate::tui::theme::Theme;

/// A line that is longer is taken for several, so that it need not be kept open.
const LONGEST_LINE: usize = 16 * 1024;

/// A whole text.
pub(crate) fn markdown(source: &str, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mut stream = Stream::default();
    stream.push(source);
    stream.finish(width, theme)
}

/// A text that arrives in parts. Its lines come out as soon as nothing that follows can change them; what is out is
/// neither kept nor drawn again, so the cost of a text grows with its length and with nothing else.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stream {
    /// The last line, as it arrives: sequences that a terminal would act upon may be torn.
    last: String,
    splitter: Splitter,
    /// Done, but not drawn yet.
    done: Vec<Piece>,
    pieces: Pieces,
}

impl Stream {
    /// What has arrived.
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

    /// The lines that can no longer change and have not been given yet.
    pub(crate) fn finished(&mut self, width: u16, theme: &Theme) -> Vec<Line<'static>> {
        let done = mem::take(&mut self.done);
        self.pieces.draw(done, width, theme)
    }

    /// The lines that may still change, as they are now: words that are being written already have the weight they are
    /// about to get. They follow those of [`Stream::finished`].
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

    /// All lines that have not been given yet: nothing more arrives. The stream is as new.
    pub(crate) fn finish(&mut self, width: u16, theme: &Theme) -> Vec<Line<'static>> {
        let mut whole = mem::take(self);
        end(&whole.last, &mut whole.splitter, &mut whole.done);
        whole.pieces.draw(whole.done, width, theme)
    }

    /// Makes lines of the last one while it is too long, between words where there are some.
    fn cut(&mut self) {
        if self.last.len() < LONGEST_LINE {
            return;
        }
        let whole = mem::take(&mut self.last);
        let mut rest = whole.as_str();
        while rest.len() >= LONGEST_LINE {
            let most = rest.floor_char_boundary(LONGEST_LINE);
            let end = rest[..most].rfind(' ').map_or(most, |space| space + 1);
            self.splitter.line(&tidy(&rest[..end]), &mut self.done);
            rest = &rest[end..];
        }
        self.last.push_str(rest);
    }
}

/// The text ends with this line.
fn end(last: &str, splitter: &mut Splitter, done: &mut Vec<Piece>) {
    if !last.is_empty() {
        splitter.line(&tidy(last), done);
    }
    splitter.end(done);
}
