//! Texts from servers that count in UTF-16: a piece may end in the middle of a character, and the next begin there.

use serde::{Deserialize, Deserializer, de};
use serde_json::Value;

/// A text as JSON has it, whose escapes may be halves of characters.
#[derive(Debug, Default)]
pub(super) struct Raw(Vec<u8>);

impl Raw {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// From what should have been a text; an object is its own text.
impl From<Value> for Raw {
    fn from(value: Value) -> Self {
        Self(match value {
            Value::Null => Vec::new(),
            Value::String(text) => text.into_bytes(),
            other => other.to_string().into_bytes(),
        })
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl de::Visitor<'_> for Visitor {
            type Value = Raw;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a string")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Raw, E> {
                Ok(Raw(bytes.to_owned()))
            }
        }

        // Asked for bytes, `serde_json` writes half a character as if it were one, in three bytes that UTF-8 does not know.
        deserializer.deserialize_bytes(Visitor)
    }
}

/// Where one piece of a text meets the next.
#[derive(Debug, Default)]
pub(super) struct Seam {
    /// The first half of a character whose second has not come.
    high: Option<u32>,
}

const UNKNOWN: char = char::REPLACEMENT_CHARACTER;

impl Seam {
    /// A piece as a text, together with what the one before left; empty where it was nothing but half a character.
    pub(super) fn join(&mut self, piece: Raw) -> String {
        if self.high.is_none() {
            match String::from_utf8(piece.0) {
                Ok(text) => text,
                Err(error) => self.mend(error.as_bytes()),
            }
        } else {
            self.mend(&piece.0)
        }
    }

    fn mend(&mut self, mut bytes: &[u8]) -> String {
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
        let mut seam = Seam::default();
        let raw = pieces
            .iter()
            .map(|piece| serde_json::from_str(&format!("\"{piece}\"")).unwrap());
        raw.map(|raw| seam.join(raw)).collect()
    }

    #[test]
    fn halves_find_each_other() {
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
    fn a_half_that_stays_alone_is_unknown() {
        assert_eq!(joined(&["\\ud83d", "x"]), ["", "\u{fffd}x"]);
        assert_eq!(joined(&["\\udc4bx"]), ["\u{fffd}x"]);
        assert_eq!(joined(&["\\ud83dx\\ud83d\\ud83d"]), ["\u{fffd}x\u{fffd}"]);
    }
}
