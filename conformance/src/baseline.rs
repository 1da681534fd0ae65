//! The baseline: a list of known failures that do not fail a run.
//!
//! It is a text file with one id per line; `#` starts a comment. An entry that passes is an error,
//! so that outdated entries are removed.

use crate::report::Report;

/// The ids of known failures.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Baseline(Vec<String>);

impl Baseline {
    /// Parses the list.
    pub fn parse(text: &str) -> Self {
        let ids = text
            .lines()
            .map(|line| line.split('#').next().unwrap_or_default().trim())
            .filter(|id| !id.is_empty())
            .map(str::to_owned);
        Self(ids.collect())
    }

    /// Formats the failures of a run as a list.
    pub fn text_of(report: &Report) -> String {
        let mut text = String::from(
            "# Known failures, for zot-conform --baseline. Remove an entry once it passes.\n",
        );
        for outcome in &report.outcomes {
            if outcome.is_failure(report.strict) {
                text += &format!("{}  # {}\n", outcome.id, outcome.title);
            }
        }
        text
    }
}

impl Report {
    /// Marks known failures. A listed id that no longer fails is stale.
    pub fn apply_baseline(&mut self, Baseline(known): &Baseline) {
        for id in known {
            match self.outcomes.iter_mut().find(|outcome| outcome.id == *id) {
                Some(outcome) if outcome.is_failure(self.strict) => outcome.known = true,
                // A check that was not run does not make its entry stale.
                Some(outcome) if !outcome.verdict.is_untried() => self.stale.push(id.clone()),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_blank_lines_are_ignored() {
        let list = Baseline::parse("# a remark\n\nTOL-05  # crashes\n  transcript/rain\n");
        assert_eq!(list.0, ["TOL-05", "transcript/rain"]);
    }
}
