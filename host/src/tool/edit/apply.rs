//! What edits make of a content: all of them, or none and why.

use memchr::memmem::Finder;
use serde::Deserialize;

use super::hint;

/// One replacement.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Edit {
    pub(super) old_text: String,
    pub(super) new_text: String,
    #[serde(default)]
    pub(super) replace_all: bool,
}

/// As many matches are counted, where there should be one.
const COUNTED: usize = 100;
/// And so many of their lines named.
const NAMED: usize = 10;

/// A part of the content, and what takes its place.
struct Change {
    edit: usize,
    start: usize,
    end: usize,
    new: Vec<u8>,
}

/// The content after all edits. Each is looked for in the content as it is now, not in what the others make of it.
///
/// In a file whose lines all end with CRLF the line ends of the edits are taken as such, since a model seldom writes them.
/// Otherwise everything is compared and put in byte for byte.
pub(super) fn apply(content: &[u8], edits: &[Edit]) -> Result<Vec<u8>, String> {
    if edits.is_empty() {
        return Err("there are no edits".to_owned());
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
                "the file is not UTF-8, so only ASCII can be put into it".to_owned(),
            ));
        }
        let old = line_ends(&edit.old_text, crlf);
        let new = line_ends(&edit.new_text, crlf);
        let starts = find(content, &old, &new, edit.replace_all).map_err(name)?;
        changes.extend(starts.into_iter().map(|start| Change {
            edit: index,
            start,
            end: start + old.len(),
            new: new.clone(),
        }));
    }
    changes.sort_by_key(|change| change.start);
    if let Some([first, second]) = changes.array_windows().find(|[a, b]| a.end > b.start) {
        let (a, b) = (first.edit.min(second.edit), first.edit.max(second.edit));
        return Err(format!(
            "edits {} and {} overlap at line {}: make them one",
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

/// Where `old` is.
fn find(content: &[u8], old: &[u8], new: &[u8], all: bool) -> Result<Vec<usize>, String> {
    if old.is_empty() {
        return Err("`old_text` is empty; use `write` to fill a file".to_owned());
    }
    if old == new {
        return Err("`old_text` and `new_text` are the same".to_owned());
    }
    let finder = Finder::new(old);
    if all {
        let starts: Vec<usize> = finder.find_iter(content).collect();
        return match starts.len() {
            0 => Err(not_found(content, old)),
            _ => Ok(starts),
        };
    }
    let mut starts = Vec::new();
    let mut from = 0;
    // Matches that overlap count too: it is not clear either which of them is meant.
    while let Some(start) = finder.find(&content[from..]) {
        starts.push(from + start);
        from += start + 1;
        if starts.len() == COUNTED {
            break;
        }
    }
    match starts.len() {
        0 => Err(not_found(content, old)),
        1 => Ok(starts),
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
                "`old_text` is there {times} times and should be there once; it begins at the lines {}\nhint: add lines around it until it is the only one, or set `replace_all`",
                lines.join(", ")
            ))
        }
    }
}

fn not_found(content: &[u8], old: &[u8]) -> String {
    let mut why = "`old_text` is not in the file (matches: 0)".to_owned();
    if let Some(hint) = hint::near(content, old) {
        why.push_str("\nhint: ");
        why.push_str(&hint);
    }
    why
}

/// Whether there are line ends, and all are CRLF.
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
        Ok(String::from_utf8(result).expect("text"))
    }

    #[test]
    fn edits_see_the_original_and_not_each_other() {
        let result = applied("one two", &[edit("one", "two"), edit("two", "three")]);
        assert_eq!(result.as_deref(), Ok("two three"));
    }

    #[test]
    fn those_that_touch_are_fine_and_those_that_overlap_are_not() {
        assert_eq!(
            applied("abcd", &[edit("ab", "1"), edit("cd", "2")]).as_deref(),
            Ok("12")
        );
        let error = applied("x\nabcd", &[edit("bcd", "2"), edit("abc", "1")]).unwrap_err();
        assert_eq!(error, "edits 1 and 2 overlap at line 2: make them one");
    }

    #[test]
    fn matches_that_overlap_are_counted() {
        let error = applied("aaa", &[edit("aa", "b")]).unwrap_err();
        assert!(error.contains("there 2 times"), "{error}");
        let mut all = edit("aa", "b");
        all.replace_all = true;
        assert_eq!(applied("aaaaa", &[all]).as_deref(), Ok("bba"));
    }

    #[test]
    fn a_flood_of_matches_is_counted_to_an_end() {
        let content = "a".repeat(1 << 20);
        let error = applied(&content, &[edit(&"a".repeat(1 << 19), "b")]).unwrap_err();
        assert!(error.contains("at least 100 times"), "{error}");
    }

    #[test]
    fn crlf_is_understood_only_where_all_lines_have_it() {
        let result = applied("a\r\nb\r\nc", &[edit("a\nb", "1\n2\n3")]);
        assert_eq!(result.as_deref(), Ok("1\r\n2\r\n3\r\nc"));
        let result = applied("a\r\nb\r\nc", &[edit("a\r\nb", "1\n2")]);
        assert_eq!(result.as_deref(), Ok("1\r\n2\r\nc"));
        assert!(applied("a\r\nb\nc", &[edit("a\nb", "1")]).is_err());
        let result = applied("a\r\nb\nc", &[edit("a\r\nb", "1\r\n2")]);
        assert_eq!(result.as_deref(), Ok("1\r\n2\nc"));
    }

    #[test]
    fn bytes_that_are_no_text_stay_as_they_are() {
        let latin = b"caf\xe9 au lait";
        let result = apply(latin, &[edit("lait", "rhum")]).expect("applied");
        assert_eq!(result, b"caf\xe9 au rhum");
        let error = apply(latin, &[edit("lait", "thé")]).unwrap_err();
        assert!(error.contains("not UTF-8"), "{error}");
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for (edits, why) in [
            (vec![], "there are no edits"),
            (vec![edit("", "x")], "`old_text` is empty"),
            (vec![edit("a", "a")], "are the same"),
            (
                vec![edit("a", "b"), edit("z", "y")],
                "edit 2 of 2: `old_text` is not in the file",
            ),
        ] {
            let error = applied("a", &edits).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        assert!(apply(b"a\0b", &[edit("a", "b")]).is_err());
    }
}
