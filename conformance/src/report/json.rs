//! The JSON report. [`Form::Json`](crate::Form::Json) documents its fields.

use std::{
    fmt::Write as _,
    io::{self, Write},
    time::Duration,
};

use serde::Serialize;

use crate::{
    clean::is_unsafe,
    exchange::{Action, Entry, Exchange, Party},
    report::{Counts, Report, group},
    verdict::{Finding, Level, Outcome, Verdict},
};

/// The version of the document, raised when a field changes its meaning.
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

/// Escapes these characters in JSON. They only occur inside strings.
fn escaped(json: &str, is_escaped: impl Fn(char) -> bool) -> String {
    let mut text = String::with_capacity(json.len());
    for char in json.chars() {
        if is_escaped(char) {
            write!(text, "\\u{:04x}", u32::from(char)).expect("writing to a string cannot fail");
        } else {
            text.push(char);
        }
    }
    text
}

#[derive(Serialize)]
struct Document<'a> {
    format: u32,
    zot_conform: &'static str,
    target: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    profile: &'a str,
    seed: String,
    strict: bool,
    conforms: bool,
    took_ms: f64,
    counts: CountsView,
    outcomes: Vec<OutcomeView<'a>>,
}

#[derive(Serialize)]
struct CountsView {
    pass: usize,
    fail: usize,
    warn: usize,
    not_applicable: usize,
    withheld: usize,
    blocked: usize,
    not_exercised: usize,
}

#[derive(Serialize)]
struct OutcomeView<'a> {
    id: &'a str,
    group: &'a str,
    level: &'static str,
    title: &'a str,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked_by: Option<&'a str>,
    failure: bool,
    took_ms: f64,
    findings: Vec<FindingView<'a>>,
    exchanges: Vec<ExchangeView<'a>>,
}

#[derive(Serialize)]
struct FindingView<'a> {
    what: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    frame: Option<FrameView<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repeat: Option<&'a str>,
}

#[derive(Serialize)]
struct FrameView<'a> {
    line: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pointer: Option<&'a str>,
}

#[derive(Serialize)]
struct ExchangeView<'a> {
    entries: Vec<EntryView<'a>>,
    stderr: &'a str,
}

#[derive(Serialize)]
struct EntryView<'a> {
    at_ms: f64,
    who: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
}

fn document(report: &Report) -> Document<'_> {
    Document {
        format: FORMAT,
        zot_conform: env!("CARGO_PKG_VERSION"),
        target: &report.target,
        name: report.name.as_deref(),
        profile: report.profile,
        seed: report.seed.to_string(),
        strict: report.strict,
        conforms: report.conforms(),
        took_ms: milliseconds(report.took),
        counts: counts(report.counts()),
        outcomes: report
            .outcomes
            .iter()
            .map(|outcome| self::outcome(outcome, report.strict))
            .collect(),
    }
}

fn counts(counts: Counts) -> CountsView {
    CountsView {
        pass: counts.pass,
        fail: counts.fail,
        warn: counts.warn,
        not_applicable: counts.not_applicable,
        withheld: counts.withheld,
        blocked: counts.blocked,
        not_exercised: counts.not_exercised,
    }
}

fn outcome(outcome: &Outcome, strict: bool) -> OutcomeView<'_> {
    OutcomeView {
        id: &outcome.id,
        group: group::title(&outcome.id),
        level: level(outcome.level),
        title: &outcome.title,
        verdict: verdict(&outcome.verdict),
        blocked_by: match &outcome.verdict {
            Verdict::BlockedBy(id) => Some(id),
            _ => None,
        },
        failure: outcome.is_failure(strict),
        took_ms: milliseconds(outcome.took),
        findings: outcome.findings.iter().map(finding).collect(),
        exchanges: outcome.exchanges.iter().map(exchange).collect(),
    }
}

/// The level as a word.
pub(super) fn level(level: Level) -> &'static str {
    match level {
        Level::Info => "info",
        Level::Should => "should",
        Level::Must => "must",
    }
}

/// The verdict as a word without spaces.
pub(super) fn verdict(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::NotApplicable => "not_applicable",
        Verdict::NotExercised => "not_exercised",
        other => other.word(),
    }
}

fn finding(finding: &Finding) -> FindingView<'_> {
    FindingView {
        what: &finding.what,
        frame: finding.frame.as_ref().map(|(line, pointer)| FrameView {
            line,
            pointer: pointer.as_deref(),
        }),
        hint: finding.hint.as_deref(),
        stderr: finding.stderr.as_deref(),
        input: finding.input.as_deref(),
        repeat: finding.repeat.as_deref(),
    }
}

fn exchange(exchange: &Exchange) -> ExchangeView<'_> {
    ExchangeView {
        entries: exchange.entries.iter().map(entry).collect(),
        stderr: &exchange.stderr,
    }
}

fn entry(entry: &Entry) -> EntryView<'_> {
    let (line, bytes, note) = match &entry.action {
        Action::Line(line, bytes) => (Some(line.as_str()), Some(*bytes), None),
        Action::Note(note) => (None, None, Some(note.as_str())),
    };
    EntryView {
        at_ms: milliseconds(entry.at),
        who: match entry.who {
            Party::Host => "host",
            Party::Extension => "extension",
        },
        line,
        bytes,
        note,
    }
}

/// Rounds to microseconds.
fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
