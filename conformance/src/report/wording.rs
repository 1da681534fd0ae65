//! Text that several report formats share.

use std::time::Duration;

use crate::{
    clean::{console, visible},
    exchange::{Action, Entry, Exchange, Party},
    report::{Counts, Exit, Report},
    verdict::{Finding, Outcome, Verdict},
};

impl Counts {
    /// The count of each verdict, failures first.
    pub(super) fn given(&self) -> Vec<(usize, &'static str)> {
        let all = [
            (self.fail, "fail"),
            (self.not_exercised, "not exercised"),
            (self.known, "known"),
            (self.pass, "pass"),
            (self.warn, "warn"),
            (self.not_applicable, "n/a"),
            (self.withheld, "withheld"),
            (self.blocked, "blocked"),
        ];
        all.into_iter().filter(|(count, _)| *count > 0).collect()
    }

    /// Formats the counts: `1 fail, 61 pass, 2 warn`.
    pub(super) fn words(&self) -> String {
        let words: Vec<_> = self
            .given()
            .into_iter()
            .map(|(count, word)| match (word, count) {
                ("known", 1) => "1 known failure".to_owned(),
                ("known", _) => format!("{count} known failures"),
                _ => format!("{count} {word}"),
            })
            .collect();
        words.join(", ")
    }
}

impl Report {
    /// The overall result in words.
    pub(super) fn verdict(&self) -> &'static str {
        match self.exit() {
            Exit::Nothing => "nothing was checked",
            Exit::Conforms => "conforms",
            Exit::Stale => "conforms, but the baseline is stale",
            Exit::Harness => "inconclusive",
            Exit::Fails if self.is_undecided() => "not shown to conform",
            Exit::Fails | Exit::Unreachable => "does not conform",
        }
    }

    /// Whether the run fails only because checks could not be exercised.
    fn is_undecided(&self) -> bool {
        let mut failures = self.outcomes.iter().filter(|it| it.is_failure(self.strict));
        failures.all(|it| it.verdict == Verdict::NotExercised)
    }

    /// The last line: `conforms: 61 pass, 2 warn in 3.2 s`.
    pub(super) fn summary(&self) -> String {
        let counts = self.counts().words();
        let colon = if counts.is_empty() { "" } else { ": " };
        format!(
            "{}{colon}{counts} in {}",
            self.verdict(),
            seconds(self.took)
        )
    }

    /// The extension's name, or the target if it has none, sanitised.
    pub(super) fn shown_name(&self) -> String {
        one_line(self.name.as_deref().unwrap_or(&self.target))
    }
}

impl Outcome {
    /// The command that explains the check; `None` for a transcript.
    pub(super) fn explain_command(&self) -> Option<String> {
        (!self.id.contains('/')).then(|| format!("zot-conform explain {}", self.id))
    }
}

/// Returns untrusted text on one line, sanitised.
pub(super) fn one_line(text: &str) -> String {
    visible(text).replace('\n', "\\n")
}

/// Formats a duration: `3.2 s`, or `12 ms` if it is less than half a second.
pub(super) fn seconds(time: Duration) -> String {
    if time < Duration::from_millis(500) {
        format!("{} ms", time.as_millis())
    } else {
        format!("{:.1} s", time.as_secs_f64())
    }
}

/// Formats the parts of a finding that follow its frame, each on its own lines.
pub(super) fn details(finding: &Finding) -> String {
    let mut text = String::new();
    if let Some(hint) = &finding.hint {
        text += &format!("hint: {}\n", visible(hint));
    }
    if let Some(stderr) = &finding.stderr {
        text += &format!("stderr:\n{}\n", console(stderr).trim_end());
    }
    if let Some(input) = &finding.input {
        text += &format!("input:\n{}\n", visible(input).trim_end());
    }
    if let Some(repeat) = &finding.repeat {
        text += &format!("repeat: {}\n", one_line(repeat));
    }
    text
}

/// Formats an exchange as text, one line per entry, without stderr.
pub(super) fn exchange(exchange: &Exchange) -> String {
    exchange.entries.iter().map(moment).collect()
}

fn moment(entry: &Entry) -> String {
    let at = format!("{:9.3} s", entry.at.as_secs_f64());
    match (&entry.action, entry.who) {
        (Action::Line(line, bytes), who) => {
            let arrow = match who {
                Party::Host => "host →",
                Party::Extension => "ext  ←",
            };
            let cut = match *bytes {
                bytes if bytes > line.len() => format!("… ({bytes} bytes)"),
                _ => String::new(),
            };
            format!("{at}  {arrow}  {}{cut}\n", one_line(line))
        }
        (Action::Note(note), Party::Host) => format!("{at}  host ·  {}\n", one_line(note)),
        (Action::Note(note), Party::Extension) => format!("{at}  ext  ·  {}\n", one_line(note)),
    }
}
