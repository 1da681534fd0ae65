//! Shows the progress of a fetch on a terminal.

use std::{
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
};

/// Delay before the progress line is shown.
const DELAY: Duration = Duration::from_millis(500);
const TICK: Duration = Duration::from_millis(100);

/// How much of a pack was received.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Received {
    pub(super) objects: usize,
    pub(super) of: usize,
    pub(super) bytes: u64,
}

/// A line that is overwritten in place and cleared on drop. Does nothing without a terminal.
#[derive(Debug)]
pub(super) struct Progress {
    shown: bool,
    next: Instant,
    what: String,
    is_terminal: bool,
}

impl Progress {
    pub(super) fn new(what: String) -> Self {
        Self {
            shown: false,
            next: Instant::now() + DELAY,
            what,
            is_terminal: io::stderr().is_terminal(),
        }
    }

    pub(super) fn show(&mut self, received: Received) {
        if !self.is_terminal || Instant::now() < self.next {
            return;
        }
        self.next = Instant::now() + TICK;
        self.shown = true;
        let Received { objects, of, .. } = received;
        let amount = if of == 0 {
            "waiting for the server".to_owned()
        } else {
            format!("{objects}/{of} objects, {}", bytes(received.bytes))
        };
        let _ = write!(io::stderr(), "\r\x1b[K{}: {amount}", self.what);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

/// `1.2 KiB`
pub(super) fn bytes(count: u64) -> String {
    const KIB: u64 = 1024;
    let (unit, name) = match count {
        0..KIB => return format!("{count} bytes"),
        KIB..0x10_0000 => (KIB, "KiB"),
        _ => (KIB * KIB, "MiB"),
    };
    let tenths = count * 10 / unit;
    format!("{}.{} {name}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_have_one_decimal() {
        assert_eq!(bytes(1023), "1023 bytes");
        assert_eq!(bytes(1024), "1.0 KiB");
        assert_eq!(bytes(1024 * 1024 - 1), "1023.9 KiB");
        assert_eq!(bytes(3 * 1024 * 1024 / 2), "1.5 MiB");
    }
}
