//! Finds text that differs from the file only in ways that models do not notice: typographic quotes
//! instead of plain ones, and trailing spaces and tabs.

use std::ops::Range;

use memchr::memmem::Finder;

/// Text with these differences removed.
#[derive(Default)]
struct Normalised {
    bytes: Vec<u8>,
    /// The range of the original text that each byte comes from.
    origins: Vec<Range<usize>>,
    /// Whether trailing blanks were removed from a last line without a line break.
    is_trimmed: bool,
}

impl Normalised {
    fn of(text: &str) -> Self {
        let mut normalised = Self::default();
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let body = line.trim_end_matches(['\n', '\r']);
            let kept = body.trim_end_matches([' ', '\t']);
            for (offset, char) in kept.char_indices() {
                let start = at + offset;
                normalised.push(plain(char), start..start + char.len_utf8());
            }
            normalised.is_trimmed = kept.len() < line.len() && body.len() == line.len();
            for (offset, end) in line[body.len()..].char_indices() {
                let start = at + body.len() + offset;
                normalised.push(end, start..start + 1);
            }
            at += line.len();
        }
        normalised
    }

    fn push(&mut self, char: char, origin: Range<usize>) {
        for byte in char.encode_utf8(&mut [0; 4]).bytes() {
            self.bytes.push(byte);
            self.origins.push(origin.clone());
        }
    }
}

fn plain(char: char) -> char {
    match char {
        '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{201b}' => '\'',
        '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{201f}' => '"',
        other => other,
    }
}

/// Returns the range of `old` in `content`, if it occurs exactly once.
pub(super) fn find(content: &str, old: &str) -> Option<Range<usize>> {
    let (content, old) = (Normalised::of(content), Normalised::of(old));
    if old.bytes.iter().all(u8::is_ascii_whitespace) {
        return None;
    }
    // Blanks at the end of `old` can be ignored only where the line in the file ends too. Otherwise,
    // `let x ` would match the beginning of `let xs`.
    let ends_line = |start: usize| {
        let next = content.bytes.get(start + old.bytes.len());
        !old.is_trimmed || next.is_none_or(|next| matches!(next, b'\n' | b'\r'))
    };
    let finder = Finder::new(&old.bytes);
    let mut found = overlapping(&finder, &content.bytes).filter(|start| ends_line(*start));
    let (start, None) = (found.next()?, found.next()) else {
        return None;
    };
    let last = start + old.bytes.len() - 1;
    Some(content.origins[start].start..content.origins[last].end)
}

/// Returns all places where a text occurs, even if they overlap.
fn overlapping<'t>(finder: &'t Finder<'t>, text: &'t [u8]) -> impl Iterator<Item = usize> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + finder.find(text.get(from..)?)?;
        from = at + 1;
        Some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_trailing_blanks_are_ignored_if_one_place_matches() {
        for (content, old, found) in [
            ("say “hi” now", "\"hi\"", Some("“hi”")),
            ("say \"hi\" now", "“hi” now", Some("\"hi\" now")),
            ("it’s\n", "it's", Some("it’s")),
            ("a  \nb\t\nc", "a\nb\nc", Some("a  \nb\t\nc")),
            ("a\nb", "a \nb  ", Some("a\nb")),
            ("a \r\nb", "a\r\nb", Some("a \r\nb")),
            ("‘a’ 'a'", "'a'", None),
            ("a", "b", None),
            (" a", "  a", None),
            ("a \n", " \n", None),
            ("let xs = 1", "let x ", None),
            ("let xs = 1\nlet x\n", "let x ", Some("let x")),
            ("x yx\r\n", "x\t", Some("x")),
        ] {
            let range = find(content, old);
            assert_eq!(
                range.map(|range| &content[range]),
                found,
                "{content:?} {old:?}"
            );
        }
    }
}
