//! A line decodes to the same frame as with a plain parser and the schema, regardless of
//! formatting: keys in any order, whitespace and escapes anywhere, extra fields. A line with a
//! duplicate or reserved key is rejected.

use std::fmt::Debug;

use proptest::prelude::*;
use serde_json::{Value, json};
use zot_protocol::{
    FromExtension, FromHost, rpc,
    schema::of_frame,
    validate::{self, Validated},
};

use super::{
    from_schema::values_of,
    runner,
    tables::{change, odd, places},
};

/// Writes JSON, making a random formatting choice at every step.
struct Formatter {
    line: String,
    choices: u64,
    /// Whether the text has a duplicate or reserved key and must be rejected.
    is_invalid: bool,
}

impl Formatter {
    fn format(value: &Value, seed: u64) -> Self {
        let mut speller = Self {
            line: String::new(),
            choices: seed | 1,
            is_invalid: false,
        };
        speller.value(value);
        speller
    }

    /// Returns true once in `times` calls on average.
    fn once_in(&mut self, times: u64) -> bool {
        // Xorshift random number generator.
        self.choices ^= self.choices << 13;
        self.choices ^= self.choices >> 7;
        self.choices ^= self.choices << 17;
        self.choices.is_multiple_of(times)
    }

    fn blanks(&mut self) {
        while self.once_in(6) {
            let tab = self.once_in(2);
            self.line.push(if tab { '\t' } else { ' ' });
        }
    }

    fn value(&mut self, value: &Value) {
        self.blanks();
        match value {
            Value::Object(fields) => {
                let mut fields: Vec<_> = fields.iter().collect();
                if self.once_in(2) {
                    fields.reverse();
                }
                self.object(&fields);
            }
            Value::Array(items) => {
                self.line.push('[');
                for (index, item) in items.iter().enumerate() {
                    self.line.push_str(if index == 0 { "" } else { "," });
                    self.value(item);
                }
                self.blanks();
                self.line.push(']');
            }
            Value::String(text) => self.text(text),
            other => self.line.push_str(&other.to_string()),
        }
        self.blanks();
    }

    fn object(&mut self, fields: &[(&String, &Value)]) {
        let start = usize::from(self.once_in(4));
        let fields = fields.iter().cycle().skip(start).take(fields.len());
        self.line.push('{');
        let mut comma = "";
        for (key, value) in fields {
            self.line.push_str(comma);
            self.field(key, value);
            comma = ",";
            if self.once_in(80) {
                self.line.push(',');
                self.field(key, value);
                self.is_invalid = true;
            }
        }
        if self.once_in(60) {
            self.line.push_str(comma);
            self.field("$serde_json::private::RawValue", &json!("1"));
            comma = ",";
            self.is_invalid = true;
        }
        // Sometimes add many unknown fields.
        for number in 0..if self.once_in(8) { 20 } else { 0 } {
            self.line.push_str(comma);
            self.field(&format!("x{number}"), &json!([number, null]));
            comma = ",";
        }
        self.line.push('}');
    }

    fn field(&mut self, key: &str, value: &Value) {
        self.blanks();
        self.text(key);
        self.blanks();
        self.line.push(':');
        self.value(value);
    }

    fn text(&mut self, text: &str) {
        self.line.push('"');
        let escapes = self.once_in(3);
        for character in text.chars() {
            if matches!(character, '"' | '\\' | '\0'..'\u{20}') || (escapes && self.once_in(5)) {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    self.line.push_str(&format!("\\u{unit:04x}"));
                }
            } else {
                self.line.push(character);
            }
        }
        self.line.push('"');
    }
}

/// Returns the expected frame, using only the type's own decoder.
fn expected<F: Validated>(formatted: &Formatter) -> Option<F> {
    let mut value: Value = serde_json::from_str(&formatted.line).ok()?;
    if formatted.is_invalid || validate::value::<F>(&value).is_err() {
        return None;
    }
    let name = value.get(F::TAG)?.as_str()?.to_owned();
    value.as_object_mut()?.shift_remove(F::TAG);
    F::decode(&name, value).ok()
}

fn read_as_expected<F: Validated + Debug + PartialEq>() {
    for name in F::NAMES {
        let document = of_frame::<F>(name).expect("a listed frame");
        let changed = (
            values_of(&document.schema),
            any::<prop::sample::Index>(),
            proptest::option::weighted(0.8, odd()),
            any::<bool>(),
            any::<u64>(),
        );
        let run = runner().run(&changed, |(mut value, index, into, whole, seed)| {
            if !whole {
                let mut at = 1 + index.index(places(&value));
                change(&mut value, &mut at, into.as_ref());
            }
            let formatted = Formatter::format(&value, seed);
            let line = formatted.line.as_bytes();
            let frame = validate::frame::<F>(line).ok();
            prop_assert_eq!(frame, expected(&formatted), "{}", formatted.line);
            Ok(())
        });
        run.unwrap_or_else(|failure| panic!("{name}: {failure}"));
    }
}

#[test]
fn extension_and_host_lines_decode_regardless_of_formatting() {
    read_as_expected::<FromExtension>();
    read_as_expected::<FromHost>();
}

#[test]
fn driver_and_agent_lines_decode_regardless_of_formatting() {
    read_as_expected::<rpc::Command>();
    read_as_expected::<rpc::Event>();
}
