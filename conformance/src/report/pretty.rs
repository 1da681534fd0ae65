//! The report for a terminal: short for passing groups, with failures at the end.

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
        paint::{Paint, Style},
        wording::{one_line, seconds},
        wrap,
    },
    verdict::{Finding, Outcome, Verdict},
};

/// The indent of a continuation line.
const INDENT: &str = "  ";
/// The duration of a check is shown if it is at least this long.
const SLOW: Duration = Duration::from_secs(1);

pub(super) fn write(report: &Report, out: &mut impl Write, look: Look) -> io::Result<()> {
    Pretty {
        report,
        out,
        paint: Paint(look.colour),
        // Leave room for text next to the indent.
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
        let blocked = |outcome: &&Outcome| matches!(outcome.verdict, Verdict::BlockedBy(_));
        for group in group::all(report) {
            // If nothing was run, do not list every check.
            if report.unreachable.is_none() || !group.outcomes.iter().all(blocked) {
                self.group(&group)?;
            }
        }
        self.not_tried()?;
        // Failures come last, where people look first in a terminal.
        let (failures, warnings): (Vec<_>, Vec<_>) = report
            .outcomes
            .iter()
            .filter(|outcome| needs_attention(outcome))
            .partition(|outcome| outcome.is_failure(report.strict));
        for outcome in warnings.into_iter().chain(failures) {
            self.in_full(outcome)?;
        }
        if !report.stale.is_empty() {
            let text = format!(
                "these checks in the baseline no longer fail: {}",
                report.stale.join(" ")
            );
            writeln!(self.out)?;
            self.hanging("", &[(Style::Bad, "✗ ")], Style::Plain, &text)?;
            self.hanging(
                INDENT,
                &[(Style::Accent, "hint: ")],
                Style::Plain,
                "remove them from the baseline",
            )?;
        }
        let style = if report.conforms() {
            Style::Strong
        } else {
            Style::Bad
        };
        let summary = report.summary();
        let (verdict, counts) = summary.split_at(report.verdict().len());
        writeln!(self.out, "\n{}{counts}", self.paint.apply(style, verdict))
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
        let name = self.paint.apply(Style::Accent, &name);
        let about = self.paint.apply(Style::Muted, &about);
        writeln!(self.out, "{name}  {about}\n")
    }

    /// Writes one line for the group. If a check needs attention, also writes one line per check.
    fn group(&mut self, group: &Group<'_>) -> io::Result<()> {
        let strict = self.report.strict;
        // A group is shown with the symbol of its worst outcome.
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
        let (sign, style) = signed(worst, strict);
        let sign = self.paint.apply(style, &sign);
        let words = Counts::of(group.outcomes.iter().copied()).words();
        let words = self.paint.apply(Style::Muted, &words);
        writeln!(self.out, "{sign}{:<18}{words}", one_line(group.title))?;
        let widths = group.outcomes.iter().map(|outcome| outcome.id.width());
        let column = widths.max().unwrap_or(0) + 2;
        let open = group
            .outcomes
            .iter()
            .any(|outcome| needs_attention(outcome));
        for outcome in &group.outcomes {
            let id = format!("{:<column$}", one_line(&outcome.id));
            if open && !outcome.verdict.is_untried() {
                let style = match outcome.verdict {
                    Verdict::Pass => Style::Muted,
                    _ => Style::Plain,
                };
                let (sign, sign_style) = signed(outcome, strict);
                self.hanging(
                    INDENT,
                    &[(sign_style, &sign), (style, &id)],
                    style,
                    &outcome.title,
                )?;
            }
            // Show recorded findings even in a passing group.
            if outcome.verdict == Verdict::Pass {
                for finding in &outcome.findings {
                    let lead = [(Style::Muted, "· "), (Style::Muted, &*id)];
                    let text = format!("{}: {}", outcome.title, one_line(&finding.what));
                    self.hanging(INDENT, &lead, Style::Muted, &text)?;
                }
            }
        }
        Ok(())
    }

    /// Lists the checks that were not run, grouped by reason.
    fn not_tried(&mut self) -> io::Result<()> {
        let report = self.report;
        let mut reasons: Vec<(String, Vec<&str>, &str)> = Vec::new();
        for outcome in &report.outcomes {
            let (reason, advice) = match &outcome.verdict {
                Verdict::Withheld => (
                    format!("excluded by the profile `{}`: ", report.profile),
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
            let ids = match report.unreachable {
                Some(_) => format!("everything else ({})", ids.len()),
                None => ids.join(" "),
            };
            let lead = [(Style::Muted, "– "), (Style::Muted, &*reason)];
            self.hanging("", &lead, Style::Muted, &format!("{ids}{advice}"))?;
        }
        Ok(())
    }

    /// Writes the details of an outcome that needs attention.
    fn in_full(&mut self, outcome: &Outcome) -> io::Result<()> {
        let (sign, style) = signed(outcome, self.report.strict);
        let id = format!("{} ", one_line(&outcome.id));
        let mut title = outcome.title.clone();
        if outcome.took >= SLOW {
            title.push_str(&format!(
                " ({})",
                seconds(outcome.took).replace(' ', "\u{a0}")
            ));
        }
        writeln!(self.out)?;
        self.hanging(
            "",
            &[(style, &sign), (Style::Strong, &id)],
            Style::Strong,
            &title,
        )?;
        if outcome.verdict == Verdict::NotExercised {
            let why = "zot-conform could not test this rule";
            let lead = [(Style::Plain, "not exercised: ")];
            self.hanging(INDENT, &lead, Style::Plain, why)?;
        }
        for finding in &outcome.findings {
            self.finding(finding)?;
        }
        if let Some(explain) = outcome.explain_command() {
            self.command("explain", &explain)?;
        }
        Ok(())
    }

    fn finding(&mut self, finding: &Finding) -> io::Result<()> {
        self.hanging(INDENT, &[], Style::Plain, &one_line(&finding.what))?;
        if let Some((line, pointer)) = &finding.frame {
            let indent = INDENT.repeat(2);
            for row in frame::rows(line, pointer.as_deref(), self.width - indent.len()) {
                let text = match &row.mark {
                    Some(mark) => format!(
                        "{}{}{}",
                        self.paint.apply(Style::Muted, &row.text[..mark.start]),
                        &row.text[mark.clone()],
                        self.paint.apply(Style::Muted, &row.text[mark.end..])
                    ),
                    None => self.paint.apply(Style::Muted, &row.text).into_owned(),
                };
                writeln!(self.out, "{indent}{text}")?;
                if let Some(under) = row.under() {
                    writeln!(
                        self.out,
                        "{indent}{}",
                        self.paint.apply(Style::Accent, &under)
                    )?;
                }
            }
        }
        if let Some(hint) = &finding.hint {
            self.hanging(INDENT, &[(Style::Accent, "hint: ")], Style::Plain, hint)?;
        }
        for (label, text) in [("stderr", &finding.stderr), ("input", &finding.input)] {
            if let Some(text) = text {
                let label = format!("{label}:");
                writeln!(
                    self.out,
                    "{INDENT}{}",
                    self.paint.apply(Style::Muted, &label)
                )?;
                let bar = self.paint.apply(Style::Muted, "│").into_owned();
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

    /// Writes a label and a command. Commands are not wrapped, so that they can be copied.
    fn command(&mut self, label: &str, command: &str) -> io::Result<()> {
        let label = format!("{label}:");
        let label = self.paint.apply(Style::Muted, &label);
        writeln!(self.out, "{INDENT}{label} {}", one_line(command))
    }

    /// Writes a label, followed by text with a hanging indent.
    fn hanging(
        &mut self,
        indent: &str,
        lead: &[(Style, &str)],
        style: Style,
        text: &str,
    ) -> io::Result<()> {
        let lead_width: usize = lead.iter().map(|(_, text)| text.width()).sum();
        // After a long label, indent the following lines by only two columns.
        let under = if lead_width > 16 { 2 } else { lead_width };
        let room = self.width.saturating_sub(indent.len());
        let text = console(text);
        write!(self.out, "{indent}")?;
        for (style, text) in lead {
            write!(self.out, "{}", self.paint.apply(*style, text))?;
        }
        for (at, line) in wrap(&text, room, lead_width, under).iter().enumerate() {
            if at > 0 {
                write!(self.out, "{indent}{}", " ".repeat(under))?;
            }
            writeln!(self.out, "{}", self.paint.apply(style, line))?;
        }
        Ok(())
    }
}

/// Whether an outcome is shown in full. Known failures are not.
fn needs_attention(outcome: &Outcome) -> bool {
    !outcome.known
        && matches!(
            outcome.verdict,
            Verdict::Fail | Verdict::Warn | Verdict::NotExercised
        )
}

/// The symbol and colour of an outcome. The symbol depends on whether the outcome fails the run:
/// with `--strict`, a warning does.
fn signed(outcome: &Outcome, strict: bool) -> (String, Style) {
    let (sign, style) = match outcome.verdict {
        _ if outcome.is_failure(strict) => ('✗', Style::Bad),
        _ if outcome.known => ('–', Style::Muted),
        Verdict::Warn | Verdict::NotExercised => ('!', Style::Accent),
        ref other => (other.sign(), Style::Muted),
    };
    (format!("{sign} "), style)
}
