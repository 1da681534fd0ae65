//! Decodes strings from servers that split them between UTF-16 code units: a surrogate pair may be
//! split across two pieces.

use serde::{Deserialize, Deserializer, de};
use serde_json::Value;

/// A JSON string that may contain unpaired surrogates.
#[derive(Debug, Default)]
pub(super) struct RawText(Vec<u8>);

impl RawText {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Converts a value that should have been a string. An object becomes its JSON text.
impl From<Value> for RawText {
    fn from(value: Value) -> Self {
        Self(match value {
            Value::Null => Vec::new(),
            Value::String(text) => text.into_bytes(),
            other => other.to_string().into_bytes(),
        })
    }
}

impl<'de> Deserialize<'de> for RawText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl de::Visitor<'_> for Visitor {
            type Value = RawText;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a string")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<RawText, E> {
                Ok(RawText(bytes.to_owned()))
            }
        }

        // When asked for bytes, `serde_json` does not reject an unpaired surrogate. It encodes it
        // in three bytes, which are not valid UTF-8.
        deserializer.deserialize_bytes(Visitor)
    }
}

/// Joins pieces of a string.
#[derive(Debug, Default)]
pub(super) struct PieceJoiner {
    /// A high surrogate whose low surrogate has not arrived.
    high: Option<u32>,
}

const UNKNOWN: char = char::REPLACEMENT_CHARACTER;

impl PieceJoiner {
    /// Decodes a piece, together with the surrogate left over from the previous piece. Returns
    /// `None` if the result is empty, because a piece may be only half a character.
    pub(super) fn join(&mut self, piece: RawText) -> Option<String> {
        let text = if self.high.is_none() {
            match String::from_utf8(piece.0) {
                Ok(text) => text,
                Err(error) => self.decode(error.as_bytes()),
            }
        } else {
            self.decode(&piece.0)
        };
        (!text.is_empty()).then_some(text)
    }

    fn decode(&mut self, mut bytes: &[u8]) -> String {
        let mut text = String::with_capacity(bytes.len() + 4);
        loop {
            let (good, rest) = match std::str::from_utf8(bytes) {
                Ok(good) => (good, &bytes[bytes.len()..]),
                Err(error) => {
                    let (good, rest) = bytes.split_at(error.valid_up_to());
                    (std::str::from_utf8(good).unwrap_or_default(), rest)
                }
            };
            if !good.is_empty() {
                text.extend(self.high.take().map(|_| UNKNOWN));
                text.push_str(good);
            }
            let [0xed, second @ 0xa0..=0xbf, third @ 0x80..=0xbf, more @ ..] = rest else {
                if !rest.is_empty() {
                    text.push(UNKNOWN);
                }
                return text;
            };
            let half = 0xd000 | (u32::from(second & 0x3f) << 6) | u32::from(third & 0x3f);
            match (self.high.take(), half < 0xdc00) {
                (high, true) => {
                    text.extend(high.map(|_| UNKNOWN));
                    self.high = Some(half);
                }
                (Some(high), false) => {
                    let whole = 0x1_0000 + ((high - 0xd800) << 10) + (half - 0xdc00);
                    text.push(char::from_u32(whole).unwrap_or(UNKNOWN));
                }
                (None, false) => text.push(UNKNOWN),
            }
            bytes = more;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(pieces: &[&str]) -> Vec<String> {
        let mut joiner = PieceJoiner::default();
        let raw = pieces
            .iter()
            .map(|piece| serde_json::from_str(&format!("\"{piece}\"")).unwrap());
        raw.map(|raw| joiner.join(raw).unwrap_or_default())
            .collect()
    }

    #[test]
    fn joins_surrogate_pairs_across_pieces() {
        assert_eq!(
            joined(&["hi ä", "👋", "\\ud83d\\udc4b"]),
            ["hi ä", "👋", "👋"]
        );
        assert_eq!(joined(&["a\\ud83d", "\\udc4bb"]), ["a", "👋b"]);
        assert_eq!(joined(&["\\ud83d", "\\udc4b"]), ["", "👋"]);
        assert_eq!(
            joined(&["\\ud83d", "", "\\udc4b\\ud83d", "\\udc4b"]),
            ["", "", "👋", "👋"]
        );
    }

    #[test]
    fn an_unpaired_surrogate_becomes_a_replacement_character() {
        assert_eq!(joined(&["\\ud83d", "x"]), ["", "\u{fffd}x"]);
        assert_eq!(joined(&["\\udc4bx"]), ["\u{fffd}x"]);
        assert_eq!(joined(&["\\ud83dx\\ud83d\\ud83d"]), ["\u{fffd}x\u{fffd}"]);
    }
}
