//! When to ask again, and after how long.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    time::Duration,
};

/// How often and how patiently a request is repeated that failed before anything of its answer was given on.
#[derive(Debug, Clone)]
pub struct Retry {
    /// How often at most, beyond the first time.
    pub times: u32,
    /// The wait before the first repetition; each further one is twice as long.
    pub first: Duration,
    /// The longest wait that a provider may ask for. Who asks for more is believed: the request has failed.
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
    /// How long to wait before repetition number `done`, counted from 0; `None`: not at all. `asked` is what the
    /// provider asks for.
    pub fn wait(&self, done: u32, asked: Option<Duration>) -> Option<Duration> {
        self.wait_by(done, asked, luck())
    }

    fn wait_by(&self, done: u32, asked: Option<Duration>, luck: f64) -> Option<Duration> {
        if done >= self.times {
            return None;
        }
        let own = self.first.saturating_mul(1 << done.min(16));
        // Up to half more, so that those who failed together do not return together.
        let jitter = own.mul_f64(luck / 2.0);
        match asked {
            Some(asked) if asked > self.longest => None,
            Some(asked) => Some(asked + jitter),
            None => Some(own.min(self.longest) + jitter),
        }
    }
}

/// Whether a status is one that passes.
pub(super) fn passes(status: u16) -> bool {
    matches!(status, 429 | 502 | 503 | 504 | 529)
}

/// What `Retry-After` asks for, in seconds; a date, which no provider sends, is ignored.
pub(super) fn retry_after(value: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(value.trim().parse().ok()?).ok()
}

/// Something from 0 to 1, other for each process and each call. The standard library seeds its hash maps well enough.
fn luck() -> f64 {
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
    fn twice_and_each_time_longer() {
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
    fn as_long_as_the_provider_asks_but_not_for_ever() {
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
    fn retry_after_is_read() {
        assert_eq!(retry_after("7"), Some(s(7)));
        assert_eq!(retry_after(" 0.5 "), Some(Duration::from_millis(500)));
        for nonsense in ["", "-1", "NaN", "1e300", "Wed, 21 Oct 2015 07:28:00 GMT"] {
            assert_eq!(retry_after(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn luck_stays_in_its_range() {
        assert!((0..1000).all(|_| (0.0..=1.0).contains(&luck())));
    }
}
