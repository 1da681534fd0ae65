//! Renders unified diffs with line numbers, signs and colours. Where a line was modified, the
//! changed part is highlighted.

use std::ops::Range;

use ratatui::{
    style::Modifier,
    text::{Line, Span},
};

use super::{
    clusters,
    wrap::{tidy, wrap, wrap_between},
};
use crate::{clean, tui::theme::Theme};

/// Renders a unified diff. If the diff has only one file, its name is omitted, because the caller
/// shows it.
pub(crate) fn diff(unified: &str, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let unified = clean::text(unified);
    let mut writer = DiffWriter {
        width,
        theme,
        digits: digits_of_highest(&unified),
        is_alone: unified
            .lines()
            .filter(|line| line.starts_with("+++ "))
            .count()
            == 1,
        hunk: Hunk::default(),
        changed: Vec::new(),
        lines: Vec::new(),
    };
    let mut lines = unified.lines().peekable();
    while let Some(line) = lines.next() {
        let is_name =
            line.starts_with("--- ") && lines.peek().is_some_and(|next| next.starts_with("+++ "));
        if is_name && !writer.hunk.is_open() {
            let new = lines.next().unwrap_or_default();
            writer.file(line, new);
        } else {
            writer.line(line);
        }
    }
    writer.flush();
    writer.lines
}

struct DiffWriter<'t> {
    width: u16,
    theme: &'t Theme,
    /// Number of digits of the highest line number.
    digits: usize,
    is_alone: bool,
    hunk: Hunk,
    /// Removed and added lines that have not been written yet, because later lines decide how to
    /// pair them.
    changed: Vec<Changed>,
    lines: Vec<Line<'static>>,
}

struct Changed {
    sign: char,
    number: usize,
    text: String,
}

impl DiffWriter<'_> {
    fn file(&mut self, old: &str, new: &str) {
        self.flush();
        self.hunk = Hunk::default();
        if self.is_alone {
            return;
        }
        let name = if new == "+++ /dev/null" { old } else { new };
        let name = Line::styled(name[4..].to_owned(), self.theme.strong);
        self.lines.extend(wrap(&name, self.width));
    }

    fn line(&mut self, line: &str) {
        if let Some(next) = Hunk::of(line).filter(|_| !self.hunk.is_open()) {
            self.flush();
            // Mark where lines were omitted between two hunks.
            if self.hunk.has_started() {
                let digits = self.digits;
                self.lines.push(Line::from(Span::styled(
                    format!("{:>digits$}", "⋮"),
                    self.theme.muted,
                )));
            }
            self.hunk = next;
            return;
        }
        let (sign, text) = match line.split_at_checked(1) {
            Some(("+", text)) if self.hunk.is_open() => ('+', text),
            Some(("-", text)) if self.hunk.is_open() => ('-', text),
            Some((" ", text)) if self.hunk.is_open() => (' ', text),
            None if self.hunk.is_open() => (' ', ""),
            _ => {
                self.flush();
                let muted = Line::styled(line, self.theme.muted);
                self.lines.extend(wrap(&muted, self.width));
                return;
            }
        };
        let is_next_change =
            sign == '-' && self.changed.last().is_some_and(|last| last.sign == '+');
        if sign == ' ' || is_next_change {
            self.flush();
        }
        let line = Changed {
            sign,
            number: self.hunk.take(sign),
            text: match sign {
                ' ' => tidy(text),
                _ => with_visible_end(text),
            },
        };
        if sign == ' ' {
            self.write(&line, None);
        } else {
            self.changed.push(line);
        }
    }

    /// Writes the pending lines. If as many lines were added as removed, they are paired as
    /// modified lines.
    fn flush(&mut self) {
        let changed = std::mem::take(&mut self.changed);
        let old = changed.iter().filter(|line| line.sign == '-').count();
        let are_pairs = changed.len() == 2 * old;
        for (number, line) in changed.iter().enumerate() {
            let other = if number < old {
                number + old
            } else {
                number - old.min(number)
            };
            let differs = changed
                .get(other)
                .filter(|_| are_pairs)
                .and_then(|other| difference(&line.text, &other.text));
            self.write(line, differs);
        }
    }

    fn write(&mut self, line: &Changed, differs: Option<Range<usize>>) {
        let Changed { sign, number, text } = line;
        let style = match sign {
            '+' => self.theme.added,
            '-' => self.theme.removed,
            _ => self.theme.text,
        };
        let digits = self.digits;
        let first = Line::from(vec![
            Span::styled(format!("{number:>digits$} "), self.theme.muted),
            Span::styled(format!("{sign} "), style),
        ]);
        let rest = Line::from(" ".repeat(digits + 3));
        let differs = differs.unwrap_or(0..0);
        let spans = vec![
            Span::styled(&text[..differs.start], style),
            Span::styled(
                &text[differs.clone()],
                style.add_modifier(Modifier::REVERSED),
            ),
            Span::styled(&text[differs.end..], style),
        ];
        self.lines
            .extend(wrap_between(&Line::from(spans), self.width, &first, &rest));
    }
}

/// Makes the blanks at the end of a line visible, because they could be the only change.
fn with_visible_end(line: &str) -> String {
    let text = line.trim_end_matches([' ', '\t']);
    let blanks = line[text.len()..].chars();
    let marks = blanks.map(|blank| if blank == '\t' { '→' } else { '·' });
    tidy(text).chars().chain(marks).collect()
}

/// Returns the part of a line that differs from another, or `None` if no part differs or the lines
/// have little in common.
fn difference(this: &str, other: &str) -> Option<Range<usize>> {
    let mut start = 0;
    let mut others = clusters(other);
    for (at, cluster, _) in clusters(this) {
        if others.next().is_none_or(|(_, other, _)| other != cluster) {
            break;
        }
        start = at + cluster.len();
    }
    let (this_rest, other_rest) = (&this[start..], &other[start..]);
    let same_end: usize = this_rest
        .chars()
        .rev()
        .zip(other_rest.chars().rev())
        .take_while(|(this, other)| this == other)
        .map(|(char, _)| char.len_utf8())
        .sum();
    let end = this.len() - same_end;
    let same = this.trim().len().saturating_sub(end - start);
    let whole = this.trim().len().max(other.trim().len());
    (start < end && same * 3 >= whole).then_some(start..end)
}

/// The current position in both files, and the number of lines left in the hunk.
#[derive(Debug, Clone, Copy, Default)]
struct Hunk {
    old: usize,
    new: usize,
    old_left: usize,
    new_left: usize,
}

impl Hunk {
    /// Parses `@@ -old,lines +new,lines @@ …`.
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

    /// Reports whether any hunk has started.
    fn has_started(self) -> bool {
        (self.old, self.new) != (0, 0)
    }

    /// Reports whether the hunk has more lines. If not, even a line that starts with a sign or a
    /// space is not part of it.
    fn is_open(self) -> bool {
        self.old_left + self.new_left > 0
    }

    /// Advances by one line and returns its number: in the old file for a removed line, otherwise
    /// in the new file.
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

/// Parses a start and a number of lines: `12,3`, or `12` for one line.
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

    const CHANGE: &str = "\
--- a/src/main.rs
+++ b/src/main.rs
@@ -8,4 +8,4 @@ fn main() {
 fn main() {
-\tlet x = 1;
+    let x = 2; // a remark that is too long for the line
 
 }
@@ -99 +99,2 @@
-- a list
+- a list
+--- no header
\\ No newline at end of file
";

    #[test]
    fn lines_have_numbers_signs_and_colours() {
        insta::assert_snapshot!(marked(&diff(CHANGE, 36, &Theme::dark())), @r"
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
    fn blanks_at_the_end_of_a_changed_line_are_visible() {
        let change = "@@ -1,3 +1,4 @@\n-x\n-y\t\n+x \n+y\n+  \n same  \n";
        assert_eq!(
            lines(&diff(change, 40, &Theme::plain())),
            ["1 - x", "2 - y→", "1 + x·", "2 + y", "3 + ··", "4   same"]
        );
    }

    #[test]
    fn names_are_shown_for_several_files() {
        let two = "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-one\n+two\n--- b.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n";
        assert_eq!(
            lines(&diff(two, 40, &Theme::dark())),
            ["a.txt", "1 - one", "1 + two", "b.txt", "1 - gone"]
        );
    }

    #[test]
    fn the_changed_part_of_a_line_is_found() {
        for (this, other, differs) in [
            ("print(\"Helo\")", "print(\"Hello\")", None),
            ("print(\"Hello\")", "print(\"Helo\")", Some("l")),
            ("let a = 1;", "let b = 1;", Some("a")),
            ("grün wie Gras", "grau wie Gras", Some("ün")),
            ("same", "same", None),
            ("all of it", "nothing like that", None),
            ("e\u{301}tude no", "e\u{300}tude no", Some("e\u{301}")),
        ] {
            let range = difference(this, other);
            assert_eq!(range.map(|range| &this[range]), differs, "{this} / {other}");
        }
    }

    #[test]
    fn other_text_is_shown_unchanged() {
        assert_eq!(
            lines(&diff("nothing\n+ changed", 40, &Theme::dark())),
            ["nothing", "+ changed"]
        );
    }
}
