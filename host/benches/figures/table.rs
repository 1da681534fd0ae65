//! Rows of figures: what, its goal, the ratio, pass or miss.

use super::Bench;

/// A time and its floor, in seconds, of one round.
pub(crate) type Round = (f64, f64);

pub(crate) struct Row {
    pub(crate) what: &'static str,
    /// The largest ratio that passes.
    pub(crate) goal: f64,
    pub(crate) measure: fn(&Bench) -> Vec<Round>,
    /// Whether it also means something on one core.
    pub(crate) pinned_too: bool,
}

pub(crate) struct Table;

impl Table {
    pub(crate) fn print(bench: &Bench, rows: impl Iterator<Item = Row>) {
        let how = if bench.pinned {
            "the host, pinned to one core"
        } else {
            "the host, as a user has it"
        };
        println!(
            "{how:<58} {:>9} {:>9} {:>12} {:>12}",
            "goal", "ratio", "host", "floor"
        );
        for row in rows {
            row.print(&(row.measure)(bench));
        }
    }
}

impl Row {
    fn print(&self, rounds: &[Round]) {
        let ratio = median(rounds.iter().map(|(host, floor)| host / floor).collect());
        let host = median(rounds.iter().map(|(host, _)| *host).collect()) * 1e6;
        let floor = median(rounds.iter().map(|(_, floor)| *floor).collect()) * 1e6;
        let verdict = if ratio <= self.goal { "pass" } else { "MISS" };
        println!(
            "{:<58} {:>9} {ratio:>8.2}x {host:>9.1} us {floor:>9.1} us  {verdict}",
            self.what,
            format!("<= {}x", self.goal)
        );
    }
}

pub(crate) fn median(values: Vec<f64>) -> f64 {
    quantile(values, 0.5)
}

pub(crate) fn quantile(mut values: Vec<f64>, part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a few thousand values, and a part between 0 and 1"
    )]
    let at = (values.len() as f64 * part) as usize;
    values[at.min(values.len() - 1)]
}
