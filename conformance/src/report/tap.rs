//! The Test Anything Protocol, version 14, with diagnostics in YAML.
//!
//! Checks that were not run are reported as SKIP, and warnings as TODO, which does not fail a run.

use std::io::{self, Write};

use crate::{
    clean::{console, visible},
    report::{Report, wording::one_line},
    verdict::{Finding, Outcome, Verdict},
};

pub(super) fn write(report: &Report, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "TAP version 14\n1..{}", report.outcomes.len())?;
    let name = report.shown_name();
    let (profile, seed) = (report.profile, report.seed);
    writeln!(out, "# {name}, profile {profile}, seed {seed}")?;
    for (at, outcome) in report.outcomes.iter().enumerate() {
        test(outcome, at + 1, report.strict, out)?;
    }
    writeln!(out, "# {}", report.summary())
}

fn test(outcome: &Outcome, number: usize, strict: bool, out: &mut impl Write) -> io::Result<()> {
    let failure = outcome.is_failure(strict);
    let (ok, directive) = match &outcome.verdict {
        Verdict::Pass => ("ok", String::new()),
        _ if failure => ("not ok", String::new()),
        Verdict::NotApplicable | Verdict::Withheld | Verdict::BlockedBy(_) => {
            let why = match outcome.findings.first() {
                Some(finding) => format!(": {}", one_line(&finding.what)),
                None => String::new(),
            };
            let verdict = one_line(&outcome.verdict.to_string());
            ("ok", format!(" # SKIP {verdict}{why}"))
        }
        Verdict::Fail | Verdict::Warn | Verdict::NotExercised => {
            ("not ok", format!(" # TODO {}", outcome.verdict.word()))
        }
    };
    let (id, title) = (description(&outcome.id), description(&outcome.title));
    writeln!(out, "{ok} {number} - {id} {title}{directive}")?;
    if ok == "ok" && outcome.findings.is_empty() {
        return Ok(());
    }
    writeln!(out, "  ---")?;
    writeln!(out, "  level: {}", outcome.level.as_str())?;
    writeln!(out, "  verdict: {}", text(&outcome.verdict.to_string()))?;
    writeln!(out, "  duration_ms: {}", outcome.took.as_millis())?;
    if !outcome.findings.is_empty() {
        writeln!(out, "  findings:")?;
    }
    for finding in &outcome.findings {
        diagnose(finding, out)?;
    }
    writeln!(out, "  ...")
}

fn diagnose(finding: &Finding, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "    - message: {}", text(&finding.what))?;
    if let Some((line, pointer)) = &finding.frame {
        writeln!(out, "      frame: {}", text(line))?;
        if let Some(pointer) = pointer {
            writeln!(out, "      pointer: {}", text(pointer))?;
        }
    }
    if let Some(hint) = &finding.hint {
        writeln!(out, "      hint: {}", text(hint))?;
    }
    for (key, lines) in [("stderr", &finding.stderr), ("input", &finding.input)] {
        // Write a list, because a line from the extension could end a YAML block.
        if let Some(lines) = lines {
            writeln!(out, "      {key}:")?;
            for line in console(lines).trim_end().lines() {
                writeln!(out, "        - {}", text(line))?;
            }
        }
    }
    if let Some(repeat) = &finding.repeat {
        writeln!(out, "      repeat: {}", text(repeat))?;
    }
    Ok(())
}

/// Escapes `#`, which would start a directive.
fn description(text: &str) -> String {
    one_line(text).replace('\\', "\\\\").replace('#', "\\#")
}

/// Formats text as a double-quoted YAML scalar, in which JSON escapes are valid.
fn text(text: &str) -> String {
    serde_json::Value::from(&*visible(text)).to_string()
}
