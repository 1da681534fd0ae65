//! Applies edits to a file's content, all or nothing.

use std::ops::Range;

use memchr::memmem::Finder;
use serde::Deserialize;

use super::{super::args::boolean, hint, loose};

/// A replacement.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Edit {
    pub(super) old_text: String,
    pub(super) new_text: String,
    #[serde(default, deserialize_with = "boolean")]
    pub(super) replace_all: bool,
}

/// How many matches to count.
const COUNTED: usize = 100;
/// How many of the matches' line numbers to list.
const NAMED: usize = 10;

/// A range of the content, and its replacement.
struct Change {
    edit: usize,
    start: usize,
    end: usize,
    new: Vec<u8>,
}

/// Applies all edits. Each is matched against the original content, not against the result of the
/// others.
///
/// If all lines of the file end with CRLF, the edits' line endings are converted to CRLF, since
/// models rarely write them. Otherwise everything is compared and inserted byte for byte.
pub(super) fn apply(content: &[u8], edits: &[Edit]) -> Result<Vec<u8>, String> {
    if edits.is_empty() {
        return Err("`edits` is empty".to_owned());
    }
    if content.contains(&0) {
        return Err("the file is binary: it contains NUL bytes".to_owned());
    }
    let crlf = is_crlf(content);
    let is_utf8 = std::str::from_utf8(content).is_ok();
    let mut changes = Vec::new();
    for (index, edit) in edits.iter().enumerate() {
        let name = |why: String| match edits.len() {
            1 => why,
            all => format!("edit {} of {all}: {why}", index + 1),
        };
        if !is_utf8 && !edit.new_text.is_ascii() {
            return Err(name(
                "the file is not UTF-8, so `new_text` must be ASCII".to_owned(),
            ));
        }
        let old = line_ends(&edit.old_text, crlf);
        let new = line_ends(&edit.new_text, crlf);
        let places = find(content, &old, &new, edit.replace_all).map_err(name)?;
        changes.extend(places.into_iter().map(|place| Change {
            edit: index,
            start: place.start,
            end: place.end,
            new: new.clone(),
        }));
    }
    changes.sort_by_key(|change| change.start);
    if let Some([first, second]) = changes.array_windows().find(|[a, b]| a.end > b.start) {
        let (a, b) = (first.edit.min(second.edit), first.edit.max(second.edit));
        return Err(format!(
            "edits {} and {} overlap at line {}: combine them",
            a + 1,
            b + 1,
            hint::line_of(content, second.start)
        ));
    }
    let mut result = Vec::with_capacity(content.len());
    let mut at = 0;
    for change in &changes {
        result.extend_from_slice(&content[at..change.start]);
        result.extend_from_slice(&change.new);
        at = change.end;
    }
    result.extend_from_slice(&content[at..]);
    Ok(result)
}

/// Finds `old` in the content. Unless `all` is set, it must occur exactly once.
fn find(content: &[u8], old: &[u8], new: &[u8], all: bool) -> Result<Vec<Range<usize>>, String> {
    if old.is_empty() {
        return Err("`old_text` is empty; use `write` to write a whole file".to_owned());
    }
    if old == new {
        return Err("`old_text` and `new_text` are the same".to_owned());
    }
    let finder = Finder::new(old);
    let place = |start: usize| start..start + old.len();
    if all {
        let places: Vec<_> = finder.find_iter(content).map(place).collect();
        return match places.len() {
            0 => find_loosely(content, old),
            _ => Ok(places),
        };
    }
    let mut starts = Vec::new();
    let mut from = 0;
    // Count overlapping matches too, since they are just as ambiguous.
    while let Some(start) = finder.find(&content[from..]) {
        starts.push(from + start);
        from += start + 1;
        if starts.len() == COUNTED {
            break;
        }
    }
    match starts.len() {
        0 => find_loosely(content, old),
        1 => Ok(vec![place(starts[0])]),
        count => {
            let mut lines: Vec<String> = starts
                .iter()
                .take(NAMED)
                .map(|&start| hint::line_of(content, start).to_string())
                .collect();
            if count > NAMED {
                lines.push("…".to_owned());
            }
            let times = if count == COUNTED {
                format!("at least {count}")
            } else {
                count.to_string()
            };
            Err(format!(
                "`old_text` occurs {times} times, but must be unique; found at lines {}\nhint: include more context, or set `replace_all`",
                lines.join(", ")
            ))
        }
    }
}

/// Finds the only place that nearly matches `old`.
fn find_loosely(content: &[u8], old: &[u8]) -> Result<Vec<Range<usize>>, String> {
    let found = match (std::str::from_utf8(content), std::str::from_utf8(old)) {
        (Ok(content), Ok(old)) => loose::find(content, old),
        _ => None,
    };
    match found {
        Some(place) => Ok(vec![place]),
        None => Err(not_found(content, old)),
    }
}

fn not_found(content: &[u8], old: &[u8]) -> String {
    let mut why = "`old_text` not found in the file".to_owned();
    if let Some(hint) = hint::near(content, old) {
        why.push_str("\nhint: ");
        why.push_str(&hint);
    }
    why
}

/// Reports whether there are line endings, and all are CRLF.
fn is_crlf(content: &[u8]) -> bool {
    let mut ends = memchr::memchr_iter(b'\n', content).peekable();
    ends.peek().is_some() && ends.all(|end| end > 0 && content[end - 1] == b'\r')
}

fn line_ends(text: &str, crlf: bool) -> Vec<u8> {
    if crlf {
        text.replace("\r\n", "\n")
            .replace('\n', "\r\n")
            .into_bytes()
    } else {
        text.as_bytes().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(old: &str, new: &str) -> Edit {
        Edit {
            old_text: old.to_owned(),
            new_text: new.to_owned(),
            replace_all: false,
        }
    }

    fn applied(content: &str, edits: &[Edit]) -> Result<String, String> {
        let result = apply(content.as_bytes(), edits)?;
        Ok(String::from_utf8(result).unwrap())
    }

    #[test]
    fn edits_see_the_original_and_not_each_other() {
        let result = applied("one two", &[edit("one", "two"), edit("two", "three")]);
        assert_eq!(result.as_deref(), Ok("two three"));
    }

    #[test]
    fn adjacent_edits_work_and_overlapping_ones_fail() {
        assert_eq!(
            applied("abcd", &[edit("ab", "1"), edit("cd", "2")]).as_deref(),
            Ok("12")
        );
        let error = applied("x\nabcd", &[edit("bcd", "2"), edit("abc", "1")]).unwrap_err();
        assert_eq!(error, "edits 1 and 2 overlap at line 2: combine them");
    }

    #[test]
    fn overlapping_matches_are_counted() {
        let error = applied("aaa", &[edit("aa", "b")]).unwrap_err();
        assert!(error.contains("occurs 2 times"), "{error}");
        let mut all = edit("aa", "b");
        all.replace_all = true;
        assert_eq!(applied("aaaaa", &[all]).as_deref(), Ok("bba"));
    }

    #[test]
    fn counting_matches_stops_at_a_limit() {
        let content = "a".repeat(1 << 20);
        let error = applied(&content, &[edit(&"a".repeat(1 << 19), "b")]).unwrap_err();
        assert!(error.contains("at least 100 times"), "{error}");
    }

    #[test]
    fn crlf_is_converted_only_if_all_lines_have_it() {
        let result = applied("a\r\nb\r\nc", &[edit("a\nb", "1\n2\n3")]);
        assert_eq!(result.as_deref(), Ok("1\r\n2\r\n3\r\nc"));
        let result = applied("a\r\nb\r\nc", &[edit("a\r\nb", "1\n2")]);
        assert_eq!(result.as_deref(), Ok("1\r\n2\r\nc"));
        assert!(applied("a\r\nb\nc", &[edit("a\nb", "1")]).is_err());
        let result = applied("a\r\nb\nc", &[edit("a\r\nb", "1\r\n2")]);
        assert_eq!(result.as_deref(), Ok("1\r\n2\nc"));
    }

    #[test]
    fn invalid_edits_are_errors() {
        for (edits, why) in [
            (vec![], "`edits` is empty"),
            (vec![edit("", "x")], "`old_text` is empty"),
            (vec![edit("a", "a")], "are the same"),
            (
                vec![edit("a", "b"), edit("z", "y")],
                "edit 2 of 2: `old_text` not found in the file",
            ),
        ] {
            let error = applied("a", &edits).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        assert!(apply(b"a\0b", &[edit("a", "b")]).is_err());
    }
}
