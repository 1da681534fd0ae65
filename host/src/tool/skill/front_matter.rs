//! The head of a `SKILL.md`: `---`, some YAML, `---`.
//!
//! Read here is what such heads are made of: top-level keys with plain, quoted, folded (`>`) and literal (`|`) texts;
//! whatever else there is (lists, maps) is passed over. No YAML library: of the two values that matter many in the wild are
//! not YAML (`description: Use when: …`), which a strict one refuses, and none is as small as what is needed.

use std::collections::BTreeMap;

/// The keys with texts, and where the body begins.
pub(super) fn parse(text: &str) -> Result<(BTreeMap<String, String>, &str), &'static str> {
    let text = text.trim_start_matches('\u{feff}');
    let mut rest = text;
    if next_line(&mut rest).map(str::trim_end) != Some("---") {
        return Err("it does not begin with `---`");
    }
    let mut lines = Vec::new();
    loop {
        match next_line(&mut rest) {
            None => return Err("its front matter has no end: a second `---` is missing"),
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
        // An item of a list that belongs to the key above.
        if line.starts_with('-') {
            continue;
        }
        let (key, value) = line
            .split_once(':')
            .ok_or("a line of its front matter is not `key: value`")?;
        let more = lines[at..]
            .iter()
            .take_while(|line| is_indented(line) || line.trim().is_empty())
            .count();
        let text = text_of(value.trim(), &lines[at..at + more])?;
        at += more;
        if let Some(text) = text
            && found.insert(key.trim().to_owned(), text).is_some()
        {
            return Err("a key is in its front matter twice");
        }
    }
    Ok(found)
}

fn is_indented(line: &str) -> bool {
    line.starts_with([' ', '\t'])
}

/// The text of a key; `None` where it is none.
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
        let end = single_end(quoted).ok_or("a quoted text in its front matter has no end")?;
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
                _ => return Err("an escape in its front matter is not one of \\n \\t \\\" \\\\"),
            },
            other => value.push(other),
        }
    }
    Err("a quoted text in its front matter has no end")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value(head: &str) -> Option<String> {
        let text = format!("---\nname: x\n{head}\n---\nbody\n");
        let (mut keys, body) = parse(&text).expect("parsed");
        assert_eq!(body, "body\n");
        assert_eq!(keys["name"], "x");
        keys.remove("d")
    }

    #[test]
    fn texts_in_all_their_forms() {
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
    fn what_is_wrong_is_named() {
        for (text, why) in [
            ("", "does not begin"),
            ("# Skill", "does not begin"),
            ("---\nname: x\n", "no end"),
            ("---\nname\n---\n", "not `key: value`"),
            ("---\nd: \"x\n---\n", "has no end"),
            ("---\nd: x\nd: y\n---\n", "twice"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(why), "{text:?}: {error}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "(---\n)?[a:'\"\\\\>|\\-# \n\té]{0,60}(---\n)?") {
            let _ = parse(&text);
        }
    }
}
