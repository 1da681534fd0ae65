//! Random choices from a seed, the same on every machine.

use rand_core::{Rng as _, SeedableRng as _};
use rand_xorshift::XorShiftRng;

/// A seeded random number generator.
#[derive(Debug, Clone)]
pub(super) struct Rng(XorShiftRng);

impl Rng {
    pub(super) fn new(seed: u64) -> Self {
        Self(XorShiftRng::seed_from_u64(seed))
    }

    /// Returns a seed for another generator, so that the choices for one value do not affect the
    /// next value.
    pub(super) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns one of `0..count`, or 0 if `count` is 0. The modulo bias does not matter here.
    pub(super) fn below(&mut self, count: usize) -> usize {
        let count = u64::try_from(count).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.0.next_u64() % count).unwrap_or(0)
    }

    /// Returns one of `low..=high`.
    pub(super) fn within(&mut self, low: i128, high: i128) -> i128 {
        let span = high.saturating_sub(low).saturating_add(1).max(1);
        low + i128::from(self.0.next_u64()) % span
    }

    /// Returns true with a probability of one in `chances`.
    pub(super) fn once_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    pub(super) fn pick<'l, T>(&mut self, list: &'l [T]) -> Option<&'l T> {
        list.get(self.below(list.len()))
    }

    pub(super) fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.below(last + 1));
        }
    }
}
