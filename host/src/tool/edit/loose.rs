//! Finds text that differs from the file only in ways that models do not notice: typographic quotes
//! instead of plain ones, and trailing spaces and tabs.

use std::ops::Range;

use memchr::memmem::Finder;

/// A text without those differences.
#[derive(Default)]
struct Normalised {
    bytes: Vec<u8>,
    /// The range of the original text that each byte comes from.
    origins: Vec<Range<usize>>,
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
    let finder = Finder::new(&old.bytes);
    let start = finder.find(&content.bytes)?;
    if finder.find(&content.bytes[start + 1..]).is_some() {
        return None;
    }
    let last = start + old.bytes.len() - 1;
    Some(content.origins[start].start..content.origins[last].end)
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
