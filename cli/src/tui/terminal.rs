//! The terminal's main screen: finished lines, which become part of the scrollback, and below them
//! a live area of variable height.
//!
//! **Between frames, the cursor is hidden at the top left of the live area.** All drawing is
//! relative to it, so zot never queries the cursor position. However the terminal rewraps lines on
//! a resize, the live area always starts at the cursor. The cursor that the user sees is a cell in
//! reverse video.

mod encode;
mod input;
mod keys;
mod mode;
mod writer;

use std::{io, sync::Arc, time::Duration};

use ratatui::{
    buffer::Buffer,
    layout::{Rect, Size},
    text::Line,
};
use tokio::sync::Notify;

pub(crate) use input::{Input, Inputs};
pub(crate) use mode::{Raw, is_terminal, panics};

use encode::{ScreenRow, row};
use writer::ScreenWriter;

/// The size to assume if the terminal does not report one, as on a serial line.
const DEFAULT_SIZE: Size = Size {
    width: 80,
    height: 24,
};
/// Maximum time to wait for the last frame to be written.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// Synchronised output: a terminal that supports it shows the frame only once it is complete.
const BEGIN: &str = "\x1b[?2026h";
const END: &str = "\x1b[?2026l";
/// Disables line wrapping for the live area, so that a line that is wider than expected is cut off.
/// Finished lines can wrap, so that no text is lost.
const NO_WRAP: &str = "\x1b[?7l";
const WRAP: &str = "\x1b[?7h";

/// The terminal in raw mode.
pub(crate) struct Terminal {
    size: Size,
    /// The rows of the live area that are on the screen.
    shown: Vec<ScreenRow>,
    /// Whether the content of the live area is unknown, for example after a resize.
    stale: bool,
    /// Whether to ring the bell with the next frame.
    rings: bool,
    writer: ScreenWriter,
    raw: Raw,
}

impl Terminal {
    /// Enters raw mode. `written` is notified after each frame.
    pub(crate) fn enter(written: Arc<Notify>) -> io::Result<Self> {
        let raw = Raw::enter()?;
        Ok(Self {
            size: mode::size().unwrap_or(DEFAULT_SIZE),
            shown: Vec::new(),
            stale: false,
            rings: false,
            writer: ScreenWriter::new(written)?,
            raw,
        })
    }

    /// Returns the number of columns and rows, at least one each.
    pub(crate) fn size(&self) -> Size {
        self.size
    }

    /// Reads the new size, and marks the live area to be redrawn completely.
    pub(crate) fn resized(&mut self) {
        self.size = mode::size().unwrap_or(DEFAULT_SIZE);
        self.stale = true;
    }

    /// Reports whether the previous frame has been written, so that another can be drawn.
    pub(crate) fn is_free(&self) -> bool {
        self.writer.is_free()
    }

    /// Reports whether the terminal has been closed.
    pub(crate) fn is_gone(&self) -> bool {
        self.writer.is_gone()
    }

    /// Rings the bell with the next frame.
    pub(crate) fn ring(&mut self) {
        self.rings = true;
    }

    /// Prints `finished` into the scrollback and redraws the live area below it.
    pub(crate) fn draw(&mut self, finished: &[Line<'_>], live: &Buffer) {
        let rows: Vec<ScreenRow> = (0..live.area.height).map(|y| row(live, y)).collect();
        let whole = self.stale || !finished.is_empty() || rows.len() > self.shown.len();
        let mut frame = String::new();
        if whole {
            self.draw_whole(finished, &rows, &mut frame);
        } else {
            self.draw_changes(&rows, &mut frame);
        }
        (self.shown, self.stale) = (rows, false);
        if std::mem::take(&mut self.rings) {
            frame.push('\x07');
        }
        if !frame.is_empty() {
            self.writer.write(format!("{BEGIN}{frame}{END}"));
        }
    }

    fn draw_whole(&self, finished: &[Line<'_>], rows: &[ScreenRow], frame: &mut String) {
        frame.push('\r');
        if self.stale {
            // The terminal may have rewrapped the old content.
            frame.push_str("\x1b[J");
        }
        let width = self.size.width;
        let mut line = Buffer::empty(Rect::new(0, 0, width, 1));
        for text in finished {
            line.reset();
            line.set_line(0, 0, text, width);
            row(&line, 0).write(width, frame);
            frame.push_str("\r\n");
        }
        frame.push_str(NO_WRAP);
        for (at, row) in rows.iter().enumerate() {
            if at > 0 {
                frame.push_str("\r\n");
            }
            if at + 1 == rows.len() {
                frame.push_str("\x1b[J");
            }
            row.write(width, frame);
        }
        frame.push_str(WRAP);
        move_to_top(rows.len().saturating_sub(1), frame);
    }

    fn draw_changes(&self, rows: &[ScreenRow], frame: &mut String) {
        let shrinks = rows.len() < self.shown.len();
        let mut below = 0;
        for (at, (row, shown)) in rows.iter().zip(&self.shown).enumerate() {
            let is_last = shrinks && at + 1 == rows.len();
            if row == shown && !is_last {
                continue;
            }
            if frame.is_empty() {
                frame.push_str(NO_WRAP);
            }
            down(at - below, frame);
            below = at;
            frame.push('\r');
            if is_last {
                frame.push_str("\x1b[J");
            }
            row.write(self.size.width, frame);
        }
        if !frame.is_empty() {
            frame.push_str(WRAP);
            move_to_top(below, frame);
        }
    }

    /// Restores the terminal's modes before the process is stopped or another program uses the
    /// terminal.
    pub(crate) fn suspend(&mut self) {
        self.writer.drain(DRAIN_TIMEOUT);
        self.raw.suspend();
    }

    /// Enters raw mode again.
    pub(crate) fn resume(&mut self) -> io::Result<()> {
        self.raw.resume()?;
        self.shown.clear();
        self.resized();
        Ok(())
    }

    /// Enters raw mode again after another program has used the terminal.
    pub(crate) fn resume_after_program(&mut self) -> io::Result<()> {
        self.raw.resume_after_program()?;
        self.shown.clear();
        self.resized();
        Ok(())
    }

    /// Leaves raw mode. The live area is erased; the scrollback stays.
    pub(crate) fn leave(self) {
        self.writer.drain(DRAIN_TIMEOUT);
        drop(self.raw);
    }
}

/// Moves the cursor up by `below` rows, to the top left of the live area.
fn move_to_top(below: usize, frame: &mut String) {
    frame.push('\r');
    if below > 0 {
        frame.push_str(&format!("\x1b[{below}A"));
    }
}

fn down(rows: usize, frame: &mut String) {
    if rows > 0 {
        frame.push_str(&format!("\x1b[{rows}B"));
    }
}
