//! Numbers between bounds.

use serde_json::Value;

use super::{Unsatisfied, place::SchemaNode, rng::Rng};

/// How many numbers to try on either side of the first one if a `not` or `oneOf` rejects it.
const NEIGHBOURS: i128 = 8;
/// Unbounded random numbers stay within the range that every language represents exactly.
const EXACT: i128 = 1 << 53;

/// The constraints on a number from all schemas that apply at its position.
struct Bounds<'n, 's> {
    low: Option<Bound<'n, 's>>,
    high: Option<Bound<'n, 's>>,
    steps: Vec<(&'n SchemaNode<'s>, f64)>,
}

#[derive(Clone, Copy)]
struct Bound<'n, 's> {
    value: f64,
    /// The nearest integer that the bound allows.
    integer: i128,
    node: &'n SchemaNode<'s>,
    keyword: &'static str,
}

impl<'n, 's> Bounds<'n, 's> {
    fn of(leaves: &'n [SchemaNode<'s>]) -> Self {
        let bounds = |keyword, least: bool, exclusive: bool| {
            leaves
                .iter()
                .filter_map(move |node| Bound::of(node, keyword, least, exclusive))
        };
        let low = bounds("minimum", true, false)
            .chain(bounds("exclusiveMinimum", true, true))
            .max_by(|one, other| one.value.total_cmp(&other.value));
        let high = bounds("maximum", false, false)
            .chain(bounds("exclusiveMaximum", false, true))
            .min_by(|one, other| one.value.total_cmp(&other.value));
        let steps = leaves
            .iter()
            .filter_map(|node| Some((node, node.get("multipleOf")?.as_f64()?)))
            .filter(|(_, step)| *step > 0.0)
            .collect();
        Self { low, high, steps }
    }

    /// Returns the keyword to blame if no number fits.
    fn nothing(&self) -> Unsatisfied {
        match (&self.high, self.steps.first()) {
            (Some(high), _) if self.low.is_some_and(|low| low.value >= high.value) => {
                Unsatisfied::at(high.node, high.keyword)
            }
            (_, Some((node, _))) => Unsatisfied::at(node, "multipleOf"),
            (Some(high), None) => Unsatisfied::at(high.node, high.keyword),
            (None, None) => Unsatisfied {
                pointer: String::new(),
                keyword: "minimum".to_owned(),
            },
        }
    }
}

impl<'n, 's> Bound<'n, 's> {
    fn of(
        node: &'n SchemaNode<'s>,
        keyword: &'static str,
        least: bool,
        exclusive: bool,
    ) -> Option<Self> {
        let number = node.get(keyword)?;
        let value = number.as_f64()?;
        let integer = match exact(number) {
            Some(exact) if exclusive && least => exact + 1,
            Some(exact) if exclusive => exact - 1,
            Some(exact) => exact,
            None => nearest(value, least, exclusive),
        };
        Some(Self {
            value,
            integer,
            node,
            keyword,
        })
    }
}

/// Returns the number if it is written as an integer.
pub(super) fn exact(number: &Value) -> Option<i128> {
    let signed = number.as_i64().map(i128::from);
    signed.or_else(|| number.as_u64().map(i128::from))
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "out-of-range numbers saturate, far beyond what JSON represents exactly"
)]
fn nearest(value: f64, least: bool, exclusive: bool) -> i128 {
    let rounded = if least { value.ceil() } else { value.floor() };
    let integer = (rounded as i128).clamp(-(1 << 120), 1 << 120);
    match exclusive && (rounded - value).abs() < f64::EPSILON {
        true if least => integer + 1,
        true => integer - 1,
        false => integer,
    }
}

/// Returns integers within the bounds: a random one if there is an `rng`, then the one nearest to
/// zero, then its neighbours.
pub(super) fn integers(
    leaves: &[SchemaNode<'_>],
    rng: Option<&mut Rng>,
) -> Result<Vec<Value>, Unsatisfied> {
    let bounds = Bounds::of(leaves);
    let low = bounds.low.map_or(-(1 << 120), |bound| bound.integer);
    let high = bounds.high.map_or(1 << 120, |bound| bound.integer);
    let step = bounds
        .steps
        .iter()
        .try_fold(1, |all, (_, step)| common(all, whole(*step)?))
        .ok_or_else(|| bounds.nothing())?;
    let first = if low > 0 {
        low + (step - low.rem_euclid(step)) % step
    } else if high < 0 {
        high - high.rem_euclid(step)
    } else {
        0
    };
    if first < low || first > high {
        return Err(bounds.nothing());
    }
    let mut found = Vec::new();
    if let Some(rng) = rng {
        let (from, to) = (
            low.max(first.min(0) - EXACT),
            high.min(first.max(0) + EXACT),
        );
        let near = (from.max(first - 100 * step), to.min(first + 100 * step));
        let (from, to) = if rng.once_in(3) { (from, to) } else { near };
        let number = rng.within(from, to);
        let number = number - (number - first).rem_euclid(step);
        found.push(if number < low { first } else { number });
    }
    found.push(first);
    for away in 1..=NEIGHBOURS {
        found.extend([first + away * step, first - away * step]);
    }
    found.retain(|number| (low..=high).contains(number));
    Ok(found.into_iter().map(json_integer).collect())
}

/// Returns numbers within the bounds, integers first unless `rng` chooses fractions.
pub(super) fn numbers(
    leaves: &[SchemaNode<'_>],
    mut rng: Option<&mut Rng>,
) -> Result<Vec<Value>, Unsatisfied> {
    let wants_fraction = rng.as_deref_mut().is_some_and(|rng| rng.once_in(2));
    let mut found = Vec::new();
    let whole = integers(leaves, rng.as_deref_mut());
    if wants_fraction || whole.is_err() {
        found.extend(fractions(&Bounds::of(leaves), rng));
    }
    match whole {
        Ok(whole) => found.extend(whole),
        Err(fault) if found.is_empty() => return Err(fault),
        Err(_) => {}
    }
    Ok(found)
}

/// Returns fractional numbers. The caller checks each of them.
fn fractions(bounds: &Bounds<'_, '_>, rng: Option<&mut Rng>) -> Vec<Value> {
    let (low, high) = match (bounds.low, bounds.high) {
        (Some(low), Some(high)) if low.value > high.value => return Vec::new(),
        (Some(low), Some(high)) => (low.value, high.value),
        (Some(low), None) => (low.value, low.value + 100.0),
        (None, Some(high)) => (high.value - 100.0, high.value),
        (None, None) => (-100.0, 100.0),
    };
    let share = rng.map_or(0.5, |rng| {
        f64::from(u16::try_from(rng.below(1000)).unwrap_or(500)) / 1000.0
    });
    let mut found = Vec::new();
    for (_, step) in &bounds.steps {
        let first = ((low + (high - low) * share) / step).floor();
        for away in [0.0, 1.0, -1.0, 2.0, -2.0] {
            found.push((first + away) * step);
        }
        let first = (low / step).floor();
        found.extend([first, first + 1.0, first + 2.0].map(|count| count * step));
    }
    if bounds.steps.is_empty() {
        found.push(low + (high - low) * share);
    }
    // A bound itself may be the only number that matches.
    found.extend([low, high, f64::midpoint(low, high)]);
    found.retain(|number| number.is_finite() && (low..=high).contains(number));
    found.into_iter().map(json_number).collect()
}

/// Returns the smallest positive integer that is a multiple of `step`.
#[expect(
    clippy::cast_possible_truncation,
    reason = "only used for numbers of at most 2^53"
)]
fn whole(step: f64) -> Option<i128> {
    (1..=1000)
        .map(|count| f64::from(count) * step)
        .find(|multiple| multiple.fract().abs() < 1e-9 && *multiple >= 1.0)
        .filter(|multiple| *multiple < 9e15)
        .map(|multiple| multiple as i128)
}

fn common(one: i128, other: i128) -> Option<i128> {
    let (mut divisor, mut rest) = (one, other);
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (one / divisor)
        .checked_mul(other)
        .filter(|step| *step < 1 << 100)
}

/// Converts a float to a JSON number, which is an integer if the float is whole.
pub(super) fn json_number(number: f64) -> Value {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "only used for numbers of at most 2^53"
    )]
    let integer = number as i64;
    if number.fract() == 0.0 && number.abs() < 9e15 {
        Value::from(integer)
    } else {
        Value::from(number)
    }
}

/// Converts an integer to a JSON number. Loses precision beyond 64 bits.
#[expect(clippy::cast_precision_loss, reason = "JSON has no wider integers")]
pub(super) fn json_integer(number: i128) -> Value {
    i64::try_from(number)
        .map(Value::from)
        .or_else(|_| u64::try_from(number).map(Value::from))
        .unwrap_or_else(|_| Value::from(number as f64))
}
