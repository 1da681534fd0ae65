//! The front matter of a `SKILL.md`: `---`, some YAML, `---`.
//!
//! Parses the subset that such files use: top-level keys with plain, quoted, folded (`>`) and
//! literal (`|`) strings. Everything else (lists, maps) is skipped. A strict YAML library would
//! reject many real files (`description: Use when: …`), and this is smaller.

use std::collections::BTreeMap;

/// Parses the keys with string values, and returns them with the body.
pub(super) fn parse(text: &str) -> Result<(BTreeMap<String, String>, &str), &'static str> {
    let text = text.trim_start_matches('\u{feff}');
    let mut rest = text;
    if next_line(&mut rest).map(str::trim_end) != Some("---") {
        return Err("missing `---` on the first line");
    }
    let mut lines = Vec::new();
    loop {
        match next_line(&mut rest) {
            None => return Err("missing `---` after the front matter"),
            Some(line) if matches!(line.trim_end(), "---" | "...") => break,
            Some(line) => lines.push(line),
        }
    }
    Ok((keys(&lines)?, rest))
}

fn next_line<'t>(rest: &mut &'t str) -> Option<&'t str> {
    if rest.is_empty() {
        return None;
    }
    let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
    *rest = after;
    Some(line)
}

fn keys(lines: &[&str]) -> Result<BTreeMap<String, String>, &'static str> {
    let mut found = BTreeMap::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        at += 1;
        if line.trim().is_empty() || line.starts_with('#') || is_indented(line) {
            continue;
        }
        // A list item of the key above.
        if line.starts_with('-') {
            continue;
        }
        let (key, value) = line
            .split_once(':')
            .ok_or("invalid line in the front matter, expected `key: value`")?;
        let more = lines[at..]
            .iter()
            .take_while(|line| is_indented(line) || line.trim().is_empty())
            .count();
        let text = text_of(value.trim(), &lines[at..at + more])?;
        at += more;
        if let Some(text) = text
            && found.insert(key.trim().to_owned(), text).is_some()
        {
            return Err("duplicate key in the front matter");
        }
    }
    Ok(found)
}

fn is_indented(line: &str) -> bool {
    line.starts_with([' ', '\t'])
}

/// Returns the string value of a key, or `None` for other values.
fn text_of(value: &str, more: &[&str]) -> Result<Option<String>, &'static str> {
    let block = value.split_whitespace().next().unwrap_or_default();
    let trimmed = more.iter().map(|line| line.trim());
    let folded = |lines: &mut dyn Iterator<Item = &str>| {
        let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
        lines.join(" ")
    };
    match block {
        ">" | ">-" | ">+" => return Ok(Some(folded(&mut trimmed.clone()))),
        "|" | "|-" | "|+" => {
            let lines: Vec<&str> = trimmed.collect();
            return Ok(Some(lines.join("\n").trim_end().to_owned()));
        }
        _ => {}
    }
    if value.starts_with(['[', '{', '&', '*', '!']) {
        return Ok(None);
    }
    let whole = folded(&mut std::iter::once(value).chain(trimmed));
    if let Some(quoted) = whole.strip_prefix('"') {
        return double_quoted(quoted).map(Some);
    }
    if let Some(quoted) = whole.strip_prefix('\'') {
        let end = single_end(quoted).ok_or("unterminated string in the front matter")?;
        return Ok(Some(quoted[..end].replace("''", "'")));
    }
    let plain = whole.split(" #").next().unwrap_or_default().trim();
    // A map or a list below its key.
    if value.is_empty() && more.iter().any(|line| is_nested(line.trim())) {
        return Ok(None);
    }
    Ok((!plain.is_empty()).then(|| plain.to_owned()))
}

fn is_nested(line: &str) -> bool {
    let key = line.split_once(':').map(|(key, _)| key);
    line.starts_with("- ") || key.is_some_and(|key| !key.contains(' ') && !key.is_empty())
}

fn single_end(text: &str) -> Option<usize> {
    let mut from = 0;
    loop {
        let end = from + text[from..].find('\'')?;
        if !text[end + 1..].starts_with('\'') {
            return Some(end);
        }
        from = end + 2;
    }
}

fn double_quoted(text: &str) -> Result<String, &'static str> {
    let mut value = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => return Ok(value),
            '\\' => match characters.next() {
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                Some(other @ ('"' | '\\' | '/')) => value.push(other),
                _ => return Err("invalid escape in the front matter, expected \\n \\t \\\" \\\\"),
            },
            other => value.push(other),
        }
    }
    Err("unterminated string in the front matter")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value(head: &str) -> Option<String> {
        let text = format!("---\nname: x\n{head}\n---\nbody\n");
        let (mut keys, body) = parse(&text).unwrap();
        assert_eq!(body, "body\n");
        assert_eq!(keys["name"], "x");
        keys.remove("d")
    }

    #[test]
    fn parses_all_string_styles() {
        for (head, expected) in [
            ("d: plain", Some("plain")),
            ("d: Use when: asked # a comment", Some("Use when: asked")),
            ("d: \"say \\\"hi\\\"\\n\" # no", Some("say \"hi\"\n")),
            ("d: 'it''s'", Some("it's")),
            ("d: >\n  one\n  two\n\n  three", Some("one two three")),
            ("d: |-\n  one\n  two", Some("one\ntwo")),
            ("d: one\n  two", Some("one two")),
            ("d:\n  one\n  two", Some("one two")),
            ("d:", None),
            ("d: [a, b]", None),
            ("d:\n  - a\n  - b", None),
            ("d:\n  key: value", None),
            ("other:\n- a\nd: x", Some("x")),
            ("# a comment\nd: x\r", Some("x")),
        ] {
            assert_eq!(value(head).as_deref(), expected, "{head:?}");
        }
    }

    #[test]
    fn errors_name_the_problem() {
        for (text, why) in [
            ("", "missing `---` on the first line"),
            ("# Skill", "missing `---` on the first line"),
            ("---\nname: x\n", "missing `---` after"),
            ("---\nname\n---\n", "expected `key: value`"),
            ("---\nd: \"x\n---\n", "unterminated"),
            ("---\nd: x\nd: y\n---\n", "duplicate"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(why), "{text:?}: {error}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(text in "(---\n)?[a:'\"\\\\>|\\-# \n\té]{0,60}(---\n)?") {
            let _ = parse(&text);
        }
    }
}
