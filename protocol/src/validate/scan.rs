//! What can still be told of a line that is not JSON: its type, its `id`, whether it says `block: true`. Whoever
//! waits for that `id` is told at once, and a guard that blocked is not waved through for a bad byte elsewhere.

/// What a broken line says at its top level.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Scan {
    pub(super) frame_type: Option<String>,
    pub(super) id: Option<String>,
    pub(super) says_block: bool,
}

/// Walks over the line once. It needs no stack, so nesting costs nothing, and it looks only at the keys of the
/// outermost object.
pub(super) fn scan(line: &[u8]) -> Scan {
    let mut scan = Scan::default();
    let mut ambiguous_id = false;
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(&byte) = line.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let Some((key, after)) = string(line, at) else {
                    break;
                };
                at = after;
                if depth != 1 {
                    continue;
                }
                let Some(value) = value_after_colon(line, after) else {
                    continue;
                };
                let text = || {
                    let (text, _) = string(line, value + 1)?;
                    (line[value] == b'"').then_some(text)
                };
                match key {
                    b"type" => scan.frame_type = scan.frame_type.or(text().and_then(plain)),
                    b"id" => {
                        let id = text().and_then(plain);
                        ambiguous_id |= scan.id.is_some() && scan.id != id;
                        scan.id = scan.id.or(id);
                    }
                    b"block" => scan.says_block |= line[value..].starts_with(b"true"),
                    _ => {}
                }
                // A string value would otherwise be taken for the next key.
                if line[value] == b'"' {
                    match string(line, value + 1) {
                        Some((_, after)) => at = after,
                        None => break,
                    }
                }
            }
            _ => {}
        }
    }
    if ambiguous_id {
        scan.id = None;
    }
    scan
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
fn value_after_colon(line: &[u8], mut at: usize) -> Option<usize> {
    let skip = |mut at: usize| {
        while line.get(at).is_some_and(u8::is_ascii_whitespace) {
            at += 1;
        }
        at
    };
    at = skip(at);
    if line.get(at)? != &b':' {
        return None;
    }
    at = skip(at + 1);
    line.get(at).map(|_| at)
}

/// A text without escapes, as every id of a host is.
fn plain(raw: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(raw).ok()?;
    (!text.contains('\\')).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scanned(line: &str) -> (Option<String>, Option<String>, bool) {
        let scan = scan(line.as_bytes());
        (scan.frame_type, scan.id, scan.says_block)
    }

    #[test]
    fn top_level_keys_only() {
        let line = r#"{"a":{"id":"no","block":true},"type":"x","l":["id","y"],"id":"7","t":"\"id\":\"8\"","#;
        assert_eq!(scanned(line), (Some("x".into()), Some("7".into()), false));
    }

    #[test]
    fn value_that_looks_like_a_key() {
        assert_eq!(
            scanned(r#"{"a":"id","b":"type","id" : "1", oops"#).1,
            Some("1".into())
        );
    }

    #[test]
    fn two_ids_are_no_id() {
        assert_eq!(scanned(r#"{"id":"1","id":"2"}"#).1, None);
        assert_eq!(scanned(r#"{"id":"1","id":"1"}"#).1, Some("1".into()));
    }

    #[test]
    fn block_counts_wherever_it_is_said() {
        assert!(scanned(r#"{"block":true,"block":false"#).2);
        assert!(!scanned(r#"{"reason":"block: true, \"block\":true"#).2);
    }
}
