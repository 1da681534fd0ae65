//! Compares JSON values: numbers by value, objects regardless of key order.

use serde_json::{Number, Value};

use super::{pattern::Mismatch, pointer::Path};

/// Compares two values deeply, without allowing further fields, and reports the first difference.
pub(super) fn same(expected: &Value, actual: &Value, at: &Path) -> Result<(), Mismatch> {
    let different = || Err(Mismatch::new(at, shown(expected), Some(actual)));
    match (expected, actual) {
        (Value::Object(expected), Value::Object(actual)) => {
            for (key, value) in expected {
                let at = Path::Key(at, key);
                match actual.get(key) {
                    Some(actual) => same(value, actual, &at)?,
                    None => return Err(Mismatch::new(&at, shown(value), None)),
                }
            }
            match actual.iter().find(|(key, _)| !expected.contains_key(*key)) {
                Some((key, value)) => Err(Mismatch::unexpected(&Path::Key(at, key), value)),
                None => Ok(()),
            }
        }
        (Value::Array(expected_items), Value::Array(items)) => {
            if expected_items.len() != items.len() {
                return different();
            }
            for (index, (expected, actual)) in expected_items.iter().zip(items).enumerate() {
                same(expected, actual, &Path::Item(at, index))?;
            }
            Ok(())
        }
        (Value::Number(left), Value::Number(right)) if same_number(left, right) => Ok(()),
        (left, right) if left == right => Ok(()),
        _ => different(),
    }
}

fn same_number(left: &Number, right: &Number) -> bool {
    match (whole(left), whole(right)) {
        (Some(left), Some(right)) => left == right,
        (None, None) => left.as_f64() == right.as_f64(),
        _ => false,
    }
}

/// Returns the number as an integer if it is one; exact even beyond the 53 bits of a float.
pub(super) fn whole(number: &Number) -> Option<i128> {
    if let Some(number) = number.as_i64() {
        return Some(number.into());
    }
    if let Some(number) = number.as_u64() {
        return Some(number.into());
    }
    let float = number.as_f64()?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "an integral float below 1e38 fits into an `i128`"
    )]
    (float.fract() == 0.0 && float.abs() < 1e38).then_some(float as i128)
}

/// Formats a value for a message.
pub(super) fn shown(value: &Value) -> String {
    const MOST: usize = 200;
    let text = value.to_string();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
