//! The retry policy for requests that failed temporarily.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    time::Duration,
};

use reqwest::header::{HeaderMap, RETRY_AFTER};

/// How to retry a model call that failed because the provider was overloaded or unreachable, or cut
/// its answer off.
#[derive(Debug, Clone)]
pub struct Retry {
    /// The delay before the first retry. It doubles with each retry.
    pub first: Duration,
    /// The longest delay, not counting jitter, unless the provider asks for more.
    pub longest: Duration,
    /// How long to keep retrying after the first failure. If the next delay would exceed it, the
    /// call fails.
    pub total: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            first: Duration::from_millis(500),
            longest: Duration::from_secs(30),
            total: Duration::from_mins(5),
        }
    }
}

impl Retry {
    /// Returns a policy that never retries.
    pub fn never() -> Self {
        Self {
            total: Duration::ZERO,
            ..Self::default()
        }
    }

    /// Returns the delay before the next retry, or `None` to give up. `done` is the number of
    /// retries so far, `passed` is the time since the first failure, and `asked` is the provider's
    /// `Retry-After`.
    pub fn wait(&self, done: u32, passed: Duration, asked: Option<Duration>) -> Option<Duration> {
        self.wait_by(done, passed, asked, random_fraction())
    }

    fn wait_by(
        &self,
        done: u32,
        passed: Duration,
        asked: Option<Duration>,
        fraction: f64,
    ) -> Option<Duration> {
        let own = self.first.saturating_mul(1 << done.min(16));
        let own = own.min(self.longest);
        // Jitter of up to half the delay, so that clients that failed together do not retry
        // together.
        let wait = asked.unwrap_or(own) + own.mul_f64(fraction / 2.0);
        (!self.total.is_zero() && passed + wait <= self.total).then_some(wait)
    }
}

/// Reports whether a request with this status can be retried.
pub(super) fn can_retry_status(status: u16) -> bool {
    matches!(status, 408 | 409 | 429 | 500..=599)
}

/// Reports whether an error with this code or type is temporary.
pub(super) fn can_retry_kind(kind: &str) -> bool {
    matches!(
        kind,
        "api_error"
            | "internal_server_error"
            | "overloaded_error"
            | "rate_limit_error"
            | "rate_limit_exceeded"
            | "server_error"
            | "server_is_overloaded"
            | "server_overloaded"
            | "service_unavailable_error"
            | "slow_down"
            | "timeout_error"
    )
}

/// Returns the provider's delay, from `retry-after-ms` or from `retry-after` in seconds. A date,
/// which no provider sends, is ignored.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |text: &str, unit: f64| {
        Duration::try_from_secs_f64(text.trim().parse::<f64>().ok()? * unit).ok()
    };
    let header = |name: &str| headers.get(name)?.to_str().ok();
    let precise = header("retry-after-ms").and_then(|text| number(text, 1e-3));
    precise.or_else(|| number(header(RETRY_AFTER.as_str())?, 1.0))
}

/// Returns a random number from 0 to 1. The seed of the standard library's hash maps is good
/// enough.
fn random_fraction() -> f64 {
    let random = RandomState::new().build_hasher().finish();
    f64::from((random >> 32) as u32) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    const RETRY: Retry = Retry {
        first: s(1),
        longest: s(4),
        total: s(20),
    };

    #[test]
    fn delays_grow_until_the_total_is_used_up() {
        let wait = |done, waited, fraction| RETRY.wait_by(done, s(waited), None, fraction);
        assert_eq!(wait(0, 0, 0.0), Some(s(1)));
        assert_eq!(wait(1, 1, 0.0), Some(s(2)));
        assert_eq!(wait(1, 1, 1.0), Some(s(3)));
        assert_eq!(wait(9, 16, 0.0), Some(s(4)));
        assert_eq!(wait(10, 17, 0.0), None);
        assert_eq!(Retry::never().wait(0, s(0), Some(s(0))), None);
    }

    #[test]
    fn honours_retry_after_within_the_total() {
        let wait = |asked| RETRY.wait_by(0, s(0), Some(s(asked)), 0.0);
        assert_eq!(wait(20), Some(s(20)));
        assert_eq!(wait(0), Some(s(0)));
        assert_eq!(wait(3600), None);
    }

    #[test]
    fn parses_retry_after() {
        let parsed = |name: &'static str, value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_static(value));
            retry_after(&headers)
        };
        assert_eq!(parsed("retry-after", "7"), Some(s(7)));
        assert_eq!(
            parsed("retry-after", " 0.5 "),
            Some(Duration::from_millis(500))
        );
        assert_eq!(
            parsed("retry-after-ms", "250"),
            Some(Duration::from_millis(250))
        );
        for nonsense in ["", "-1", "NaN", "1e300", "Wed, 21 Oct 2015 07:28:00 GMT"] {
            assert_eq!(parsed("retry-after", nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn the_random_fraction_is_in_range() {
        assert!((0..1000).all(|_| (0.0..=1.0).contains(&random_fraction())));
    }
}
