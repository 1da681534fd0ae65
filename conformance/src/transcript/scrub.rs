//! What a recording must not say, because it is secret or will not be so again: paths, times, ids, secrets.

mod spot;

use serde_json::{Number, Value, json};

use self::spot::{Piece, cut, find_id, find_place, find_secret, find_time};
use super::{
    Places,
    equal::whole,
    fill::{Fill, Part},
    wildcard::{self, WILDCARD},
};

/// What stands in a transcript for the value of a secret that was sent.
pub const SECRET: &str = "[secret]";

/// A shorter value is no secret, and would be found in every word.
const SHORTEST_SECRET: usize = 4;

/// What to look for.
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
            // One may hold another: the longer first, or the rest of it would show.
            self.secrets
                .sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        }
    }

    /// What was received, as it will be expected. `id` is that of the frame, which some repeat in their texts.
    pub(super) fn expected(&self, value: &Value, id: Option<&str>) -> Value {
        match value {
            Value::String(text) => self.expected_text(text, id),
            Value::Number(number) if is_epoch(number) => json!({"$type": "number"}),
            Value::Array(list) => list.iter().map(|item| self.expected(item, id)).collect(),
            Value::Object(object) => {
                let fields = object.iter();
                // The name of a field cannot be matched; objects are open, so it can be passed over.
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

    /// A frame that was received; its `type` is what it is, and its `id` is not a repetition of itself.
    pub(super) fn expected_frame(&self, frame: &Value) -> Value {
        let id = frame.get("id").and_then(Value::as_str);
        let mut scrubbed = keep_type(frame, self.expected(frame, id));
        if let (Some(id), Some(scrubbed)) = (id, scrubbed.get_mut("id")) {
            *scrubbed = self.expected_text(id, None);
        }
        scrubbed
    }

    /// What was sent, as it will be sent again.
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

    /// A frame that was sent; its `type` is what it is.
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
            Piece::Secret | Piece::Place(_) | Piece::Passing => WILDCARD,
        });
        let pattern: String = pieces.collect();
        // A secret or a path may have line breaks, which a wildcard does not stand for.
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

    /// Names are not filled in: a path in one shows as its place, and is sent so.
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
            Piece::Secret | Piece::Passing => SECRET.to_owned(),
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

/// A text that stands for itself.
fn literal_text(text: &str) -> Value {
    if text.contains(WILDCARD) {
        json!({"$lit": text})
    } else {
        text.into()
    }
}

/// A field's name, as a pattern writes it.
fn escaped(key: &str) -> String {
    if key.starts_with('$') {
        format!("${key}")
    } else {
        key.to_owned()
    }
}

/// Seconds since 1970, or thousandths, millionths or billionths of them, of this age.
fn is_epoch(number: &Number) -> bool {
    let whole = whole(number).or_else(|| {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "what does not fit is no time"
        )]
        number.as_f64().map(|float| float as i128)
    });
    let second = 1_000_000_000..2_000_000_000;
    whole.is_some_and(|number| {
        (0..=3).any(|power| second.contains(&(number / 1000_i128.pow(power))))
    })
}
