//! Sets `enabled` in a manifest, and leaves everything else as its author wrote it.

use anyhow::bail;
use serde::{Deserialize, de::IgnoredAny};
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
    let mut at = text.find('{')? + 1;
    let mut found = Object {
        value: None,
        end: 0,
        last: None,
    };
    loop {
        at = skip(text, at, ',');
        if text[at..].starts_with('}') {
            found.end = at;
            return Some(found);
        }
        let key = at;
        let name: String = next(text, &mut at)?;
        at = skip(text, at, ':');
        let value = at;
        let _: IgnoredAny = next(text, &mut at)?;
        if name == "enabled" {
            found.value = Some((value, at));
        }
        found.last = Some(Last { key, value_end: at });
    }
}

/// Skips whitespace and separators.
fn skip(text: &str, at: usize, separator: char) -> usize {
    let is_skipped = |char: char| char.is_ascii_whitespace() || char == separator;
    text.len() - text[at..].trim_start_matches(is_skipped).len()
}

/// Parses the next value and advances `at` past it.
fn next<'t, T: Deserialize<'t>>(text: &'t str, at: &mut usize) -> Option<T> {
    let mut values = serde_json::Deserializer::from_str(&text[*at..]).into_iter();
    let value = values.next()?.ok()?;
    *at += values.byte_offset();
    Some(value)
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
