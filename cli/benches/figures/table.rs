//! Rows of figures: what, its goal, the figure, pass or miss; in the columns that `.ci/bench` collects.

/// What passes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Goal {
    AtMost(f64),
    AtLeast(f64),
}

pub(crate) fn head(title: &str) {
    println!("{title:<60}  {:>14}  {:>14}", "goal", "figure");
}

/// Prints one, in this unit.
pub(crate) fn row(what: &str, goal: Goal, figure: f64, unit: &str) {
    let (sign, bound, met) = match goal {
        Goal::AtMost(bound) => ("<=", bound, figure <= bound),
        Goal::AtLeast(bound) => (">=", bound, figure >= bound),
    };
    let digits = if bound >= 100.0 { 0 } else { 2 };
    println!(
        "{what:<60}  {:>14}  {:>14}  {}",
        format!("{sign} {bound}{unit}"),
        format!("{figure:.digits$}{unit}"),
        if met { "pass" } else { "MISS" }
    );
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
