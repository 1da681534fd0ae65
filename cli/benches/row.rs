//! A line of figures, in the columns that `.ci/bench` collects.

pub(crate) fn head(title: &str) {
    println!("{title:<60}  {:>14}  {:>14}", "goal", "figure");
}

/// What was measured, its goal and its figure with their units, whether it passes, and what there is to say besides.
pub(crate) fn line(what: &str, goal: &str, figure: &str, passes: bool, remark: &str) {
    let verdict = if passes { "pass" } else { "MISS" };
    let line = format!("{what:<60}  {goal:>14}  {figure:>14}  {verdict:<4}  {remark}");
    println!("{}", line.trim_end());
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
