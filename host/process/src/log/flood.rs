use std::time::{Duration, Instant};

/// Drops lines that arrive too fast, and counts them.
///
/// A token bucket of bytes that fills at `rate` up to `burst`. Once a line does not fit, all lines
/// are dropped until a quarter of the bucket is full again; otherwise a steady flood would be
/// written as single lines between counts.
#[derive(Debug)]
pub(super) struct Flood {
    burst: u64,
    rate: u64,
    /// What each line costs in addition to its own bytes.
    per_line: u64,
    room: u64,
    filled: Instant,
    /// The number of dropped lines that have not been reported yet.
    pub(super) dropped: u64,
}

impl Flood {
    pub(super) fn new(burst: u64, rate: u64, now: Instant) -> Self {
        Self {
            burst,
            rate,
            per_line: 0,
            room: burst,
            filled: now,
            dropped: 0,
        }
    }

    /// Makes each line cost this many bytes more than its length. Otherwise, a flood of empty lines
    /// would become a flood of timestamps.
    pub(super) fn per_line(mut self, bytes: usize) -> Self {
        self.per_line = bytes as u64;
        self
    }

    /// Appends the line to `out`, or drops it.
    pub(super) fn pass(&mut self, line: &[u8], now: Instant, out: &mut Vec<u8>) {
        self.fill(now);
        let size = line.len() as u64 + self.per_line;
        let flooded = self.dropped > 0;
        if size > self.room || (flooded && self.room < self.burst / 4) {
            self.dropped += 1;
            return;
        }
        self.report(out);
        self.room -= size;
        out.extend_from_slice(line);
    }

    /// Writes how many lines were dropped, if any.
    pub(super) fn report(&mut self, out: &mut Vec<u8>) {
        match std::mem::take(&mut self.dropped) {
            0 => {}
            1 => out.extend_from_slice(b"[zot] 1 line dropped (too much output)\n"),
            n => {
                let note = format!("[zot] {n} lines dropped (too much output)\n");
                out.extend_from_slice(note.as_bytes());
            }
        }
    }

    fn fill(&mut self, now: Instant) {
        // Count whole bytes and the time they took, so that fractions are not lost.
        let passed = now.saturating_duration_since(self.filled);
        let bytes = u128::from(self.rate) * passed.as_nanos() / 1_000_000_000;
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        if bytes >= self.burst - self.room {
            self.room = self.burst;
            self.filled = now;
        } else if bytes > 0 {
            self.room += bytes;
            let nanos = u128::from(bytes) * 1_000_000_000 / u128::from(self.rate);
            self.filled += Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &[u8] = b"123456789\n";

    fn text(out: &[u8]) -> &str {
        std::str::from_utf8(out).unwrap()
    }

    #[test]
    fn a_burst_passes_and_dropped_lines_are_counted() {
        let start = Instant::now();
        let mut flood = Flood::new(100, 10, start);
        let mut out = Vec::new();
        for _ in 0..25 {
            flood.pass(LINE, start, &mut out);
        }
        assert_eq!(out, LINE.repeat(10));
        out.clear();
        flood.report(&mut out);
        assert_eq!(text(&out), "[zot] 15 lines dropped (too much output)\n");
        assert_eq!(flood.dropped, 0);
    }

    #[test]
    fn empty_lines_count_towards_a_flood() {
        let start = Instant::now();
        let mut flood = Flood::new(100, 10, start).per_line(19);
        let mut out = Vec::new();
        for _ in 0..25 {
            flood.pass(b"\n", start, &mut out);
        }
        assert_eq!(out, b"\n\n\n\n\n");
    }

    #[test]
    fn continues_when_a_quarter_is_free() {
        let start = Instant::now();
        let mut flood = Flood::new(100, 10, start);
        let mut out = Vec::new();
        for _ in 0..11 {
            flood.pass(LINE, start, &mut out);
        }
        out.clear();
        flood.pass(LINE, start + Duration::from_millis(2400), &mut out);
        assert_eq!(text(&out), "", "24 of 100 bytes are free");
        flood.pass(LINE, start + Duration::from_millis(2500), &mut out);
        assert_eq!(
            text(&out),
            "[zot] 2 lines dropped (too much output)\n123456789\n"
        );
    }

    #[test]
    fn many_small_steps_refill_as_much_as_one() {
        let start = Instant::now();
        let mut flood = Flood::new(1000, 10, start);
        let mut out = Vec::new();
        flood.pass(&[b'x'; 1000], start, &mut out);
        for step in 1..=1000 {
            flood.fill(start + Duration::from_millis(step * 7));
        }
        assert!((69..=70).contains(&flood.room), "{}", flood.room);
    }

    #[test]
    fn an_empty_bucket_passes_nothing() {
        let start = Instant::now();
        let mut flood = Flood::new(0, 0, start);
        let mut out = Vec::new();
        flood.pass(LINE, start + Duration::from_hours(1), &mut out);
        assert!(out.is_empty());
        assert_eq!(flood.dropped, 1);
    }
}
