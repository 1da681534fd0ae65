//! Prints benchmark results in the columns that `.ci/bench` collects.

pub(crate) fn head(title: &str) {
    println!("{title:<60}  {:>14}  {:>14}", "goal", "figure");
}

/// Prints a result: what was measured, the goal and the figure with units, whether the goal is met,
/// and a remark.
pub(crate) fn line(what: &str, goal: &str, figure: &str, passes: bool, remark: &str) {
    let verdict = if passes { "pass" } else { "MISS" };
    let line = format!("{what:<60}  {goal:>14}  {figure:>14}  {verdict:<4}  {remark}");
    println!("{}", line.trim_end());
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
