//! Markdown while it arrives.

use std::mem;

use ratatui::text::Line;

use crate::tui::theme::Theme;

/// A whole text.
pub(crate) fn markdown(source: &str, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mut stream = Stream::default();
    stream.push(source);
    stream.finish(width, theme)
}

/// A text that arrives in pieces. Its lines come out as soon as nothing that follows can change them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stream {
    pending: String,
}

impl Stream {
    /// What has arrived.
    pub(crate) fn push(&mut self, delta: &str) {
        self.pending.push_str(delta);
    }

    /// The lines that can no longer change and have not been given yet.
    pub(crate) fn finished(&mut self, width: u16, theme: &Theme) -> Vec<Line<'static>> {
        let Some(end) = self.pending.rfind('\n') else {
            return Vec::new();
        };
        let rest = self.pending.split_off(end + 1);
        let done = mem::replace(&mut self.pending, rest);
        super::plain(&done, width, theme.text)
    }

    /// The lines that may still change, as they are now. They follow those of [`Stream::finished`].
    pub(crate) fn open(&self, width: u16, theme: &Theme) -> Vec<Line<'static>> {
        super::plain(&self.pending, width, theme.text)
    }

    /// All lines that have not been given yet: nothing more arrives. The stream is as new.
    pub(crate) fn finish(&mut self, width: u16, theme: &Theme) -> Vec<Line<'static>> {
        super::plain(&mem::take(&mut self.pending), width, theme.text)
    }
}
