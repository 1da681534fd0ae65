//! Reads information from the bytes of a line without parsing it: the number of values and, for a
//! line that cannot be parsed, its type, its `id` and whether it has `block: true`. The request
//! with that `id` can then fail immediately, and a guard's block still counts if the line is
//! malformed elsewhere.

use std::ops::ControlFlow;

use memchr::memchr2;

/// The weight of an object or a list. Even one with a single entry can use about as much memory as
/// this many other values, because it reserves space for several entries.
pub(super) const CONTAINER: usize = 8;

/// Returns whether a line weighs more than `most`. Each value and key counts as 1, and an object or
/// a list as [`CONTAINER`]. This limits the memory for parsing the line, even if it is not valid
/// JSON.
pub(super) fn is_heavier(line: &[u8], most: usize) -> bool {
    // No byte adds more than one container, so short lines need no counting.
    if line.len().saturating_mul(CONTAINER) < most {
        return false;
    }
    weight(line, most) > most
}

/// Returns the weight of a line. Counting stops once it exceeds `most`, so a higher result is not
/// exact.
pub(super) fn weight(line: &[u8], most: usize) -> usize {
    let mut weight = 1;
    let mut at = 0;
    while let Some(&byte) = line.get(at) {
        at += 1;
        match byte {
            b'"' => match string(line, at) {
                Some((_, after)) => at = after,
                None => break,
            },
            b',' | b':' => weight += 1,
            b'{' | b'[' => {
                at = skip_blanks(line, at);
                let is_empty = matches!(line.get(at), Some(b'}' | b']'));
                weight += CONTAINER - usize::from(is_empty);
            }
            _ => {}
        }
        if weight > most {
            break;
        }
    }
    weight
}

/// The top-level fields read from a malformed line.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Scan {
    pub(super) frame_type: Option<String>,
    pub(super) id: Option<String>,
    pub(super) says_block: bool,
}

/// Scans the first object of a line. Omits an ambiguous `id`: one that is not the only `id`, or is
/// next to a key with escapes, which could also spell `id`.
pub(super) fn scan(line: &[u8]) -> Scan {
    let mut scan = Scan::default();
    let mut ids = 0;
    fields(line, |key, value, text| {
        match key {
            b"type" => {
                scan.frame_type = scan.frame_type.take().or(text.and_then(literal));
            }
            b"id" => {
                ids += 1;
                scan.id = text.and_then(literal);
            }
            b"block" => scan.says_block |= value.starts_with(b"true"),
            _ if key.contains(&b'\\') => ids += 2,
            _ => {}
        }
        ControlFlow::Continue(())
    });
    if ids > 1 {
        scan.id = None;
    }
    scan
}

/// Returns the type of a frame, which is the value of the first `tag`. The rest of the line is not
/// read.
pub(super) fn frame_type(line: &[u8], tag: &str) -> Option<String> {
    let mut found = None;
    fields(line, |key, _, text| {
        if key != tag.as_bytes() {
            return ControlFlow::Continue(());
        }
        found = text.and_then(literal);
        ControlFlow::Break(())
    });
    found
}

/// Visits the top-level fields of the first object of a line. `visit` receives each key, the rest
/// of the line starting at its value, and the value if it is a string.
fn fields<'l>(
    line: &'l [u8],
    mut visit: impl FnMut(&'l [u8], &'l [u8], Option<&'l [u8]>) -> ControlFlow<()>,
) {
    let mut open = Vec::new();
    let mut at = skip_blanks(line, 0);
    if line.get(at) != Some(&b'{') {
        return;
    }
    while let Some(&byte) = line.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => open.push(byte),
            b'}' | b']' => {
                close(&mut open, byte);
                if open.is_empty() {
                    return;
                }
            }
            b'"' => {
                let Some((key, after)) = string(line, at) else {
                    return;
                };
                at = after;
                let Some(value) = value_after_colon(line, after).filter(|_| open.len() == 1) else {
                    continue;
                };
                let is_text = line[value] == b'"';
                let text = is_text.then(|| string(line, value + 1)).flatten();
                let flow = visit(key, &line[value..], text.map(|(text, _)| text));
                if flow.is_break() || (is_text && text.is_none()) {
                    return;
                }
                // A string value must not be mistaken for the next key.
                at = text.map_or(value, |(_, after)| after);
            }
            _ => {}
        }
    }
}

/// Closes a bracket and all brackets left open inside it.
fn close(open: &mut Vec<u8>, closing: u8) {
    let opening = if closing == b'}' { b'{' } else { b'[' };
    match open.iter().rposition(|bracket| *bracket == opening) {
        Some(at) => open.truncate(at),
        None => open.clear(),
    }
}

/// Returns the raw contents of the string that starts after the quote at `start`, and the position
/// after it.
fn string(line: &[u8], start: usize) -> Option<(&[u8], usize)> {
    let mut at = start;
    loop {
        at += memchr2(b'"', b'\\', line.get(at..)?)?;
        if line[at] == b'"' {
            return Some((&line[start..at], at + 1));
        }
        at += 2;
    }
}

/// Returns where the value starts, if a colon comes next.
fn value_after_colon(line: &[u8], at: usize) -> Option<usize> {
    let colon = skip_blanks(line, at);
    if line.get(colon)? != &b':' {
        return None;
    }
    let value = skip_blanks(line, colon + 1);
    line.get(value).map(|_| value)
}

fn skip_blanks(line: &[u8], mut at: usize) -> usize {
    while line.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

/// Decodes a string that has no escapes; IDs from a host never have any. Returns `None` for other
/// strings.
fn literal(raw: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(raw).ok()?;
    (!text.contains('\\')).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(line: &str) -> Option<String> {
        scan(line.as_bytes()).id
    }

    fn says_block(line: &str) -> bool {
        scan(line.as_bytes()).says_block
    }

    #[test]
    fn only_top_level_keys_are_read() {
        let line = r#"{"a":{"id":"no","block":true},"type":"x","l":["id","y"],"id":"7","t":"\"id\":\"8\"","#;
        let scan = scan(line.as_bytes());
        assert_eq!(
            (
                scan.frame_type.as_deref(),
                scan.id.as_deref(),
                scan.says_block
            ),
            (Some("x"), Some("7"), false)
        );
    }

    #[test]
    fn a_value_is_not_mistaken_for_a_key() {
        assert_eq!(
            id(r#"{"a":"id","b":"type","id" : "1", oops"#).as_deref(),
            Some("1")
        );
    }

    #[test]
    fn an_ambiguous_id_is_ignored() {
        for line in [
            r#"{"id":"1","id":"2"}"#,
            r#"{"id":5,"id":"B","#,
            r#"{"id":"B","id":5,"#,
            r#"{"id":"a\u0041","id":"B","#,
            r#"{"\u0069d":"A","id":"B","#,
            r#"{"id":"B","\u0069d":"A","#,
            r#"["id":"B","#,
            r#"log {"id":"B"}"#,
            r#"{}{"id":"B"}"#,
        ] {
            assert_eq!(id(line), None, "{line}");
        }
    }

    #[test]
    fn weight_ignores_strings_and_counts_containers_as_eight() {
        for (json, expected) in [
            ("1", 1),
            ("[]", 8),
            ("[ ]", 8),
            ("[1,2,3]", 8 + 3),
            (r#"{"a":1,"b":"{[,,,]}\",,"}"#, 8 + 4),
            ("[[],{}]", 3 * 8),
            (r#"{"a":{"a":[null]}}"#, 3 * 8 + 1 + 2),
        ] {
            let value: serde_json::Value = serde_json::from_str(json).expect("JSON");
            assert_eq!(counted(&value), expected, "{json}");
            assert_eq!(weight(json.as_bytes(), usize::MAX), expected, "{json}");
            assert!(!is_heavier(json.as_bytes(), expected), "{json}");
            assert!(is_heavier(json.as_bytes(), expected - 1), "{json}");
        }
    }

    /// Computes the same weight from a parsed value.
    fn counted(value: &serde_json::Value) -> usize {
        use serde_json::Value::{Array, Object};
        match value {
            Array(list) => CONTAINER + list.iter().map(counted).sum::<usize>(),
            Object(object) => CONTAINER + object.values().map(|it| 1 + counted(it)).sum::<usize>(),
            _ => 1,
        }
    }

    #[test]
    fn only_the_first_type_is_read() {
        let line = br#"{"a":[{"type":"no"}],"type":"yes","type":"late"}"#;
        assert_eq!(frame_type(line, "type").as_deref(), Some("yes"));
        for line in [
            &br#"{"type":5,"type":"late"}"#[..],
            br#"{"a":"type"}"#,
            br#"{"type":"a\u0062"}"#,
            br#"log {"type":"x"}"#,
            br#"{"type":"x"#,
        ] {
            assert_eq!(frame_type(line, "type"), None);
        }
    }

    #[test]
    fn block_is_found_anywhere_in_the_top_level_object() {
        assert!(says_block(r#"{"block":true,"block":false"#));
        assert!(says_block(
            r#"{"id":"A","modified_args":{"x":[1,2},"block":true}"#
        ));
        assert!(!says_block(r#"{"reason":"block: true, \"block\":true"#));
        assert!(!says_block(r#"{"id":"A","block":false}{"block":true}"#));
        assert!(!says_block(r#"["block":true"#));
    }
}
