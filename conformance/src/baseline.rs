//! Known failures: what a project lives with for now. One that passes is then an error too, or the list would never get
//! shorter.
//!
//! A text file, one id per line; `#` begins a remark.

use crate::report::Report;

/// The ids of what is known to fail.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Baseline(Vec<String>);

impl Baseline {
    /// Reads the list.
    pub fn parse(text: &str) -> Self {
        let ids = text
            .lines()
            .map(|line| line.split('#').next().unwrap_or_default().trim())
            .filter(|id| !id.is_empty())
            .map(str::to_owned);
        Self(ids.collect())
    }

    /// What fails in this run, as a list that tells what each is.
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
    /// Passes over what is known to fail, and notes what is known to fail and does not.
    pub fn pass_over(&mut self, Baseline(known): &Baseline) {
        for id in known {
            match self.outcomes.iter_mut().find(|outcome| outcome.id == *id) {
                Some(outcome) if outcome.is_failure(self.strict) => outcome.known = true,
                // What was not selected, or could not be reached, says nothing about the list.
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
    fn remarks_and_blank_lines_are_passed_over() {
        let list = Baseline::parse("# a remark\n\nTOL-05  # crashes\n  transcript/rain\n");
        assert_eq!(list.0, ["TOL-05", "transcript/rain"]);
    }
}
