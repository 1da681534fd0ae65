//! The terminal's modes, restored on exit and on panic.

use std::{
    io::{self, IsTerminal, Write},
    panic,
    sync::Once,
    thread,
};

use parking_lot::Mutex;
use ratatui::layout::Size;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// Enables bracketed paste and focus reports, and hides the cursor.
const ENTER: &str = "\x1b[?2004h\x1b[?1004h\x1b[?25l";
/// Undoes [`ENTER`] and everything that a frame may have enabled, and erases the live area, which
/// starts at the cursor.
const LEAVE: &str = "\x1b[?7h\x1b[?2026l\x1b[0m\r\x1b[J\x1b[?1004l\x1b[?2004l\x1b[?25h";

/// The modes to restore when raw mode ends, or `None` while raw mode is not active.
static SAVED_MODES: Mutex<Option<Termios>> = Mutex::new(None);

/// The modes before raw mode was last entered. Unlike [`SAVED_MODES`], kept when raw mode ends, for
/// [`Raw::resume_after_program`].
static ORIGINAL_MODES: Mutex<Option<Termios>> = Mutex::new(None);

/// Messages from panics on other threads.
static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Reports whether both stdin and stdout are terminals.
pub(crate) fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Returns the columns and rows, or `None` if the terminal does not report them.
pub(super) fn size() -> Option<Size> {
    let size = tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0 && size.ws_row > 0).then_some(Size {
        width: size.ws_col,
        height: size.ws_row,
    })
}

/// A guard for raw mode, which is active until the guard is dropped.
#[derive(Debug)]
pub(crate) struct Raw(());

impl Raw {
    pub(super) fn enter() -> io::Result<Self> {
        restore_on_panic();
        let raw = Self(());
        raw.resume()?;
        Ok(raw)
    }

    /// Leaves raw mode temporarily.
    #[expect(clippy::unused_self, reason = "proves that raw mode was entered")]
    pub(super) fn suspend(&self) {
        leave();
    }

    /// Enters raw mode again after another program has used the terminal. First restores the
    /// original modes, because a program that crashed may have left its own.
    pub(super) fn resume_after_program(&self) -> io::Result<()> {
        let original = ORIGINAL_MODES.lock().clone();
        if let Some(original) = original {
            tcsetattr(io::stdin(), OptionalActions::Now, &original)?;
        }
        self.resume()
    }

    /// Enters raw mode, saving the current modes.
    #[expect(clippy::unused_self, reason = "proves that raw mode was entered")]
    pub(super) fn resume(&self) -> io::Result<()> {
        let saved = tcgetattr(io::stdin())?;
        let mut raw = saved.clone();
        raw.make_raw();
        *ORIGINAL_MODES.lock() = Some(saved.clone());
        *SAVED_MODES.lock() = Some(saved);
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        write(ENTER)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        leave();
    }
}

/// Restores the terminal if raw mode is active. Errors are ignored: the terminal may be gone.
pub(crate) fn leave() {
    let saved = SAVED_MODES.lock().take();
    if let Some(saved) = saved {
        let _ = write(LEAVE);
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &saved);
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Installs a panic hook. If the drawing thread panics, the hook restores the terminal before it
/// prints the message. If another thread panics, it saves the message, which zot then shows on the
/// screen.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let drawing_thread = thread::current().id();
        let default_hook = panic::take_hook();
        panic::set_hook(Box::new(move |panicked| {
            if thread::current().id() == drawing_thread {
                leave();
            }
            if SAVED_MODES.lock().is_some() {
                PANICS.lock().push(panicked.to_string());
            } else {
                default_hook(panicked);
            }
        }));
    });
}

/// Takes the saved messages from panics on other threads.
pub(crate) fn panics() -> Vec<String> {
    std::mem::take(&mut *PANICS.lock())
}
