//! Prints results in the columns that `.ci/bench` collects: name, goal, figure, pass or miss, and
//! baseline.

use super::{
    Bench,
    row::{self, median},
};

/// The figure and the baseline of one round, in seconds or bytes.
pub(crate) type Round = (f64, f64);

/// The limit for a figure.
#[derive(Clone, Copy)]
pub(crate) enum Goal {
    /// At most this many milliseconds.
    Milliseconds(f64),
    /// At most this many million bytes.
    Megabytes(f64),
}

pub(crate) struct Row {
    pub(crate) what: &'static str,
    pub(crate) goal: Goal,
    pub(crate) measure: fn(&Bench) -> Vec<Round>,
}

pub(crate) fn print(bench: &Bench, rows: &[Row]) {
    row::head("zot rpc");
    for row in rows {
        row.print(&(row.measure)(bench));
    }
}

impl Row {
    fn print(&self, rounds: &[Round]) {
        let middle = |of: fn(&Round) -> f64| median(rounds.iter().map(of).collect());
        let (zot, baseline) = (middle(|round| round.0), middle(|round| round.1));
        let (goal, figure, passes, (zot, baseline)) = match self.goal {
            Goal::Milliseconds(goal) => {
                let ms = zot * 1e3;
                let times = (
                    format!("{:.1} us", zot * 1e6),
                    format!("{:.1} us", baseline * 1e6),
                );
                (
                    format!("<= {goal} ms"),
                    format!("{ms:.1} ms"),
                    ms <= goal,
                    times,
                )
            }
            Goal::Megabytes(goal) => {
                let mb = zot / 1e6;
                let sizes = (
                    format!("{:.0} kB", zot / 1e3),
                    format!("{:.0} kB", baseline / 1e3),
                );
                (
                    format!("<= {goal} MB"),
                    format!("{mb:.1} MB"),
                    mb <= goal,
                    sizes,
                )
            }
        };
        let remark = format!("{zot}, baseline {baseline}");
        row::line(self.what, &goal, &figure, passes, &remark);
    }
}
