//! Result rows: description, goal, figure, pass or miss, and the absolute times. `.ci/bench`
//! collects these columns.

use super::Bench;

/// The measured time and the baseline time of one round, in seconds.
pub(crate) type Round = (f64, f64);

/// The condition under which a row passes.
#[derive(Clone, Copy)]
pub(crate) enum Goal {
    /// At most this many times the baseline.
    Ratio(f64),
    /// At most this many microseconds more than the baseline.
    More(f64),
}

pub(crate) struct Row {
    pub(crate) what: &'static str,
    pub(crate) goal: Goal,
    pub(crate) measure: fn(&Bench) -> Vec<Round>,
    /// Whether the row is also meaningful when pinned to one core.
    pub(crate) pinned_too: bool,
}

pub(crate) struct Table;

impl Table {
    pub(crate) fn print(bench: &Bench, rows: impl Iterator<Item = Row>) {
        let how = if bench.pinned {
            "the host, pinned to one core"
        } else {
            "the host, unpinned"
        };
        println!("{how:<60}  {:>14}  {:>14}", "goal", "figure");
        for row in rows {
            row.print(&(row.measure)(bench), bench.pinned);
        }
    }
}

impl Row {
    fn print(&self, rounds: &[Round], pinned: bool) {
        let middle = |of: fn(&Round) -> f64| median(rounds.iter().map(of).collect());
        let (host, floor) = (middle(|round| round.0) * 1e6, middle(|round| round.1) * 1e6);
        let ratio = middle(|(host, floor)| host / floor);
        let verdict = |passes: bool| if passes { "pass" } else { "MISS" };
        let (goal, figure, verdict) = match self.goal {
            Goal::Ratio(goal) => (
                format!("<= {goal}x"),
                format!("{ratio:.2}x"),
                verdict(ratio <= goal),
            ),
            Goal::More(goal) => {
                let more = middle(|(host, floor)| host - floor) * 1e6;
                (
                    format!("<= +{goal} us"),
                    format!("{more:+.1} us"),
                    verdict(more <= goal),
                )
            }
        };
        let what = format!("{}{}", self.what, if pinned { ", pinned" } else { "" });
        println!(
            "{what:<60}  {goal:>14}  {figure:>14}  {verdict:<4}  {host:.1} us, floor {floor:.1} us"
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
        reason = "a few thousand values, and `part` is between 0 and 1"
    )]
    let at = (values.len() as f64 * part) as usize;
    values[at.min(values.len() - 1)]
}
