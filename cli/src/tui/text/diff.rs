//! A change, as unified diffs show it: the number of each line, its sign, and its text in the colour of the sign.

use ratatui::text::{Line, Span};

use super::wrap::{tidy, wrap_between};
use crate::{clean, tui::theme::Theme};

/// The lines of a unified diff.
pub(crate) fn diff(unified: &str, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let unified = clean::text(unified);
    let mut hunk = Hunk::default();
    let digits = digits_of_highest(&unified);
    let mut lines = Vec::new();
    for line in unified.lines() {
        if let Some(next) = Hunk::of(line) {
            // What is left out stands between two hunks.
            if hunk.is_one() {
                lines.push(Line::from(Span::styled(
                    format!("{:>digits$}", "⋮"),
                    theme.muted,
                )));
            }
            hunk = next;
            continue;
        }
        let (sign, text, style) = match line.split_at_checked(1) {
            Some(("+", text)) if hunk.is_open() => ('+', text, theme.added),
            Some(("-", text)) if hunk.is_open() => ('-', text, theme.removed),
            Some((" ", text)) if hunk.is_open() => (' ', text, theme.text),
            None if hunk.is_open() => (' ', "", theme.text),
            _ => {
                let muted = Line::styled(line, theme.muted);
                lines.extend(wrap_between(
                    &muted,
                    width,
                    &Line::default(),
                    &Line::default(),
                ));
                continue;
            }
        };
        let number = hunk.take(sign);
        let first = Line::from(vec![
            Span::styled(format!("{number:>digits$} "), theme.muted),
            Span::styled(format!("{sign} "), style),
        ]);
        let rest = Line::from(" ".repeat(digits + 3));
        lines.extend(wrap_between(
            &Line::styled(tidy(text), style),
            width,
            &first,
            &rest,
        ));
    }
    lines
}

/// Where in both files the next line is, and how many are left of the hunk.
#[derive(Debug, Clone, Copy, Default)]
struct Hunk {
    old: usize,
    new: usize,
    old_left: usize,
    new_left: usize,
}

impl Hunk {
    /// `@@ -old,lines +new,lines @@ …`
    fn of(line: &str) -> Option<Self> {
        let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
        let (new, _) = rest.split_once(" @@")?;
        let (old, old_left) = range(old)?;
        let (new, new_left) = range(new)?;
        Some(Self {
            old,
            new,
            old_left,
            new_left,
        })
    }

    /// Whether there was a hunk at all.
    fn is_one(self) -> bool {
        (self.old, self.new) != (0, 0)
    }

    /// Whether lines of it follow; what follows then is not part of it, whatever it begins with.
    fn is_open(self) -> bool {
        self.old_left + self.new_left > 0
    }

    /// The number of the next line: of the new file, or of the old one if it is gone.
    fn take(&mut self, sign: char) -> usize {
        let number = if sign == '-' { self.old } else { self.new };
        if sign != '+' {
            self.old = self.old.saturating_add(1);
            self.old_left = self.old_left.saturating_sub(1);
        }
        if sign != '-' {
            self.new = self.new.saturating_add(1);
            self.new_left = self.new_left.saturating_sub(1);
        }
        number
    }
}

/// `12,3`, or `12` for one line.
fn range(text: &str) -> Option<(usize, usize)> {
    let (from, lines) = text.split_once(',').unwrap_or((text, "1"));
    Some((from.parse().ok()?, lines.parse().ok()?))
}

fn digits_of_highest(unified: &str) -> usize {
    let highest = unified
        .lines()
        .filter_map(Hunk::of)
        .map(|hunk| {
            hunk.old
                .saturating_add(hunk.old_left)
                .max(hunk.new.saturating_add(hunk.new_left))
        })
        .max();
    highest.unwrap_or(0).to_string().len()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{lines, marked};
    use super::*;

    const CHANGE: &str = "--- a/src/main.rs\n+++ b/src/main.rs\n@@ -8,4 +8,4 @@ fn main() {\n fn main() {\n-\tlet x = 1;\n+    let x = 2; // a remark that is too long for the line\n \n }\n@@ -99 +99,2 @@\n-- a list\n+- a list\n+--- no header\n\\ No newline at end of file\n";

    #[test]
    fn a_change_has_numbers_signs_and_colours() {
        insta::assert_snapshot!(marked(&diff(CHANGE, 36, &Theme::dark())), @r"
        <dim:--- a/src/main.rs>
        <dim:+++ b/src/main.rs>
        <dim:  8 >  fn main() {
        <dim:  9 ><red:- ><red:    let x = 1;>
        <dim:  9 ><green:+ ><green:    let x = 2; // a remark>
              <green:that is too long for the line>
        <dim: 10>
        <dim: 11 >  }
        <dim:  ⋮>
        <dim: 99 ><red:- ><red:- a list>
        <dim: 99 ><green:+ ><green:- a list>
        <dim:100 ><green:+ ><green:--- no header>
        <dim:\ No newline at end of file>
        ");
    }

    #[test]
    fn what_is_no_diff_is_shown_as_it_is() {
        assert_eq!(
            lines(&diff("nothing\n+ changed", 40, &Theme::dark())),
            ["nothing", "+ changed"]
        );
    }
}
