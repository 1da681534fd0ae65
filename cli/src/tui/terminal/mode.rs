//! The terminal's modes: as the shell had them, and back to that whatever happens.

use std::{
    io::{self, IsTerminal, Write},
    panic,
    sync::{Mutex, Once, PoisonError},
    thread,
};

use ratatui::layout::Size;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// Pastes come marked, and the cursor is drawn by us.
const ENTER: &str = "\x1b[?2004h\x1b[?25l";
/// Everything that a frame or [`ENTER`] may have switched on, off; and the live area, which the cursor is before, goes.
const LEAVE: &str = "\x1b[?7h\x1b[?2026l\x1b[0m\r\x1b[J\x1b[?2004l\x1b[?25h";

/// The modes as they were; `None` while they are so.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// What other threads have panicked with.
static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Whether there is a terminal to read from and to write to.
pub(crate) fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Its columns and rows; `None` where it does not say.
pub(super) fn size() -> Option<Size> {
    let size = tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0 && size.ws_row > 0).then_some(Size {
        width: size.ws_col,
        height: size.ws_row,
    })
}

/// Keys come one by one and nothing is echoed, for as long as this is there.
#[derive(Debug)]
pub(crate) struct Raw(());

impl Raw {
    pub(super) fn enter() -> io::Result<Self> {
        restore_on_panic();
        let raw = Self(());
        raw.resume()?;
        Ok(raw)
    }

    /// Gives the terminal back for a while.
    #[expect(clippy::unused_self, reason = "whoever has it has entered")]
    pub(super) fn suspend(&self) {
        leave();
    }

    /// Takes it back, as it is by now.
    #[expect(clippy::unused_self, reason = "whoever has it has entered")]
    pub(super) fn resume(&self) -> io::Result<()> {
        let before = tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        write(ENTER)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        leave();
    }
}

/// Gives the terminal back, if it is ours. Where it has gone, that is nobody's loss.
pub(crate) fn leave() {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(before) = before {
        let _ = write(LEAVE);
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// What a panic has to say is said on a terminal that shows it. On another thread than the one that draws, it is that
/// thread's end and nobody else's: it is kept for the screen.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let draws = thread::current().id();
        let say = panic::take_hook();
        panic::set_hook(Box::new(move |panicked| {
            if thread::current().id() == draws {
                leave();
            }
            let is_ours = BEFORE
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .is_some();
            if is_ours {
                let mut kept = PANICS.lock().unwrap_or_else(PoisonError::into_inner);
                kept.push(panicked.to_string());
            } else {
                say(panicked);
            }
        }));
    });
}

/// What threads have panicked with since the last time.
pub(crate) fn panics() -> Vec<String> {
    std::mem::take(&mut *PANICS.lock().unwrap_or_else(PoisonError::into_inner))
}
