//! What a person reads on a terminal: calm where all is well, and what fails at the end, next to the last line.

use std::{
    io::{self, Write},
    time::Duration,
};

use unicode_width::UnicodeWidthStr;

use crate::{
    clean::console,
    report::{
        Counts, Look, Report, frame,
        group::{self, Group},
        paint::{Ink, Paint},
        wording::{one_line, seconds},
        wrap::wrap,
    },
    verdict::{Finding, Outcome, Verdict},
};

/// Before a line that belongs to the one above it.
const INDENT: &str = "  ";
/// A check that takes this long is said to.
const SLOW: Duration = Duration::from_secs(1);

pub(super) fn write(report: &Report, out: &mut impl Write, look: Look) -> io::Result<()> {
    Pretty {
        report,
        out,
        paint: Paint(look.colour),
        // Narrower, nothing is left to read beside the indent.
        width: look.width.max(40),
    }
    .write()
}

struct Pretty<'a, W> {
    report: &'a Report,
    out: &'a mut W,
    paint: Paint,
    width: usize,
}

impl<W: Write> Pretty<'_, W> {
    fn write(&mut self) -> io::Result<()> {
        let report = self.report;
        self.head()?;
        for group in group::all(report) {
            self.group(&group)?;
        }
        self.not_tried()?;
        // Failures come last: that is where a terminal is read first.
        let (failures, warnings): (Vec<_>, Vec<_>) = report
            .outcomes
            .iter()
            .filter(|outcome| needs_eyes(outcome))
            .partition(|outcome| outcome.is_failure(report.strict));
        for outcome in warnings.into_iter().chain(failures) {
            self.in_full(outcome)?;
        }
        if !report.stale.is_empty() {
            let said = format!(
                "the baseline names what does not fail any more: {}",
                report.stale.join(" ")
            );
            writeln!(self.out)?;
            self.hanging("", &[(Ink::Bad, "✗ ")], Ink::Plain, &said)?;
            self.hanging(
                INDENT,
                &[(Ink::Accent, "hint: ")],
                Ink::Plain,
                "take it off the list",
            )?;
        }
        let ink = if report.conforms() {
            Ink::Strong
        } else {
            Ink::Bad
        };
        let summary = report.summary();
        let (verdict, counts) = summary.split_at(report.verdict().len());
        writeln!(self.out, "\n{}{counts}", self.paint.ink(ink, verdict))
    }

    fn head(&mut self) -> io::Result<()> {
        let report = self.report;
        let name = report.shown_name();
        let target = one_line(&report.target);
        let strict = if report.strict { " · strict" } else { "" };
        let mut about = format!("profile {} · seed {}{strict}", report.profile, report.seed);
        if target != name {
            about = format!("{target} · {about}");
        }
        let name = self.paint.ink(Ink::Accent, &name);
        let about = self.paint.ink(Ink::Muted, &about);
        writeln!(self.out, "{name}  {about}\n")
    }

    /// A line for a group in which all is well, and else one for each of its checks.
    fn group(&mut self, group: &Group<'_>) -> io::Result<()> {
        let strict = self.report.strict;
        // The sign of a group is that of its worst outcome.
        let worst = |outcome: &&&Outcome| {
            let rank = match outcome.verdict {
                Verdict::Fail | Verdict::NotExercised | Verdict::Warn => 2,
                Verdict::Pass => 1,
                _ => 0,
            };
            (outcome.is_failure(strict), rank)
        };
        let Some(worst) = group.outcomes.iter().max_by_key(worst) else {
            return Ok(());
        };
        let (sign, ink) = signed(worst, strict);
        let sign = self.paint.ink(ink, &sign);
        let words = Counts::of(group.outcomes.iter().copied()).words();
        let words = self.paint.ink(Ink::Muted, &words);
        writeln!(self.out, "{sign}{:<18}{words}", one_line(group.title))?;
        let widths = group.outcomes.iter().map(|outcome| outcome.id.width());
        let column = widths.max().unwrap_or(0) + 2;
        let open = group.outcomes.iter().any(|outcome| needs_eyes(outcome));
        for outcome in &group.outcomes {
            let id = format!("{:<column$}", one_line(&outcome.id));
            if open && !outcome.verdict.is_untried() {
                let ink = match outcome.verdict {
                    Verdict::Pass => Ink::Muted,
                    _ => Ink::Plain,
                };
                let (sign, sign_ink) = signed(outcome, strict);
                self.hanging(
                    INDENT,
                    &[(sign_ink, &sign), (ink, &id)],
                    ink,
                    &outcome.title,
                )?;
            }
            // What is only recorded is worth a line even where all is well.
            if outcome.verdict == Verdict::Pass {
                for finding in &outcome.findings {
                    let lead = [(Ink::Muted, "· "), (Ink::Muted, &*id)];
                    let said = format!("{}: {}", outcome.title, one_line(&finding.what));
                    self.hanging(INDENT, &lead, Ink::Muted, &said)?;
                }
            }
        }
        Ok(())
    }

    /// What was not tried, by the reason for it.
    fn not_tried(&mut self) -> io::Result<()> {
        let report = self.report;
        let mut reasons: Vec<(String, Vec<&str>, &str)> = Vec::new();
        for outcome in &report.outcomes {
            let (reason, advice) = match &outcome.verdict {
                Verdict::Withheld => (
                    format!("withheld by the profile `{}`: ", report.profile),
                    "; try --profile full",
                ),
                Verdict::BlockedBy(id) => (format!("blocked by {}: ", one_line(id)), ""),
                _ => continue,
            };
            match reasons.iter_mut().find(|(known, ..)| *known == reason) {
                Some((_, ids, _)) => ids.push(&outcome.id),
                None => reasons.push((reason, vec![&outcome.id], advice)),
            }
        }
        if !reasons.is_empty() {
            writeln!(self.out)?;
        }
        for (reason, ids, advice) in reasons {
            let ids = ids.join(" ");
            let lead = [(Ink::Muted, "– "), (Ink::Muted, &*reason)];
            self.hanging("", &lead, Ink::Muted, &format!("{ids}{advice}"))?;
        }
        Ok(())
    }

    /// All that is known about an outcome that needs attention.
    fn in_full(&mut self, outcome: &Outcome) -> io::Result<()> {
        let (sign, ink) = signed(outcome, self.report.strict);
        let id = format!("{} ", one_line(&outcome.id));
        let mut title = outcome.title.clone();
        // How long it took is worth a word where it was long.
        if outcome.took >= SLOW {
            title.push_str(&format!(
                " ({})",
                seconds(outcome.took).replace(' ', "\u{a0}")
            ));
        }
        writeln!(self.out)?;
        self.hanging("", &[(ink, &sign), (Ink::Strong, &id)], Ink::Strong, &title)?;
        if outcome.verdict == Verdict::NotExercised {
            let why = "it was tried, and could not be reached";
            let lead = [(Ink::Plain, "not exercised: ")];
            self.hanging(INDENT, &lead, Ink::Plain, why)?;
        }
        for finding in &outcome.findings {
            self.finding(finding)?;
        }
        // A transcript explains itself.
        if !outcome.id.contains('/') {
            self.command("explain", &format!("zot-conform explain {}", outcome.id))?;
        }
        Ok(())
    }

    fn finding(&mut self, finding: &Finding) -> io::Result<()> {
        self.hanging(INDENT, &[], Ink::Plain, &one_line(&finding.what))?;
        if let Some((line, pointer)) = &finding.frame {
            let indent = INDENT.repeat(2);
            for row in frame::rows(line, pointer.as_deref(), self.width - indent.len()) {
                let text = match &row.mark {
                    Some(mark) => format!(
                        "{}{}{}",
                        self.paint.ink(Ink::Muted, &row.text[..mark.start]),
                        &row.text[mark.clone()],
                        self.paint.ink(Ink::Muted, &row.text[mark.end..])
                    ),
                    None => self.paint.ink(Ink::Muted, &row.text).into_owned(),
                };
                writeln!(self.out, "{indent}{text}")?;
                if let Some(under) = row.under() {
                    writeln!(self.out, "{indent}{}", self.paint.ink(Ink::Accent, &under))?;
                }
            }
        }
        if let Some(hint) = &finding.hint {
            self.hanging(INDENT, &[(Ink::Accent, "hint: ")], Ink::Plain, hint)?;
        }
        for (label, text) in [("stderr", &finding.stderr), ("input", &finding.input)] {
            if let Some(text) = text {
                let label = format!("{label}:");
                writeln!(self.out, "{INDENT}{}", self.paint.ink(Ink::Muted, &label))?;
                let bar = self.paint.ink(Ink::Muted, "│").into_owned();
                for line in console(text).trim_end().lines() {
                    writeln!(self.out, "{INDENT}{bar} {line}")?;
                }
            }
        }
        if let Some(repeat) = &finding.repeat {
            self.command("repeat", repeat)?;
        }
        Ok(())
    }

    /// A command is never wrapped: it is there to be copied.
    fn command(&mut self, label: &str, command: &str) -> io::Result<()> {
        let label = format!("{label}:");
        let label = self.paint.ink(Ink::Muted, &label);
        writeln!(self.out, "{INDENT}{label} {}", one_line(command))
    }

    /// A text behind what leads to it, wrapped under itself.
    fn hanging(
        &mut self,
        indent: &str,
        lead: &[(Ink, &str)],
        ink: Ink,
        text: &str,
    ) -> io::Result<()> {
        let lead_width: usize = lead.iter().map(|(_, text)| text.width()).sum();
        // Beside a long lead is no room; then the text goes on under it.
        let under = if lead_width > 16 { 2 } else { lead_width };
        let room = self.width.saturating_sub(indent.len());
        let text = console(text);
        write!(self.out, "{indent}")?;
        for (ink, text) in lead {
            write!(self.out, "{}", self.paint.ink(*ink, text))?;
        }
        for (at, line) in wrap(&text, room, lead_width, under).iter().enumerate() {
            if at > 0 {
                write!(self.out, "{indent}{}", " ".repeat(under))?;
            }
            writeln!(self.out, "{}", self.paint.ink(ink, line))?;
        }
        Ok(())
    }
}

/// Whether an outcome is told in full. What is known to fail has been looked at.
fn needs_eyes(outcome: &Outcome) -> bool {
    !outcome.known
        && matches!(
            outcome.verdict,
            Verdict::Fail | Verdict::Warn | Verdict::NotExercised
        )
}

/// The sign before an outcome, with the space after it, and its ink. What fails the run and what does not are told
/// apart by the sign too: a warning under `--strict` is a failure, and a SHOULD that was not exercised is none.
fn signed(outcome: &Outcome, strict: bool) -> (String, Ink) {
    let (sign, ink) = match outcome.verdict {
        _ if outcome.is_failure(strict) => ('✗', Ink::Bad),
        _ if outcome.known => ('–', Ink::Muted),
        Verdict::Warn | Verdict::NotExercised => ('!', Ink::Accent),
        ref other => (other.sign(), Ink::Muted),
    };
    (format!("{sign} "), ink)
}
