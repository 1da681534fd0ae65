//! What can still be told of a line that is not JSON: its type, its `id`, whether it says `block: true`. Whoever
//! waits for that `id` is told at once, and a guard that blocked is not waved through for a bad byte elsewhere.

/// What a broken line says at its top level.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Scan {
    pub(super) frame_type: Option<String>,
    pub(super) id: Option<String>,
    pub(super) says_block: bool,
}

/// Walks over the first object of a line once, looking only at its own keys. What could be read in two ways is not
/// told: an `id` that is there twice, or one beside a key that is spelled with escapes.
pub(super) fn scan(line: &[u8]) -> Scan {
    let mut scan = Scan::default();
    let mut ids = 0;
    let mut open = Vec::new();
    let mut at = skip_blanks(line, 0);
    if line.get(at) != Some(&b'{') {
        return scan;
    }
    while let Some(&byte) = line.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => open.push(byte),
            b'}' | b']' => {
                close(&mut open, byte);
                if open.is_empty() {
                    break;
                }
            }
            b'"' => {
                let Some((key, after)) = string(line, at) else {
                    break;
                };
                at = after;
                let Some(value) = value_after_colon(line, after).filter(|_| open.len() == 1) else {
                    continue;
                };
                let text = (line[value] == b'"')
                    .then(|| string(line, value + 1))
                    .flatten();
                match key {
                    b"type" => {
                        scan.frame_type =
                            scan.frame_type.or(text.and_then(|(text, _)| literal(text)));
                    }
                    b"id" => {
                        ids += 1;
                        scan.id = text.and_then(|(text, _)| literal(text));
                    }
                    b"block" => scan.says_block |= line[value..].starts_with(b"true"),
                    _ if key.contains(&b'\\') => ids += 2,
                    _ => {}
                }
                // A text that is a value must not be taken for the next key.
                at = text.map_or(value, |(_, after)| after);
                if line[value] == b'"' && text.is_none() {
                    break;
                }
            }
            _ => {}
        }
    }
    if ids > 1 {
        scan.id = None;
    }
    scan
}

/// Closes a bracket, and with it whatever was left open inside.
fn close(open: &mut Vec<u8>, closing: u8) {
    let opening = if closing == b'}' { b'{' } else { b'[' };
    match open.iter().rposition(|bracket| *bracket == opening) {
        Some(at) => open.truncate(at),
        None => open.clear(),
    }
}

/// The raw contents of the string that begins at `start`, behind its quote, and what comes after it.
fn string(line: &[u8], start: usize) -> Option<(&[u8], usize)> {
    let mut at = start;
    loop {
        match line.get(at)? {
            b'"' => return Some((&line[start..at], at + 1)),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Where the value begins, if a colon follows.
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

/// A text without escapes, as every id of a host is.
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
    fn top_level_keys_only() {
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
    fn a_value_that_looks_like_a_key() {
        assert_eq!(
            id(r#"{"a":"id","b":"type","id" : "1", oops"#).as_deref(),
            Some("1")
        );
    }

    #[test]
    fn an_id_that_could_be_another_is_none() {
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
    fn block_counts_wherever_the_object_says_it() {
        assert!(says_block(r#"{"block":true,"block":false"#));
        assert!(says_block(
            r#"{"id":"A","modified_args":{"x":[1,2},"block":true}"#
        ));
        assert!(!says_block(r#"{"reason":"block: true, \"block\":true"#));
        assert!(!says_block(r#"{"id":"A","block":false}{"block":true}"#));
        assert!(!says_block(r#"["block":true"#));
    }
}
