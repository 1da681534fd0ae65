//! Sets `enabled` in a manifest, and leaves everything else as its author wrote it.

use anyhow::bail;
use zot_protocol::validate;

/// Returns the manifest with `enabled` set.
pub(crate) fn with_enabled(text: &str, enabled: bool) -> anyhow::Result<String> {
    let edited = match top_level(text) {
        Some(Object {
            value: Some((start, end)),
            ..
        }) => {
            format!("{}{enabled}{}", &text[..start], &text[end..])
        }
        Some(Object { end, last, .. }) => insert(text, end, last, enabled),
        None => bail!("not a JSON object"),
    };
    // Check the result, so that a mistake here never writes an invalid manifest.
    match validate::manifest(edited.as_bytes()) {
        Ok((manifest, _)) if manifest.is_enabled() == enabled => Ok(edited),
        Ok(_) => bail!("cannot set `enabled`"),
        Err(refusal) => bail!("{refusal}"),
    }
}

/// Adds the field at the end, formatted like the field before it.
fn insert(text: &str, end: usize, last: Option<Last>, enabled: bool) -> String {
    let Some(last) = last else {
        return format!("{}\"enabled\": {enabled}{}", &text[..end], &text[end..]);
    };
    let before = &text[..last.key];
    let space = &before[before.trim_end().len()..];
    let space = if space.is_empty() { " " } else { space };
    format!(
        "{},{space}\"enabled\": {enabled}{}",
        &text[..last.value_end],
        &text[last.value_end..]
    )
}

struct Object {
    /// The range of the value of `enabled`.
    value: Option<(usize, usize)>,
    /// The offset of the closing brace.
    end: usize,
    last: Option<Last>,
}

/// The last field: the start of its key and the end of its value.
struct Last {
    key: usize,
    value_end: usize,
}

/// Finds the fields of an object. The text must be valid JSON.
fn top_level(text: &str) -> Option<Object> {
    let bytes = text.as_bytes();
    let mut at = text.find('{')? + 1;
    let mut found = Object {
        value: None,
        end: 0,
        last: None,
    };
    loop {
        at = skip(bytes, at, |byte| byte.is_ascii_whitespace() || byte == b',');
        if bytes.get(at)? == &b'}' {
            found.end = at;
            return Some(found);
        }
        let key = at;
        at = skip_value(bytes, at)?;
        let name: String = serde_json::from_str(&text[key..at]).ok()?;
        at = skip(bytes, at, |byte| byte.is_ascii_whitespace() || byte == b':');
        let value = at;
        at = skip_value(bytes, at)?;
        if name == "enabled" {
            found.value = Some((value, at));
        }
        found.last = Some(Last { key, value_end: at });
    }
}

fn skip(bytes: &[u8], mut at: usize, is_skipped: impl Fn(u8) -> bool) -> usize {
    while bytes.get(at).is_some_and(|byte| is_skipped(*byte)) {
        at += 1;
    }
    at
}

/// Returns the end of the value that starts at `at`.
fn skip_value(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    loop {
        match bytes.get(at)? {
            b'"' => {
                at += 1;
                while *bytes.get(at)? != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                at += 1;
            }
            _ if depth == 0 => {
                let ends = |byte: u8| !(byte.is_ascii_whitespace() || b",}]".contains(&byte));
                at = skip(bytes, at, ends);
            }
            _ => at += 1,
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::with_enabled;

    #[test]
    fn only_the_value_changes() {
        let text = "{\n\t\"name\": \"x\",\n\t\"enabled\" :  true , \"exec\": \"{\\\"enabled\\\": 1}\"\n}\n";
        assert_eq!(
            with_enabled(text, false).unwrap(),
            text.replace("true", "false")
        );
        assert_eq!(with_enabled(text, true).unwrap(), text);
    }

    #[test]
    fn a_new_field_is_formatted_like_the_previous_one() {
        for (text, edited) in [
            (
                "{\n  \"name\": \"x\",\n  \"exec\": \"y\"\n}\n",
                "{\n  \"name\": \"x\",\n  \"exec\": \"y\",\n  \"enabled\": false\n}\n",
            ),
            (
                r#"{"name":"x","exec":"y"}"#,
                r#"{"name":"x","exec":"y", "enabled": false}"#,
            ),
            (
                r#"{ "name": "x", "exec": "y", "permissions": {"enabled": true} }"#,
                r#"{ "name": "x", "exec": "y", "permissions": {"enabled": true}, "enabled": false }"#,
            ),
        ] {
            assert_eq!(with_enabled(text, false).unwrap(), edited);
        }
    }

    #[test]
    fn an_escaped_key_is_recognised() {
        let text = r#"{"name":"x","exec":"y","\u0065nabled":null}"#;
        let edited = with_enabled(text, false).unwrap();
        assert_eq!(edited, text.replace("null", "false"));
    }

    #[test]
    fn invalid_manifests_are_refused() {
        for text in ["", "[]", "{", "{}", "{\"name\": 1}", "null"] {
            assert!(with_enabled(text, false).is_err(), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn never_panics(text in "[{}\\[\\],:\"\\\\a-e 0ü\n]{0,40}") {
            let _ = with_enabled(&text, false);
        }

        #[test]
        fn other_fields_are_unchanged(
            description in ".{0,20}",
            space in "[ \t\r\n]{0,4}",
            before in proptest::option::of(proptest::bool::ANY),
            enabled in proptest::bool::ANY,
        ) {
            let description = serde_json::to_string(&description).unwrap();
            let mut text = format!("{{{space}\"name\": \"x\",{space}");
            if let Some(before) = before {
                text.push_str(&format!("\"enabled\"{space}:{space}{before}{space},"));
            }
            text.push_str(&format!("\"exec\":{space}\"y\",\"description\": {description}{space}}}{space}"));
            let edited = with_enabled(&text, enabled).unwrap();
            let fields = |text: &str| {
                let mut value: serde_json::Value = serde_json::from_str(text).unwrap();
                value.as_object_mut().unwrap().remove("enabled");
                value
            };
            proptest::prop_assert_eq!(fields(&text), fields(&edited));
        }
    }
}
