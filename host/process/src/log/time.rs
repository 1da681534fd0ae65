//! The timestamp at the start of each line in a log.

use std::time::SystemTime;

/// The format of a timestamp, including the space after it.
const FORMAT: &str = "0000-00-00T00:00:00Z ";

/// The length of a timestamp, including the space after it.
pub(super) const STAMP_BYTES: usize = FORMAT.len();

/// Returns a timestamp of the current time in UTC, including the space after it.
pub(super) fn stamp() -> String {
    format!("{} ", humantime::format_rfc3339_seconds(SystemTime::now()))
}

/// Returns a log line without its timestamp. Lines written by older versions have no timestamp and
/// are returned unchanged.
pub fn untimed(line: &str) -> &str {
    let is_time = line.len() >= FORMAT.len()
        && line
            .bytes()
            .zip(FORMAT.bytes())
            .all(|(byte, format)| match format {
                b'0' => byte.is_ascii_digit(),
                _ => byte == format,
            });
    if is_time { &line[FORMAT.len()..] } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_timestamp_is_removed() {
        assert_eq!(untimed(&format!("{}[zot] a note", stamp())), "[zot] a note");
        assert_eq!(untimed(&stamp()), "");
        for line in [
            "",
            "a line",
            "2026-11-18",
            "2026-11-18T20:15:07Z",
            "2026-11-18 20:15:07Z x",
            "ünïcödé and a bit more",
        ] {
            assert_eq!(untimed(line), line);
        }
    }
}
