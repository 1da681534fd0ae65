//! The retry policy for requests.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    time::Duration,
};

/// How to retry a request that failed before any of its answer was used.
#[derive(Debug, Clone)]
pub struct Retry {
    /// The maximum number of retries.
    pub times: u32,
    /// The delay before the first retry. It doubles with each retry.
    pub first: Duration,
    /// The longest `Retry-After` to honour. If the provider asks for more, the request fails.
    pub longest: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            times: 2,
            first: Duration::from_millis(500),
            longest: Duration::from_secs(60),
        }
    }
}

impl Retry {
    /// Returns the delay before the next retry, or `None` to give up. `done` is the number of retries
    /// so far, and `asked` is the provider's `Retry-After`.
    pub fn wait(&self, done: u32, asked: Option<Duration>) -> Option<Duration> {
        self.wait_by(done, asked, random_fraction())
    }

    fn wait_by(&self, done: u32, asked: Option<Duration>, fraction: f64) -> Option<Duration> {
        if done >= self.times {
            return None;
        }
        let own = self.first.saturating_mul(1 << done.min(16));
        // Jitter of up to half the delay, so that clients that failed together do not retry
        // together.
        let jitter = own.mul_f64(fraction / 2.0);
        match asked {
            Some(asked) if asked > self.longest => None,
            Some(asked) => Some(asked + jitter),
            None => Some(own.min(self.longest) + jitter),
        }
    }
}

/// Reports whether a request with this status can be retried.
pub(super) fn can_retry_status(status: u16) -> bool {
    matches!(status, 429 | 502 | 503 | 504 | 529)
}

/// Parses `Retry-After` in seconds. A date, which no provider sends, is ignored.
pub(super) fn retry_after(value: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(value.trim().parse().ok()?).ok()
}

/// Returns a random number from 0 to 1. The seed of the standard library's hash maps is good
/// enough.
fn random_fraction() -> f64 {
    let random = RandomState::new().build_hasher().finish();
    f64::from((random >> 32) as u32) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn retries_twice_with_growing_delays() {
        let retry = Retry {
            times: 2,
            first: s(1),
            longest: s(60),
        };
        assert_eq!(retry.wait_by(0, None, 0.0), Some(s(1)));
        assert_eq!(retry.wait_by(1, None, 0.0), Some(s(2)));
        assert_eq!(retry.wait_by(1, None, 1.0), Some(s(3)));
        assert_eq!(retry.wait_by(2, None, 0.0), None);
    }

    #[test]
    fn honours_retry_after_up_to_the_limit() {
        let retry = Retry {
            times: 2,
            first: s(1),
            longest: s(60),
        };
        assert_eq!(retry.wait_by(0, Some(s(20)), 0.0), Some(s(20)));
        assert_eq!(retry.wait_by(0, Some(s(0)), 0.0), Some(s(0)));
        assert_eq!(retry.wait_by(0, Some(s(3600)), 0.0), None);
    }

    #[test]
    fn parses_retry_after() {
        assert_eq!(retry_after("7"), Some(s(7)));
        assert_eq!(retry_after(" 0.5 "), Some(Duration::from_millis(500)));
        for nonsense in ["", "-1", "NaN", "1e300", "Wed, 21 Oct 2015 07:28:00 GMT"] {
            assert_eq!(retry_after(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn the_random_fraction_is_in_range() {
        assert!((0..1000).all(|_| (0.0..=1.0).contains(&random_fraction())));
    }
}
