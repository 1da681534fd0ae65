//! How far a fetch is, on a terminal.

use std::{
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
};

/// What takes less is not worth a line.
const PATIENCE: Duration = Duration::from_millis(500);
const TICK: Duration = Duration::from_millis(100);

/// How much of a pack has arrived.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Arrived {
    pub(super) objects: usize,
    pub(super) of: usize,
    pub(super) bytes: u64,
}

/// A line that is written over and goes in the end. Without a terminal there is none.
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
            next: Instant::now() + PATIENCE,
            what,
            is_terminal: io::stderr().is_terminal(),
        }
    }

    pub(super) fn show(&mut self, arrived: Arrived) {
        if !self.is_terminal || Instant::now() < self.next {
            return;
        }
        self.next = Instant::now() + TICK;
        self.shown = true;
        let Arrived { objects, of, .. } = arrived;
        let amount = if of == 0 {
            "waiting for the server".to_owned()
        } else {
            format!("{objects}/{of} objects, {}", bytes(arrived.bytes))
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
    fn sizes_read_well() {
        assert_eq!(bytes(1023), "1023 bytes");
        assert_eq!(bytes(1024), "1.0 KiB");
        assert_eq!(bytes(1024 * 1024 - 1), "1023.9 KiB");
        assert_eq!(bytes(3 * 1024 * 1024 / 2), "1.5 MiB");
    }
}
