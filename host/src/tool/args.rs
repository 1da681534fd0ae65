//! Parses tool arguments, and builds results.

use std::fmt;

use serde::{
    Deserializer,
    de::{DeserializeOwned, Error, Visitor},
};
use serde_json::Value;
use serde_path_to_error::{Deserializer as WithPath, Track};
use zot_protocol::{Content, Object, ToolStatus};

use crate::ToolOutcome;

/// The parsed arguments of a tool.
pub(super) struct Parsed<T> {
    pub(super) args: T,
    /// A remark for the model about arguments that the tool does not have, which are ignored.
    pub(super) remark: Option<String>,
}

/// Parses the arguments of a tool. The error is written for the model.
pub(super) fn parse<T: DeserializeOwned>(tool: &str, args: Object) -> Result<Parsed<T>, String> {
    let (mut track, mut unknown) = (Track::new(), Vec::new());
    let args = Value::Object(args);
    let with_path = WithPath::new(&args, &mut track);
    let parsed = serde_ignored::deserialize(with_path, |path| unknown.push(path.to_string()));
    let args = parsed.map_err(|error: serde_json::Error| {
        let place = track.path().to_string();
        // For a missing field, the path is that of the enclosing object.
        let at = match place.as_str() {
            "." => String::new(),
            place => format!(" at `{place}`"),
        };
        format!(
            "invalid arguments for `{tool}`{at}: {error}\nhint: nothing was done; call it again with correct arguments"
        )
    })?;
    let names: Vec<String> = unknown.iter().map(|name| format!("`{name}`")).collect();
    let remark = (!names.is_empty()).then(|| {
        let s = if names.len() == 1 { "" } else { "s" };
        format!("ignored unknown argument{s} {}", names.join(", "))
    });
    Ok(Parsed { args, remark })
}

/// Deserialises an optional whole number. Models also write `"2"` and `2.0`.
pub(super) fn integer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    struct Integer;

    impl Visitor<'_> for Integer {
        type Value = Option<u64>;

        fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
            to.write_str("a whole number")
        }

        fn visit_unit<E: Error>(self) -> Result<Option<u64>, E> {
            Ok(None)
        }

        fn visit_u64<E: Error>(self, number: u64) -> Result<Option<u64>, E> {
            Ok(Some(number))
        }

        fn visit_f64<E: Error>(self, number: f64) -> Result<Option<u64>, E> {
            self.visit_str(&number.to_string())
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Option<u64>, E> {
            let number = text.trim().parse();
            number
                .map(Some)
                .map_err(|_| E::invalid_value(serde::de::Unexpected::Str(text), &self))
        }
    }

    deserializer.deserialize_any(Integer)
}

/// Deserialises a boolean. Models also write `"true"`.
pub(super) fn boolean<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    struct Boolean;

    impl Visitor<'_> for Boolean {
        type Value = bool;

        fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
            to.write_str("a boolean")
        }

        fn visit_unit<E: Error>(self) -> Result<bool, E> {
            Ok(false)
        }

        fn visit_bool<E: Error>(self, value: bool) -> Result<bool, E> {
            Ok(value)
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<bool, E> {
            match text.trim() {
                "true" | "True" => Ok(true),
                "false" | "False" => Ok(false),
                _ => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
            }
        }
    }

    deserializer.deserialize_any(Boolean)
}

pub(super) fn completed(text: impl Into<String>) -> ToolOutcome {
    shown(vec![Content::text(text)])
}

pub(super) fn shown(content: Vec<Content>) -> ToolOutcome {
    ToolOutcome::new(ToolStatus::Completed, content)
}

pub(super) fn failed(why: impl Into<String>) -> ToolOutcome {
    ToolOutcome::error(ToolStatus::Failed, why)
}

/// Formats a number with thousands separators: `12,345`.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a count with its unit: `1 byte`, `1,234 bytes`.
pub(super) fn count(number: u64, what: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {what}{s}", grouped(number))
}

/// Replaces control characters in a file name: a newline would look like the end of the name.
pub(super) fn visible(name: &str) -> String {
    let visible = |it: char| {
        if it.is_control() {
            char::REPLACEMENT_CHARACTER
        } else {
            it
        }
    };
    name.chars().map(visible).collect()
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    struct Sample {
        #[serde(default, deserialize_with = "integer")]
        number: Option<u64>,
        #[serde(default, deserialize_with = "boolean")]
        yes: bool,
        #[serde(default)]
        inner: Vec<Inner>,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    struct Inner {
        text: String,
    }

    fn parsed(args: &Value) -> Result<(Option<u64>, bool, Option<String>), String> {
        let args = args.as_object().unwrap().clone();
        let Parsed { args, remark } = parse::<Sample>("sample", args)?;
        Ok((args.number, args.yes, remark))
    }

    #[test]
    fn values_with_a_clear_meaning_are_accepted() {
        for (args, number, yes) in [
            (json!({}), None, false),
            (json!({"number": null, "yes": null}), None, false),
            (json!({"number": 2, "yes": true}), Some(2), true),
            (json!({"number": "2", "yes": "true"}), Some(2), true),
            (json!({"number": 2.0, "yes": "False"}), Some(2), false),
        ] {
            assert_eq!(parsed(&args), Ok((number, yes, None)), "{args}");
        }
        for args in [
            json!({"number": "two"}),
            json!({"number": 2.5}),
            json!({"number": -2}),
            json!({"number": true}),
            json!({"yes": "maybe"}),
            json!({"yes": 1}),
            json!({"inner": "[]"}),
        ] {
            let error = parsed(&args).unwrap_err();
            assert!(
                error.starts_with("invalid arguments for `sample` at `"),
                "{error}"
            );
        }
    }

    #[test]
    fn unknown_arguments_are_ignored_and_reported() {
        let args = json!({"nmber": 2, "inner": [{"text": "a", "size": 1}]});
        let remark = "ignored unknown arguments `nmber`, `inner.0.size`";
        assert_eq!(parsed(&args), Ok((None, false, Some(remark.to_owned()))));
    }

    #[test]
    fn numbers_are_grouped() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (12_345_678, "12,345,678"),
        ] {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(count(1, "byte"), "1 byte");
    }
}
