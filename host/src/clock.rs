//! The time of day, as messages and sessions carry it: UTC, as RFC 3339 with milliseconds.

use std::time::SystemTime;

/// Now: `2026-04-19T11:30:00.250Z`.
pub fn now() -> String {
    rfc3339(SystemTime::now())
}

/// A time as RFC 3339. One before 1970, from a clock that was never set, reads as the beginning of 1970, and one
/// after the year 9999 likewise.
pub fn rfc3339(time: SystemTime) -> String {
    // Its `Display` fails outside of these years, and `to_string` would panic then.
    let most = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(253_402_300_799);
    let shown = if (SystemTime::UNIX_EPOCH..=most).contains(&time) {
        time
    } else {
        SystemTime::UNIX_EPOCH
    };
    humantime::format_rfc3339_millis(shown).to_string()
}

/// A time as the beginning of a file's name, which sorts by time: `20260419T113000.250Z`.
#[must_use]
pub(crate) fn for_file_name(time: &str) -> String {
    time.chars()
        .filter(|character| !matches!(character, '-' | ':'))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn it_reads_as_rfc_3339_and_sorts_as_a_file_name() {
        let time = SystemTime::UNIX_EPOCH + Duration::from_millis(1_776_598_200_250);
        assert_eq!(rfc3339(time), "2026-04-19T11:30:00.250Z");
        assert_eq!(for_file_name(&rfc3339(time)), "20260419T113000.250Z");
    }

    #[test]
    fn a_clock_that_is_far_off_is_no_panic() {
        let epoch = SystemTime::UNIX_EPOCH;
        for far in [Duration::from_secs(1), Duration::from_secs(1 << 40)] {
            rfc3339(epoch - far);
            rfc3339(epoch + far);
        }
    }
}
