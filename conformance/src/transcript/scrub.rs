//! Removes what a recording must not contain: secrets, and paths, times and ids that change between
//! runs.

mod pieces;

use serde_json::{Number, Value, json};

use self::pieces::{Piece, cut, find_id, find_place, find_secret, find_time};
use super::{
    Places,
    equal::whole,
    fill::{Fill, Part},
    wildcard::{self, WILDCARD},
};

/// The replacement for a secret in a sent frame.
pub const SECRET: &str = "[secret]";

/// Shorter values are not treated as secrets, because they would match everywhere.
const SHORTEST_SECRET: usize = 4;

/// What to remove.
#[derive(Debug, Clone, Default)]
pub(super) struct Scrub {
    pub(super) places: Places,
    secrets: Vec<String>,
}

impl Scrub {
    pub(super) fn new(places: Places) -> Self {
        Self {
            places,
            secrets: Vec::new(),
        }
    }

    pub(super) fn add_secret(&mut self, value: String) {
        if value.len() >= SHORTEST_SECRET && !self.secrets.contains(&value) {
            self.secrets.push(value);
            // One secret may contain another, so replace the longest first.
            self.secrets
                .sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        }
    }

    /// Converts a received value to a pattern. `id` is the frame's id, which some extensions repeat
    /// in their text.
    pub(super) fn expected(&self, value: &Value, id: Option<&str>) -> Value {
        match value {
            Value::String(text) => self.expected_text(text, id),
            Value::Number(number) if is_epoch(number) => json!({"$type": "number"}),
            Value::Array(list) => list.iter().map(|item| self.expected(item, id)).collect(),
            Value::Object(object) => {
                let fields = object.iter();
                // Omit a field whose name contains a secret or a path, because field names cannot
                // contain matchers. Objects are open, so the pattern still matches.
                let fields = fields.filter(|(key, _)| {
                    let pieces = self.pieces(key);
                    pieces.iter().all(|piece| matches!(piece, Piece::Text(_)))
                });
                let fields = fields.map(|(key, value)| (escaped(key), self.expected(value, id)));
                Value::Object(fields.collect())
            }
            plain => plain.clone(),
        }
    }

    /// Converts a received frame, keeping its `type` and `id`.
    pub(super) fn expected_frame(&self, frame: &Value) -> Value {
        let id = frame.get("id").and_then(Value::as_str);
        let mut scrubbed = keep_type(frame, self.expected(frame, id));
        if let (Some(id), Some(scrubbed)) = (id, scrubbed.get_mut("id")) {
            *scrubbed = self.expected_text(id, None);
        }
        scrubbed
    }

    /// Converts a sent value to a template.
    pub(super) fn sent(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.sent_text(text),
            Value::Array(list) => list.iter().map(|item| self.sent(item)).collect(),
            Value::Object(object) => {
                let fields = object
                    .iter()
                    .map(|(key, value)| (escaped(&self.sent_key(key)), self.sent(value)));
                Value::Object(fields.collect())
            }
            plain => plain.clone(),
        }
    }

    /// Converts a sent frame, keeping its `type`.
    pub(super) fn sent_frame(&self, frame: &Value) -> Value {
        keep_type(frame, self.sent(frame))
    }

    fn expected_text(&self, text: &str, id: Option<&str>) -> Value {
        let mut pieces = self.pieces(text);
        if let Some(id) = id {
            pieces = cut(pieces, |text| find_id(text, id));
        }
        pieces = cut(pieces, find_time);
        if let [Piece::Text(_)] | [] = pieces[..] {
            return literal_text(text);
        }
        let pieces = pieces.iter().map(|piece| match piece {
            Piece::Text(text) => text,
            Piece::Secret | Piece::Place(_) | Piece::Volatile => WILDCARD,
        });
        let pattern: String = pieces.collect();
        // A secret or path may contain line breaks, which a wildcard does not match.
        if wildcard::fits(&pattern, text) {
            pattern.into()
        } else {
            json!({"$type": "string"})
        }
    }

    fn sent_text(&self, text: &str) -> Value {
        let pieces = self.pieces(text);
        let has_place = pieces.iter().any(|piece| matches!(piece, Piece::Place(_)));
        if !has_place {
            return literal_text(&plain(&pieces));
        }
        let parts = pieces.iter().map(|piece| match piece {
            Piece::Place(place) => Part::Place(*place),
            other => Part::Text(plain(std::slice::from_ref(other))),
        });
        json!({"$fill": Fill::new(parts.collect()).to_string()})
    }

    /// Converts a field name. Field names are not filled in, so a path in one is sent as its
    /// placeholder.
    fn sent_key(&self, key: &str) -> String {
        plain(&self.pieces(key))
    }

    fn pieces<'a>(&self, text: &'a str) -> Vec<Piece<'a>> {
        let mut pieces = vec![Piece::Text(text)];
        for secret in &self.secrets {
            pieces = cut(pieces, |text| find_secret(text, secret));
        }
        cut(pieces, |text| find_place(text, &self.places))
    }
}

fn plain(pieces: &[Piece]) -> String {
    pieces
        .iter()
        .map(|piece| match piece {
            Piece::Text(text) => (*text).to_owned(),
            Piece::Secret | Piece::Volatile => SECRET.to_owned(),
            Piece::Place(place) => format!("${{{place}}}"),
        })
        .collect()
}

fn keep_type(frame: &Value, mut scrubbed: Value) -> Value {
    if let Some(kind) = frame.get("type").and_then(Value::as_str)
        && let Some(scrubbed) = scrubbed.get_mut("type")
    {
        *scrubbed = literal_text(kind);
    }
    scrubbed
}

/// Returns a pattern for the literal text.
fn literal_text(text: &str) -> Value {
    if text.contains(WILDCARD) {
        json!({"$lit": text})
    } else {
        text.into()
    }
}

/// Escapes a field name for a pattern.
fn escaped(key: &str) -> String {
    if key.starts_with('$') {
        format!("${key}")
    } else {
        key.to_owned()
    }
}

/// Reports whether the number is a recent Unix time in seconds, milliseconds, microseconds or
/// nanoseconds.
fn is_epoch(number: &Number) -> bool {
    let whole = whole(number).or_else(|| {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "out-of-range numbers are not times"
        )]
        number.as_f64().map(|float| float as i128)
    });
    let second = 1_000_000_000..2_000_000_000;
    whole.is_some_and(|number| {
        (0..=3).any(|power| second.contains(&(number / 1000_i128.pow(power))))
    })
}
