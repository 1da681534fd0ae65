//! Durations in transcript syntax: `100ms`, `5s`, `2m`.

use std::time::Duration;

/// Parses a duration.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    match unit {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => number.checked_mul(60).map(Duration::from_secs),
        _ => None,
    }
}

/// Formats a duration, in seconds if it is a whole number of seconds.
pub(super) fn write(span: Duration) -> String {
    if span.subsec_nanos() == 0 {
        format!("{}s", span.as_secs())
    } else {
        format!("{}ms", span.as_millis())
    }
}
