//! Workflow commands: GitHub shows them on the run's page, and beside the manifest where it is at fault.

use std::io::{self, Write};

use crate::{
    clean::{console, visible},
    report::{Report, group, wording::one_line},
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

/// The file at fault, as GitHub names files: from the root of the repository.
fn manifest(report: &Report, outcome: &Outcome) -> Option<String> {
    let target = report.target.trim_end_matches('/');
    let target = target.strip_prefix("./").unwrap_or(target);
    (group::title(&outcome.id) == "Manifest").then(|| match target {
        "" | "." => "extension.json".to_owned(),
        folder => format!("{}/extension.json", one_line(folder)),
    })
}

/// All of it in one text: an annotation has no parts.
fn message(outcome: &Outcome, finding: &Finding) -> String {
    let mut lines = vec![one_line(&finding.what)];
    if let Some((line, pointer)) = &finding.frame {
        let place = match pointer {
            Some(pointer) => format!(" at {}", one_line(pointer)),
            None => String::new(),
        };
        lines.push(format!("frame{place}: {}", one_line(line)));
    }
    if let Some(hint) = &finding.hint {
        lines.push(format!("hint: {}", visible(hint)));
    }
    if let Some(stderr) = &finding.stderr {
        lines.push(format!("stderr:\n{}", console(stderr).trim_end()));
    }
    if let Some(input) = &finding.input {
        lines.push(format!("input:\n{}", visible(input).trim_end()));
    }
    if let Some(repeat) = &finding.repeat {
        lines.push(format!("repeat: {}", one_line(repeat)));
    }
    // A transcript explains itself.
    if !outcome.id.contains('/') {
        lines.push(format!("explain: zot-conform explain {}", outcome.id));
    }
    lines.join("\n")
}

/// The runner ends a command at the end of its line.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// And a property at a comma, or at the colons.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
