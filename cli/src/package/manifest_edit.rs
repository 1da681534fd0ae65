//! Switching an extension on and off: one value in its manifest, with everything else left as its author wrote it.

use anyhow::bail;
use zot_protocol::validate;

/// The manifest with `enabled` as wanted.
pub(crate) fn with_enabled(text: &str, enabled: bool) -> anyhow::Result<String> {
    let edited = match top_level(text) {
        Some(Object {
            value: Some((start, end)),
            ..
        }) => {
            format!("{}{enabled}{}", &text[..start], &text[end..])
        }
        Some(Object { end, last, .. }) => insert(text, end, last, enabled),
        None => bail!("it is not a JSON object"),
    };
    // Whatever this made of it, it is a manifest that says what it should, or it is not written.
    match validate::manifest(edited.as_bytes()) {
        Ok((manifest, _)) if manifest.is_enabled() == enabled => Ok(edited),
        Ok(_) => bail!("`enabled` could not be set"),
        Err(refusal) => bail!("{refusal}"),
    }
}

/// Adds the field at the end, in the form that the one before has.
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
    /// Where the value of `enabled` is.
    value: Option<(usize, usize)>,
    /// Where its closing brace is.
    end: usize,
    last: Option<Last>,
}

/// The last field: where its key begins and its value ends.
struct Last {
    key: usize,
    value_end: usize,
}

/// Finds the fields of an object that is known to be valid JSON.
fn top_level(text: &str) -> Option<Object> {
    let bytes = text.as_bytes();
    let mut at = text.find('{')? + 1;
    let mut found = Object {
        value: None,
        end: 0,
        last: None,
    };
    loop {
        at = past(bytes, at, |byte| byte.is_ascii_whitespace() || byte == b',');
        if bytes.get(at)? == &b'}' {
            found.end = at;
            return Some(found);
        }
        let key = at;
        at = past_value(bytes, at)?;
        let name: String = serde_json::from_str(&text[key..at]).ok()?;
        at = past(bytes, at, |byte| byte.is_ascii_whitespace() || byte == b':');
        let value = at;
        at = past_value(bytes, at)?;
        if name == "enabled" {
            found.value = Some((value, at));
        }
        found.last = Some(Last { key, value_end: at });
    }
}

fn past(bytes: &[u8], mut at: usize, is_passed: impl Fn(u8) -> bool) -> usize {
    while bytes.get(at).is_some_and(|byte| is_passed(*byte)) {
        at += 1;
    }
    at
}

/// Where the value that begins at `at` ends.
fn past_value(bytes: &[u8], mut at: usize) -> Option<usize> {
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
                at = past(bytes, at, ends);
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
    fn a_new_field_has_the_form_of_its_neighbour() {
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
    fn an_escaped_key_is_the_key_all_the_same() {
        let text = r#"{"name":"x","exec":"y","\u0065nabled":null}"#;
        let edited = with_enabled(text, false).unwrap();
        assert_eq!(edited, text.replace("null", "false"));
    }

    #[test]
    fn what_is_no_manifest_is_refused() {
        for text in ["", "[]", "{", "{}", "{\"name\": 1}", "null"] {
            assert!(with_enabled(text, false).is_err(), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_is_too_odd(text in "[{}\\[\\],:\"\\\\a-e 0ü\n]{0,40}") {
            let _ = with_enabled(&text, false);
        }

        #[test]
        fn a_manifest_stays_what_it_is(
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
