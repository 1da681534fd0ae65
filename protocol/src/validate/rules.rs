//! The published schemas as tables, which accept nearly all valid input.
//!
//! `jsonschema` compiles a schema when it is first used, which loads megabytes of code and data.
//! Our own schemas use few keywords and are known at build time, so `write-schemas` also writes
//! them as tables. If a table rejects a value, `jsonschema` makes the decision and explains it. So
//! a table may reject valid values, but must never accept invalid ones. The property tests compare
//! the two.

#[rustfmt::skip]
#[expect(clippy::unreadable_literal, reason = "generated code")]
mod generated;

use serde_json::{Number, Value};

pub(super) use generated::{COMMAND, CONFIG, FROM_EXTENSION, MANIFEST};

use super::explain::escape_pointer;

/// A schema, one field per keyword. An unset field accepts everything.
#[derive(Debug)]
pub struct Rule {
    /// `type`: a union of the bit flags below.
    types: u8,
    /// `const` and `enum`; `None` is `null`.
    values: &'static [Option<&'static str>],
    /// `minLength`, which is always 1 in our schemas.
    not_empty: bool,
    /// `pattern`.
    pattern: Option<fn(&str) -> bool>,
    /// `minimum` and `maximum`, inclusive.
    range: Option<(i64, i64)>,
    /// `items`.
    items: Option<&'static Rule>,
    /// `properties`.
    fields: &'static [(&'static str, &'static Rule)],
    /// `required`.
    required: &'static [&'static str],
    /// `additionalProperties`.
    others: Option<&'static Rule>,
    /// `oneOf`.
    exactly_one: &'static [&'static Rule],
    /// `anyOf`.
    at_least_one: &'static [&'static Rule],
    /// `if` and `then`.
    when: Option<(&'static Rule, &'static Rule)>,
}

const NULL: u8 = 1;
const BOOLEAN: u8 = 2;
const INTEGER: u8 = 4;
const NUMBER: u8 = 8;
const STRING: u8 = 16;
const ARRAY: u8 = 32;
const OBJECT: u8 = 64;

/// The schema without keywords.
const ANY: Rule = Rule {
    types: u8::MAX,
    values: &[],
    not_empty: false,
    pattern: None,
    range: None,
    items: None,
    fields: &[],
    required: &[],
    others: None,
    exactly_one: &[],
    at_least_one: &[],
    when: None,
};

impl Rule {
    /// Returns whether the schema accepts the value. `false` means that `jsonschema` must decide.
    pub(super) fn accepts(&self, value: &Value) -> bool {
        let fits = |rule: &&&Rule| rule.accepts(value);
        self.types & type_of(value) != 0
            && (self.values.is_empty() || self.has(value))
            && match value {
                Value::String(text) => self.accepts_text(text),
                Value::Number(number) => self.accepts_number(number),
                Value::Array(list) => self
                    .items
                    .is_none_or(|items| list.iter().all(|item| items.accepts(item))),
                Value::Object(object) => self.accepts_object(object),
                Value::Null | Value::Bool(_) => true,
            }
            && (self.exactly_one.is_empty() || self.exactly_one.iter().filter(fits).count() == 1)
            && (self.at_least_one.is_empty() || self.at_least_one.iter().any(|it| fits(&it)))
            && self
                .when
                .is_none_or(|(condition, then)| !condition.accepts(value) || then.accepts(value))
    }

    fn has(&self, value: &Value) -> bool {
        let text = match value {
            Value::String(text) => Some(text.as_str()),
            Value::Null => None,
            _ => return false,
        };
        self.values.contains(&text)
    }

    fn accepts_text(&self, text: &str) -> bool {
        !(self.not_empty && text.is_empty()) && self.pattern.is_none_or(|fits| fits(text))
    }

    fn accepts_number(&self, number: &Number) -> bool {
        let within = |(least, most)| {
            number
                .as_i64()
                .is_some_and(|it| (least..=most).contains(&it))
        };
        self.range.is_none_or(within)
    }

    fn accepts_object(&self, object: &crate::Object) -> bool {
        self.required.iter().all(|name| object.contains_key(*name))
            && object.iter().all(|(key, value)| {
                let rule = self.field(key).or(self.others);
                rule.is_none_or(|rule| rule.accepts(value))
            })
    }

    fn field(&self, key: &str) -> Option<&'static Self> {
        let field = self.fields.iter().find(|(name, _)| *name == key);
        field.map(|(_, rule)| *rule)
    }

    /// Calls `found` for each field that the schema does not define, at any depth, until `found`
    /// returns false. Returns the last result, or true if there are no such fields.
    pub(super) fn unknown_fields(
        &'static self,
        value: &Value,
        at: &str,
        found: &mut impl FnMut(UnknownField<'_>) -> bool,
    ) -> bool {
        let alternatives = self.exactly_one.iter().chain(self.at_least_one);
        let chosen = alternatives.copied().find(|rule| rule.accepts(value));
        let rule = chosen.unwrap_or(self);
        match value {
            Value::Array(list) => rule.items.is_none_or(|items| {
                let mut items = list.iter().enumerate().map(|(n, item)| (n, item, items));
                items.all(|(n, item, rule)| rule.unknown_fields(item, &format!("{at}/{n}"), found))
            }),
            Value::Object(object) if !rule.fields.is_empty() => {
                object.iter().all(|(key, value)| {
                    let pointer = || format!("{at}/{}", escape_pointer(key));
                    let known = rule.field(key);
                    let goes_on = known.is_some()
                        || found(UnknownField {
                            pointer: pointer(),
                            name: key,
                            known: rule.fields.iter().map(|(name, _)| *name).collect(),
                        });
                    goes_on
                        && known
                            .or(rule.others)
                            .filter(|_| !OPEN.contains(&key.as_str()))
                            .is_none_or(|below| below.unknown_fields(value, &pointer(), found))
                })
            }
            // A map: its keys are not fields, but its values may have some.
            Value::Object(object) => rule.others.is_none_or(|below| {
                object.iter().all(|(key, value)| {
                    let pointer = format!("{at}/{}", escape_pointer(key));
                    below.unknown_fields(value, &pointer, found)
                })
            }),
            _ => true,
        }
    }
}

/// A field that a schema does not define.
pub(super) struct UnknownField<'a> {
    pub(super) pointer: String,
    pub(super) name: &'a str,
    /// The fields that the schema defines in the same object.
    pub(super) known: Vec<&'static str>,
}

/// Fields whose contents the extension defines: a JSON Schema can have any keyword.
const OPEN: [&str; 2] = ["schema", "output_schema"];

fn type_of_number(number: &Number) -> u8 {
    // `1.0` is an integer too, but that is left to `jsonschema`.
    if number.is_f64() {
        NUMBER
    } else {
        NUMBER | INTEGER
    }
}

fn type_of(value: &Value) -> u8 {
    match value {
        Value::Null => NULL,
        Value::Bool(_) => BOOLEAN,
        Value::Number(number) => type_of_number(number),
        Value::String(_) => STRING,
        Value::Array(_) => ARRAY,
        Value::Object(_) => OBJECT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        FromExtension, Manifest, rpc,
        schema::{self, Frames},
    };

    fn assert_accepts_examples<F: Frames>(rules: &[&Rule]) {
        for (name, rule) in F::NAMES.iter().zip(rules) {
            let document = schema::of_frame::<F>(name).expect("the name is known");
            let examples = document.schema["examples"]
                .as_array()
                .expect("the schema has examples");
            for example in examples {
                assert!(rule.accepts(example), "{name}: {example}");
            }
        }
    }

    /// If a table rejects too much, validation is still correct, but slow.
    #[test]
    fn tables_accept_the_examples_of_their_schemas() {
        assert_accepts_examples::<FromExtension>(&FROM_EXTENSION);
        assert_accepts_examples::<rpc::Command>(&COMMAND);
        let manifest = schema::of_type::<Manifest>("manifest").schema;
        for example in manifest["examples"]
            .as_array()
            .expect("the schema has examples")
        {
            assert!(MANIFEST.accepts(example), "{example}");
        }
    }

    #[test]
    fn pattern_functions_match_the_regexes() {
        use crate::pattern::*;
        let texts = [
            "",
            "a",
            "A-b_9",
            "a.b",
            ".a",
            "-a",
            "_a",
            "9a",
            "a b",
            "/a",
            "a/b",
            "a\u{a0}b",
            "é",
            "a\n",
            "\u{7f}",
            "\u{85}",
            "\u{80}",
            "~",
            "~/x",
            "~x",
            "$cwd",
            "$cwd/",
            "$cwdx",
            "$data",
            ".",
            "./",
            "..",
            "/",
            "//etc/./hosts/",
            "/..",
            "/etc/..",
            "/etc/../x",
            "/etc/...",
            "/etc/..x/.y/.",
            "~/../..",
            "$cwd/a..",
            "./..\n",
            "/a\n/b",
            "$",
            "\u{2028}",
            "a\u{feff}",
        ];
        let long = ["x".repeat(64), "x".repeat(65)];
        let texts = texts.into_iter().chain(long.iter().map(String::as_str));
        let all = [
            (TOOL_NAME, is_tool_name as fn(&str) -> bool),
            (COMMAND_NAME, is_command_name),
            (EXTENSION_NAME, is_extension_name),
            (GRANTED_PATH, is_granted_path),
            (ENV_NAME, is_env_name),
        ];
        for text in texts {
            for (pattern, fits) in all {
                let schema = serde_json::json!({ "pattern": pattern });
                let theirs = super::super::compile(&schema).is_valid(&text.into());
                assert_eq!(fits(text), theirs, "{text:?} and {pattern}");
            }
        }
    }
}
