//! Timestamps for messages and sessions: UTC in RFC 3339 with milliseconds.

use std::time::SystemTime;

/// Returns the current time, such as `2026-04-19T11:30:00.250Z`.
pub fn now() -> String {
    rfc3339(SystemTime::now())
}

/// Formats a time in RFC 3339. Times before 1970 and after the year 9999 become the start of 1970.
pub fn rfc3339(time: SystemTime) -> String {
    // `humantime` cannot format years before 1970 or after 9999, and `to_string` would panic.
    let most = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(253_402_300_799);
    let shown = if (SystemTime::UNIX_EPOCH..=most).contains(&time) {
        time
    } else {
        SystemTime::UNIX_EPOCH
    };
    humantime::format_rfc3339_millis(shown).to_string()
}

/// Formats a timestamp for a file name: `20260419T113000.250Z`. Such names sort by time.
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
    fn formats_as_rfc_3339_and_as_a_file_name() {
        let time = SystemTime::UNIX_EPOCH + Duration::from_millis(1_776_598_200_250);
        assert_eq!(rfc3339(time), "2026-04-19T11:30:00.250Z");
        assert_eq!(for_file_name(&rfc3339(time)), "20260419T113000.250Z");
    }

    #[test]
    fn a_time_out_of_range_does_not_panic() {
        let epoch = SystemTime::UNIX_EPOCH;
        for far in [Duration::from_secs(1), Duration::from_secs(1 << 40)] {
            rfc3339(epoch - far);
            rfc3339(epoch + far);
        }
    }
}
