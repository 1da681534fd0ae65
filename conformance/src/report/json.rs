//! The JSON report. [`Form::Json`](crate::Form::Json) documents its fields.

use std::{
    fmt::Write as _,
    io::{self, Write},
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    clean::is_unsafe,
    exchange::{Action, Entry, Exchange, Party},
    report::{Report, group},
    verdict::{Finding, Outcome, Verdict},
};

/// The version of the document format, incremented when the meaning of a field changes.
const FORMAT: u32 = 1;

pub(super) fn write(report: &Report, out: &mut impl Write) -> io::Result<()> {
    let text = serde_json::to_string_pretty(&document(report))?;
    writeln!(out, "{}", escaped(&text, is_unsafe))
}

/// The document on one line, escaped so that it is safe inside a `script` element.
pub(super) fn for_page(report: &Report) -> io::Result<String> {
    let text = serde_json::to_string(&document(report))?;
    Ok(escaped(&text, |char| {
        is_unsafe(char) || matches!(char, '<' | '>' | '&')
    }))
}

/// Escapes the characters that `is_escaped` selects. They must only occur inside JSON strings.
fn escaped(json: &str, is_escaped: impl Fn(char) -> bool) -> String {
    let mut text = String::with_capacity(json.len());
    for char in json.chars() {
        if !is_escaped(char) {
            text.push(char);
            continue;
        }
        // Characters beyond U+FFFF need two escapes.
        for unit in char.encode_utf16(&mut [0; 2]) {
            write!(text, "\\u{unit:04x}").expect("writing to a string cannot fail");
        }
    }
    text
}

fn document(report: &Report) -> Value {
    let outcomes = report.outcomes.iter();
    let outcomes = outcomes.map(|outcome| self::outcome(outcome, report.strict));
    present(json!({
        "format": FORMAT,
        "zot_conform": env!("CARGO_PKG_VERSION"),
        "target": report.target,
        "name": report.name,
        "profile": report.profile,
        "seed": report.seed.to_string(),
        "strict": report.strict,
        "conforms": report.conforms(),
        "took_ms": milliseconds(report.took),
        "counts": report.counts(),
        "outcomes": outcomes.collect::<Value>(),
    }))
}

fn outcome(outcome: &Outcome, strict: bool) -> Value {
    let blocked_by = match &outcome.verdict {
        Verdict::BlockedBy(id) => Some(id),
        _ => None,
    };
    present(json!({
        "id": outcome.id,
        "group": group::title(&outcome.id),
        "level": outcome.level.as_str(),
        "title": outcome.title,
        "verdict": verdict(&outcome.verdict),
        "blocked_by": blocked_by,
        "failure": outcome.is_failure(strict),
        "took_ms": milliseconds(outcome.took),
        "findings": outcome.findings.iter().map(finding).collect::<Value>(),
        "exchanges": outcome.exchanges.iter().map(exchange).collect::<Value>(),
    }))
}

/// The verdict as a word without spaces.
pub(super) fn verdict(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::NotApplicable => "not_applicable",
        Verdict::NotExercised => "not_exercised",
        other => other.word(),
    }
}

fn finding(finding: &Finding) -> Value {
    let frame = finding.frame.as_ref();
    let frame = frame.map(|(line, pointer)| present(json!({"line": line, "pointer": pointer})));
    present(json!({
        "what": finding.what,
        "frame": frame,
        "hint": finding.hint,
        "stderr": finding.stderr,
        "input": finding.input,
        "repeat": finding.repeat,
    }))
}

fn exchange(exchange: &Exchange) -> Value {
    let entries: Value = exchange.entries.iter().map(entry).collect();
    json!({"entries": entries, "stderr": exchange.stderr})
}

fn entry(entry: &Entry) -> Value {
    let at_ms = milliseconds(entry.at);
    let who = match entry.who {
        Party::Host => "host",
        Party::Extension => "extension",
    };
    match &entry.action {
        Action::Line(line, bytes) => {
            json!({"at_ms": at_ms, "who": who, "line": line, "bytes": bytes})
        }
        Action::Note(note) => json!({"at_ms": at_ms, "who": who, "note": note}),
    }
}

/// Removes the fields of an object that are `null`.
fn present(mut value: Value) -> Value {
    if let Value::Object(object) = &mut value {
        object.retain(|_, field| !field.is_null());
    }
    value
}

/// Converts a duration to milliseconds, rounded to microseconds.
fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::{escaped, is_unsafe};

    #[test]
    fn escapes_are_valid_json() {
        let json = "\"\u{202e}\u{e0041}\"";
        let text = escaped(json, is_unsafe);
        assert_eq!(text, r#""\u202e\udb40\udc41""#);
        let value: String = serde_json::from_str(&text).unwrap();
        assert_eq!(value, "\u{202e}\u{e0041}");
    }
}
