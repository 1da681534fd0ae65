//! `JUnit` XML, in the dialect for which Jenkins publishes a schema: one suite per group, and one
//! case per check.
//!
//! `JUnit` has no warnings: a warning is a passing case with output, or a failure with `--strict`.

use std::{
    borrow::Cow,
    io::{self, Write},
    time::Duration,
};

use quick_xml::{
    Writer,
    escape::partial_escape,
    events::{BytesDecl, BytesText, Event},
};

use crate::{
    clean::console,
    report::{
        Counts, Report, frame,
        group::{self, Group},
        wording::{details, exchange, one_line},
    },
    verdict::{Finding, Outcome, Verdict},
};

/// The width for frames, chosen for a build server's web page.
const WIDTH: usize = 100;

pub(super) fn write(report: &Report, out: &mut impl Write) -> io::Result<()> {
    let mut xml = Writer::new_with_indent(&mut *out, b' ', 2);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let totals = totals(&report.outcomes, report.strict);
    xml.create_element("testsuites")
        .with_attribute(("name", &*format!("zot-conform {}", report.shown_name())))
        // The root element has no `skipped` attribute.
        .with_attributes(attributes(&totals[..3]))
        .with_attribute(("time", &*time(report.took)))
        .write_inner_content(|xml| {
            for group in group::all(report) {
                suite(report, &group, xml)?;
            }
            Ok(())
        })?;
    writeln!(out)
}

/// The totals of a suite, as attributes.
fn totals<'a>(
    outcomes: impl IntoIterator<Item = &'a Outcome>,
    strict: bool,
) -> [(&'static str, String); 4] {
    let ends = outcomes.into_iter().map(|it| End::of(it, strict));
    let ends: Vec<End> = ends.collect();
    let count = |wanted: End| ends.iter().filter(|end| **end == wanted).count();
    [
        ("tests", ends.len().to_string()),
        ("failures", count(End::Failure).to_string()),
        ("errors", count(End::Error).to_string()),
        ("skipped", count(End::Skipped).to_string()),
    ]
}

fn attributes<'a>(totals: &'a [(&'a str, String)]) -> impl Iterator<Item = (&'a str, &'a str)> {
    totals.iter().map(|(name, count)| (*name, count.as_str()))
}

/// The results that `JUnit` supports.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Passed,
    Failure,
    Error,
    Skipped,
}

impl End {
    fn of(outcome: &Outcome, strict: bool) -> Self {
        match outcome.verdict {
            // The rule was not tested, so this is an error and not a failure.
            Verdict::NotExercised if outcome.is_failure(strict) => Self::Error,
            _ if outcome.is_failure(strict) => Self::Failure,
            Verdict::Pass | Verdict::Warn | Verdict::Fail => Self::Passed,
            Verdict::NotApplicable
            | Verdict::Withheld
            | Verdict::BlockedBy(_)
            | Verdict::NotExercised => Self::Skipped,
        }
    }
}

fn suite<W: Write>(report: &Report, group: &Group<'_>, xml: &mut Writer<W>) -> io::Result<()> {
    let totals = totals(group.outcomes.iter().copied(), report.strict);
    let took = group.outcomes.iter().map(|outcome| outcome.took).sum();
    xml.create_element("testsuite")
        .with_attribute(("name", &*one_line(group.title)))
        .with_attributes(attributes(&totals))
        .with_attribute(("time", &*time(took)))
        .write_inner_content(|xml| {
            let counts = Counts::of(group.outcomes.iter().copied()).words();
            let (seed, target) = (report.seed.to_string(), one_line(&report.target));
            xml.create_element("properties")
                .write_inner_content(|xml| {
                    for (name, value) in [
                        ("target", &*target),
                        ("profile", report.profile),
                        ("seed", &*seed),
                        ("verdicts", &*counts),
                    ] {
                        xml.create_element("property")
                            .with_attribute(("name", name))
                            .with_attribute(("value", value))
                            .write_empty()?;
                    }
                    Ok(())
                })?;
            for outcome in &group.outcomes {
                case(report, group, outcome, xml)?;
            }
            Ok(())
        })?;
    Ok(())
}

fn case<W: Write>(
    report: &Report,
    group: &Group<'_>,
    outcome: &Outcome,
    xml: &mut Writer<W>,
) -> io::Result<()> {
    let name = format!("{} {}", one_line(&outcome.id), one_line(&outcome.title));
    // Readers treat the part before the last dot as a package.
    let class = format!("zot-conform.{}", one_line(group.title));
    let element = xml
        .create_element("testcase")
        .with_attribute(("name", &*name))
        .with_attribute(("classname", &*class))
        .with_attribute(("time", &*time(outcome.took)));
    let parts = parts(outcome, report.strict);
    if parts.is_empty() {
        element.write_empty()?;
        return Ok(());
    }
    element.write_inner_content(|xml| {
        for part in parts {
            let mut element = xml.create_element(part.element);
            if let Some(message) = &part.message {
                element = element
                    .with_attribute(("message", &**message))
                    .with_attribute(("type", outcome.level.as_str()));
            }
            element.write_text_content(escaped(&part.text))?;
        }
        Ok(())
    })?;
    Ok(())
}

/// An element inside a test case.
struct CasePart {
    element: &'static str,
    message: Option<String>,
    text: String,
}

impl CasePart {
    fn new(element: &'static str, text: String) -> Self {
        Self {
            element,
            message: None,
            text,
        }
    }
}

/// Returns the parts of a case, in the order that every dialect accepts.
fn parts(outcome: &Outcome, strict: bool) -> Vec<CasePart> {
    let verdict = one_line(&outcome.verdict.to_string());
    let findings: String = outcome.findings.iter().map(describe).collect();
    let mut output = String::new();
    let mut errors = String::new();
    for (at, wire) in outcome.exchanges.iter().enumerate() {
        output.push_str(&format!("process {}\n{}", at + 1, exchange(wire)));
        errors.push_str(&console(&wire.stderr));
    }
    let mut parts = Vec::new();
    let end = End::of(outcome, strict);
    match end {
        End::Failure | End::Error => {
            let element = match end {
                End::Error => "error",
                _ => "failure",
            };
            let first = outcome.findings.first();
            let message = first.map_or(verdict, |finding| one_line(&finding.what));
            parts.push(CasePart {
                message: Some(message),
                ..CasePart::new(element, findings)
            });
        }
        // Some dialects do not allow attributes on `skipped`, so the reason is its text.
        End::Skipped => {
            let why = format!("{verdict}\n{findings}");
            parts.push(CasePart::new("skipped", why.trim_end().to_owned()));
        }
        End::Passed if outcome.verdict == Verdict::Pass && findings.is_empty() => {}
        End::Passed => output.insert_str(0, &format!("{verdict}:\n{findings}\n")),
    }
    for (element, text) in [("system-out", output), ("system-err", errors)] {
        if !text.is_empty() {
            parts.push(CasePart::new(element, text));
        }
    }
    parts
}

/// Escapes the text of an element, except for quotes: they need no escaping, and frames contain
/// many of them.
fn escaped(text: &str) -> BytesText<'static> {
    BytesText::from_escaped(partial_escape(allowed(text)).into_owned())
}

/// A finding as text.
fn describe(finding: &Finding) -> String {
    let mut text = format!("{}\n", one_line(&finding.what));
    if let Some((line, pointer)) = &finding.frame {
        for row in frame::rows(line, pointer.as_deref(), WIDTH) {
            text.push_str(&format!("  {}\n", row.text));
            if let Some(under) = row.under() {
                text.push_str(&format!("  {under}\n"));
            }
        }
    }
    text + &details(finding)
}

/// Removes characters that XML 1.0 does not allow even as references. Text from an extension is
/// already sanitised; this covers all other text.
fn allowed(text: &str) -> Cow<'_, str> {
    let is_allowed = |char: char| matches!(char, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    if text.chars().all(is_allowed) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().filter(|char| is_allowed(*char)).collect())
}

fn time(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64())
}
