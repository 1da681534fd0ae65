//! How much of a fetch is done.

use std::fmt;

/// How much of a pack was received.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Received {
    pub(super) objects: usize,
    pub(super) of: usize,
    pub(super) bytes: u64,
}

impl fmt::Display for Received {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { objects, of, .. } = self;
        match of {
            0 => formatter.write_str("waiting for the server"),
            of => write!(formatter, "{objects}/{of} objects, {}", bytes(self.bytes)),
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
