//! Strict JSON parsing. In addition to what `serde_json` rejects, it rejects keys that parsers
//! could interpret differently: duplicate keys and the private keys of `serde_json`.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::{Refusal, RefusalKind, explain::escape_pointer};

const DUPLICATE: &str = "duplicate key";
const RESERVED: &str = "key is reserved";

/// Returns whether `serde_json` treats an object with this key specially. With its feature
/// `raw_value`, which any crate in the build can enable, it would parse the contents again,
/// recursively and without a depth limit.
fn is_reserved(key: &str) -> bool {
    key.starts_with("$serde_json::private::")
}

/// Parses one line. A refusal contains whatever can be read from the line.
pub(super) fn parse(line: &[u8]) -> Result<Value, Refusal> {
    parse_with(line, &mut ()).map_err(|error| explain(line, &error).scanned(line))
}

/// Parses a file, which may start with a byte order mark.
pub(super) fn parse_file(bytes: &[u8]) -> Result<Value, Refusal> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    parse_with(bytes, &mut ()).map_err(|error| explain(bytes, &error))
}

fn parse_with(line: &[u8], trace: &mut impl Trace) -> serde_json::Result<Value> {
    let mut deserializer = serde_json::Deserializer::from_slice(line);
    let value = Strict(trace).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// Builds the refusal for a parse error. This is the slow path.
fn explain(line: &[u8], error: &serde_json::Error) -> Refusal {
    if let Err(utf8) = std::str::from_utf8(line) {
        let reason = format!("invalid UTF-8 at byte {}", utf8.valid_up_to() + 1);
        return Refusal::new(RefusalKind::Malformed, "", reason);
    }
    let text = error.to_string();
    let text = text.split(" at line ").next().unwrap_or(&text);
    if let Some(reason) = [DUPLICATE, RESERVED].into_iter().find(|it| *it == text) {
        // Parse again and record the location.
        let mut path = Vec::new();
        let _ = parse_with(line, &mut path);
        return Refusal::new(RefusalKind::Malformed, path.concat(), reason);
    }
    if text.starts_with("recursion limit") {
        return Refusal::new(
            RefusalKind::Malformed,
            "",
            "nested more than 127 levels deep",
        );
    }
    let place = match error.line() {
        0 | 1 => format!("column {}", error.column()),
        line => format!("line {line}, column {}", error.column()),
    };
    Refusal::new(
        RefusalKind::NotJson,
        "",
        format!("not JSON: {text} at {place}"),
    )
}

/// Records the path from the root to the current location. `()` records nothing and costs nothing.
trait Trace {
    fn enter_key(&mut self, key: &str);
    fn enter_item(&mut self, index: usize);
    fn leave(&mut self);
}

impl Trace for () {
    fn enter_key(&mut self, _: &str) {}
    fn enter_item(&mut self, _: usize) {}
    fn leave(&mut self) {}
}

impl Trace for Vec<String> {
    fn enter_key(&mut self, key: &str) {
        self.push(format!("/{}", escape_pointer(key)));
    }
    fn enter_item(&mut self, index: usize) {
        self.push(format!("/{index}"));
    }
    fn leave(&mut self) {
        self.pop();
    }
}

/// Builds a [`Value`] and rejects duplicate and reserved keys.
struct Strict<'t, T>(&'t mut T);

impl<'de, T: Trace> DeserializeSeed<'de> for Strict<'_, T> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: Trace> Visitor<'de> for Strict<'_, T> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        self.0.enter_item(0);
        while let Some(item) = items.next_element_seed(Strict(&mut *self.0))? {
            list.push(item);
            self.0.leave();
            self.0.enter_item(list.len());
        }
        self.0.leave();
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            self.0.enter_key(&key);
            if is_reserved(&key) {
                return Err(A::Error::custom(RESERVED));
            }
            let value = entries.next_value_seed(Strict(&mut *self.0))?;
            if object.insert(key, value).is_some() {
                return Err(A::Error::custom(DUPLICATE));
            }
            self.0.leave();
        }
        Ok(Value::Object(object))
    }
}
