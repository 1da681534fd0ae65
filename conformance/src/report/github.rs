//! GitHub workflow commands, shown as annotations on the run and the manifest.

use std::io::{self, Write};

use crate::{
    report::{
        Report, group,
        wording::{details, one_line},
    },
    verdict::{Finding, Outcome, Verdict},
};

pub(super) fn write(report: &Report, out: &mut impl Write) -> io::Result<()> {
    for outcome in &report.outcomes {
        let command = match outcome.verdict {
            _ if outcome.is_failure(report.strict) => "error",
            Verdict::Warn | Verdict::NotExercised => "warning",
            _ => continue,
        };
        let title = format!("{} {}", one_line(&outcome.id), one_line(&outcome.title));
        let title = property(&title);
        let file = match manifest(report, outcome) {
            Some(file) => format!("file={},", property(&file)),
            None => String::new(),
        };
        let nothing_said = [Finding::new(outcome.verdict.to_string())];
        let findings = match outcome.findings.as_slice() {
            [] => &nothing_said,
            findings => findings,
        };
        for finding in findings {
            let message = data(&message(outcome, finding));
            writeln!(out, "::{command} {file}title={title}::{message}")?;
        }
    }
    let title = property(&format!("zot-conform {}", report.shown_name()));
    writeln!(out, "::notice title={title}::{}", data(&report.summary()))
}

/// The manifest's path relative to the repository's root, as GitHub expects it.
fn manifest(report: &Report, outcome: &Outcome) -> Option<String> {
    let target = report.target.trim_end_matches('/');
    let target = target.strip_prefix("./").unwrap_or(target);
    (group::title(&outcome.id) == "Manifest").then(|| match target {
        "" | "." => "extension.json".to_owned(),
        folder => format!("{}/extension.json", one_line(folder)),
    })
}

/// The complete finding as one message.
fn message(outcome: &Outcome, finding: &Finding) -> String {
    let mut text = format!("{}\n", one_line(&finding.what));
    if let Some((line, pointer)) = &finding.frame {
        let place = match pointer {
            Some(pointer) => format!(" at {}", one_line(pointer)),
            None => String::new(),
        };
        text += &format!("frame{place}: {}\n", one_line(line));
    }
    text += &details(finding);
    if let Some(explain) = outcome.explain_command() {
        text += &format!("explain: {explain}\n");
    }
    text.trim_end_matches('\n').to_owned()
}

/// Escapes a message, which would otherwise end at a newline.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// Escapes a property, which would otherwise also end at a comma or colon.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
