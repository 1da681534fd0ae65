//! The terminal's main screen: finished lines, which are the terminal's own from then on, and below them a live area of
//! any height.
//!
//! **Between two frames the cursor is hidden and stands at the top left of the live area.** Everything is drawn relative
//! to it, so that nobody has to ask the terminal where it is; and whatever a terminal makes of its lines when its width
//! changes, the live area is what comes after the cursor. The cursor that the user sees is a cell drawn in reverse.

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

pub(crate) use input::{Input, read as read_input};
pub(crate) use mode::{Raw, is_terminal, panics};

use encode::{Row, row};
use writer::Writer;

/// Where no size is known, as on a serial line: what terminals have always had.
const USUAL: Size = Size {
    width: 80,
    height: 24,
};
/// How long the last frame may take to be written.
const PATIENCE: Duration = Duration::from_millis(500);

/// Nothing of a frame is shown before all of it is there, where a terminal knows that.
const BEGIN: &str = "\x1b[?2026h";
const END: &str = "\x1b[?2026l";
/// A line of the live area that is wider than was thought is cut off at the margin instead of beginning another one. A
/// finished line may begin another one: nothing of it is to be lost.
const CUT: &str = "\x1b[?7l";
const WRAP: &str = "\x1b[?7h";

/// The terminal, as long as it is ours.
pub(crate) struct Terminal {
    size: Size,
    /// The live area as it stands there.
    shown: Vec<Row>,
    /// Whether nobody knows how it stands there.
    stale: bool,
    writer: Writer,
    raw: Raw,
}

impl Terminal {
    /// Takes the terminal over. `written` is told whenever a frame has been written.
    pub(crate) fn enter(written: Arc<Notify>) -> io::Result<Self> {
        let raw = Raw::enter()?;
        Ok(Self {
            size: mode::size().unwrap_or(USUAL),
            shown: Vec::new(),
            stale: false,
            writer: Writer::new(written)?,
            raw,
        })
    }

    /// Its columns and rows, at least one each.
    pub(crate) fn size(&self) -> Size {
        self.size
    }

    /// Looks how large it is now. The next frame is drawn whole.
    pub(crate) fn resized(&mut self) {
        self.size = mode::size().unwrap_or(USUAL);
        self.stale = true;
    }

    /// Whether a frame can be drawn: the one before has been written.
    pub(crate) fn is_free(&self) -> bool {
        self.writer.is_free()
    }

    /// Whether there is no terminal any more.
    pub(crate) fn is_gone(&self) -> bool {
        self.writer.is_gone()
    }

    /// Lets the terminal have `finished` for good, and draws the live area anew below.
    pub(crate) fn draw(&mut self, finished: &[Line<'_>], live: &Buffer) {
        let rows: Vec<Row> = (0..live.area.height).map(|y| row(live, y)).collect();
        let whole = self.stale || !finished.is_empty() || rows.len() > self.shown.len();
        let mut frame = String::new();
        if whole {
            self.draw_whole(finished, &rows, &mut frame);
        } else {
            self.draw_changes(&rows, &mut frame);
        }
        (self.shown, self.stale) = (rows, false);
        if !frame.is_empty() {
            self.writer.write(format!("{BEGIN}{frame}{END}"));
        }
    }

    fn draw_whole(&self, finished: &[Line<'_>], rows: &[Row], frame: &mut String) {
        frame.push('\r');
        if self.stale {
            // What stands there may have been broken into other lines.
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
        frame.push_str(CUT);
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
        park(rows.len().saturating_sub(1), frame);
    }

    fn draw_changes(&self, rows: &[Row], frame: &mut String) {
        let shrinks = rows.len() < self.shown.len();
        let mut below = 0;
        for (at, (row, shown)) in rows.iter().zip(&self.shown).enumerate() {
            let is_last = shrinks && at + 1 == rows.len();
            if row == shown && !is_last {
                continue;
            }
            if frame.is_empty() {
                frame.push_str(CUT);
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
            park(below, frame);
        }
    }

    /// Gives the terminal back for a while, as the shell wants it.
    pub(crate) fn suspend(&mut self) {
        self.writer.drain(PATIENCE);
        self.raw.suspend();
    }

    /// Takes it back.
    pub(crate) fn resume(&mut self) -> io::Result<()> {
        self.raw.resume()?;
        self.shown.clear();
        self.resized();
        Ok(())
    }

    /// Gives it back. The live area goes, and what was finished stays.
    pub(crate) fn leave(self) {
        self.writer.drain(PATIENCE);
        drop(self.raw);
    }
}

/// Back to the top left, from so many rows below it.
fn park(below: usize, frame: &mut String) {
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
