//! Smaller variants of arguments, for a shrinker that keeps the ones that still fail.

use serde_json::Value;
use zot_protocol::Object;

use super::numbers::json_number;

/// Maximum number of variants of one value.
const MAX_VARIANTS: usize = 600;
/// Characters are removed one by one only in strings up to this length.
const SHORT_TEXT: usize = 64;

/// Returns smaller variants of the arguments, the most promising first: the empty object, then
/// variants with large parts removed, with single parts removed, and with each part simplified.
/// Each variant is smaller by the same measure (fewer parts, shorter strings, numbers nearer to
/// zero), so shrinking always terminates.
pub(crate) fn smaller(args: &Object) -> Vec<Object> {
    let mut found = of_object(args);
    found.truncate(MAX_VARIANTS);
    found
}

fn of_value(value: &Value) -> Vec<Value> {
    match value {
        Value::Null | Value::Bool(false) => Vec::new(),
        Value::Bool(true) => vec![Value::from(false)],
        Value::Number(_) => of_number(value),
        Value::String(text) => of_text(text).into_iter().map(Value::from).collect(),
        Value::Array(list) => of_list(list).into_iter().map(Value::Array).collect(),
        Value::Object(object) => of_object(object).into_iter().map(Value::Object).collect(),
    }
}

fn of_object(object: &Object) -> Vec<Object> {
    let entries: Vec<_> = object.iter().collect();
    let kept = parts(entries.len()).map(|out| {
        let left = entries
            .iter()
            .enumerate()
            .filter(|(index, _)| !out.contains(index));
        left.map(|(_, (key, value))| ((*key).clone(), (*value).clone()))
            .collect()
    });
    let mut found: Vec<Object> = kept.take(MAX_VARIANTS).collect();
    for (key, value) in object {
        for less in of_value(value) {
            if found.len() >= MAX_VARIANTS {
                return found;
            }
            let mut object = object.clone();
            object.insert(key.clone(), less);
            found.push(object);
        }
    }
    found
}

fn of_list(list: &[Value]) -> Vec<Vec<Value>> {
    let kept = parts(list.len()).map(|out| [&list[..out.start], &list[out.end..]].concat());
    let mut found: Vec<Vec<Value>> = kept.take(MAX_VARIANTS).collect();
    for (index, item) in list.iter().enumerate() {
        for less in of_value(item) {
            if found.len() >= MAX_VARIANTS {
                return found;
            }
            let mut list = list.to_vec();
            list[index] = less;
            found.push(list);
        }
    }
    found
}

/// Returns the ranges to remove from a list: all of it, its halves, its quarters, down to single
/// items.
fn parts(length: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let sizes = std::iter::successors(Some(length), |size| Some(size / 2));
    sizes.take_while(|size| *size > 0).flat_map(move |size| {
        (0..length)
            .step_by(size)
            .map(move |from| from..(from + size).min(length))
    })
}

fn of_text(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let finest = if chars.len() > SHORT_TEXT {
        chars.len() / 16
    } else {
        1
    };
    let ends = [
        chars.len() - chars.len().min(1)..chars.len(),
        0..chars.len().min(1),
    ];
    let kept = parts(chars.len())
        .take_while(|out| out.len() >= finest || out.end == chars.len())
        .chain(ends)
        .filter(|out| !out.is_empty())
        .map(|out| chars[..out.start].iter().chain(&chars[out.end..]).collect());
    let mut found: Vec<String> = kept.collect();
    // A string of the same length that contains only `a`.
    if chars.iter().any(|character| *character != 'a') {
        found.push("a".repeat(chars.len()));
    }
    found
}

fn of_number(value: &Value) -> Vec<Value> {
    if let Some(number) = value.as_i64() {
        let toward = number - number.signum();
        // Also try values that approach the number, so that a threshold just below it is found
        // quickly.
        let nearer = [2, 4, 8, 16].map(|part| number - number / part);
        let mut found = vec![0, number / 2];
        found.extend(nearer);
        found.push(toward);
        found.retain(|less| less.unsigned_abs() < number.unsigned_abs());
        found.dedup();
        return found.into_iter().map(Value::from).collect();
    }
    if let Some(number) = value.as_u64() {
        return [0, number / 2, number - number / 4, number - 1]
            .map(Value::from)
            .to_vec();
    }
    let number = value.as_f64().unwrap_or(0.0);
    // Whole numbers only: halving a fraction would take up to a thousand steps.
    let mut found = vec![
        0.0,
        (number / 2.0).trunc(),
        number.trunc(),
        number.trunc() - number.signum(),
    ];
    found.retain(|less| less.abs() < number.abs());
    found.into_iter().map(json_number).collect()
}
