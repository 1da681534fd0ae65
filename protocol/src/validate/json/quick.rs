//! The quick way through JSON that is as it should be.
//!
//! What tools send is text with a line break every few words, and `serde_json` takes four times as long as this for an
//! escape. Whatever is not plainly right is left to `serde_json`, which judges and explains it; so this may give up at any
//! time, but must never accept what `serde_json` would not, nor read it otherwise. The property tests compare the two.

use std::borrow::Cow;

use memchr::memchr2;
use serde_json::{Map, Number, Value};

use super::is_reserved;

/// Deeper values are left to `serde_json`, which has the limit.
const DEPTH: usize = 100;
/// Runs of plain characters this short are not worth a call.
const SHORT: usize = 16;

/// The value of a line, or `None` where `serde_json` must look at it.
pub(super) fn parse(line: &[u8]) -> Option<Value> {
    let mut parser = Parser::new(line)?;
    let value = parser.value()?;
    parser.is_at_end().then_some(value)
}

/// A place in a line.
#[derive(Clone)]
pub(in crate::validate) struct Parser<'l> {
    text: &'l str,
    bytes: &'l [u8],
    at: usize,
    depth: usize,
}

impl<'l> Parser<'l> {
    /// At its beginning; `None` where it is not UTF-8.
    pub(in crate::validate) fn new(line: &'l [u8]) -> Option<Self> {
        Some(Self {
            text: std::str::from_utf8(line).ok()?,
            bytes: line,
            at: 0,
            depth: 0,
        })
    }

    /// Whether only blanks are left.
    pub(in crate::validate) fn is_at_end(&mut self) -> bool {
        self.peek().is_none()
    }

    /// The text that the object which begins here has at a key, if it is among the first of it.
    pub(in crate::validate) fn text_at(mut self, wanted: &str) -> Option<Cow<'l, str>> {
        let mut before = self.next()? == b'{';
        while std::mem::take(&mut before) && self.next()? == b'"' {
            let key = self.string()?;
            if self.next()? != b':' {
                return None;
            }
            if key == wanted {
                return (self.next()? == b'"').then(|| self.string())?;
            }
            self.value()?;
            before = self.next()? == b',';
        }
        None
    }

    fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    /// The next byte that is no blank.
    pub(in crate::validate) fn peek(&mut self) -> Option<u8> {
        self.skip_blanks();
        self.bytes.get(self.at).copied()
    }

    /// The next byte that is no blank, which is taken.
    pub(in crate::validate) fn next(&mut self) -> Option<u8> {
        self.skip_blanks();
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn value(&mut self) -> Option<Value> {
        match self.next()? {
            b'"' => self.string().map(|text| Value::String(text.into_owned())),
            b'{' => self.nested(Self::object),
            b'[' => self.nested(Self::list),
            b't' => self.word("rue").then_some(Value::Bool(true)),
            b'f' => self.word("alse").then_some(Value::Bool(false)),
            b'n' => self.word("ull").then_some(Value::Null),
            b'-' | b'0'..=b'9' => self.number().map(Value::Number),
            _ => None,
        }
    }

    fn nested(&mut self, parse: impl FnOnce(&mut Self) -> Option<Value>) -> Option<Value> {
        if !self.enter() {
            return None;
        }
        let value = parse(self)?;
        self.leave();
        Some(value)
    }

    /// Goes a level deeper; `false` where that is too deep.
    pub(in crate::validate) fn enter(&mut self) -> bool {
        self.depth += 1;
        self.depth <= DEPTH
    }

    pub(in crate::validate) fn leave(&mut self) {
        self.depth -= 1;
    }

    fn object(&mut self) -> Option<Value> {
        let mut object = Map::new();
        let mut byte = self.next()?;
        if byte == b'}' {
            return Some(Value::Object(object));
        }
        loop {
            if byte != b'"' {
                return None;
            }
            let key = self.string()?.into_owned();
            if self.next()? != b':' || is_reserved(&key) {
                return None;
            }
            let value = self.value()?;
            if object.insert(key, value).is_some() {
                return None;
            }
            match self.next()? {
                b',' => byte = self.next()?,
                b'}' => return Some(Value::Object(object)),
                _ => return None,
            }
        }
    }

    fn list(&mut self) -> Option<Value> {
        let mut list = Vec::new();
        if self.next()? == b']' {
            return Some(Value::Array(list));
        }
        self.at -= 1;
        loop {
            list.push(self.value()?);
            match self.next()? {
                b',' => {}
                b']' => return Some(Value::Array(list)),
                _ => return None,
            }
        }
    }

    /// The rest of a word, behind its first letter.
    pub(in crate::validate) fn word(&mut self, rest: &str) -> bool {
        let is_it = self.bytes[self.at..].starts_with(rest.as_bytes());
        self.at += if is_it { rest.len() } else { 0 };
        is_it
    }

    /// Only its extent is found here, except for the short integers that most numbers are.
    pub(in crate::validate) fn number(&mut self) -> Option<Number> {
        let start = self.at - 1;
        while let Some(b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-') = self.bytes.get(self.at) {
            self.at += 1;
        }
        let text = &self.text[start..self.at];
        let plain = text.len() < 19 && text.bytes().all(|byte| byte.is_ascii_digit());
        if plain && (text.len() == 1 || !text.starts_with('0')) {
            return text.parse::<u64>().ok().map(Number::from);
        }
        serde_json::from_str::<Number>(text).ok()
    }

    /// A text, behind its opening quote.
    pub(in crate::validate) fn string(&mut self) -> Option<Cow<'l, str>> {
        let start = self.at;
        self.plain_run()?;
        if self.bytes[self.at] == b'"' {
            let text = &self.text[start..self.at];
            self.at += 1;
            return Some(Cow::Borrowed(text));
        }
        let mut text = Vec::with_capacity(2 * (self.at - start) + 2 * SHORT);
        text.extend_from_slice(&self.bytes[start..self.at]);
        loop {
            // At a quote or a backslash.
            self.at += 1;
            if self.bytes[self.at - 1] == b'"' {
                // Whole characters of the line, and characters of ours in between.
                return String::from_utf8(text).ok().map(Cow::Owned);
            }
            self.escape(&mut text)?;
            let run = self.at;
            self.plain_run()?;
            let run = &self.bytes[run..self.at];
            if run.len() < SHORT {
                for byte in run {
                    text.push(*byte);
                }
            } else {
                text.extend_from_slice(run);
            }
        }
    }

    /// Goes to the next quote or backslash. `None` at a control character, or where there is none.
    fn plain_run(&mut self) -> Option<()> {
        for byte in self.bytes[self.at..].iter().take(SHORT) {
            match byte {
                b'"' | b'\\' => return Some(()),
                0..0x20 => return None,
                _ => self.at += 1,
            }
        }
        let rest = &self.bytes[self.at..];
        let run = &rest[..memchr2(b'"', b'\\', rest)?];
        self.at += run.len();
        // The least byte of them all: without a way out of the loop the compiler looks at many bytes at once.
        let control = run.iter().fold(u8::MAX, |least, byte| least.min(*byte)) < 0x20;
        (!control).then_some(())
    }

    /// One escape, behind its backslash.
    fn escape(&mut self, text: &mut Vec<u8>) -> Option<()> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        text.push(match byte {
            b'"' | b'\\' | b'/' => byte,
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'b' => 8,
            b'f' => 12,
            b'u' => {
                let char = self.unicode()?;
                text.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
                return Some(());
            }
            _ => return None,
        });
        Some(())
    }

    /// A character by its number, or by the two halves of a pair. A half without the other is not read here.
    fn unicode(&mut self) -> Option<char> {
        let first = self.hex()?;
        if let Some(char) = char::from_u32(first) {
            return Some(char);
        }
        if !self.bytes[self.at..].starts_with(b"\\u") {
            return None;
        }
        self.at += 2;
        let second = self.hex()?;
        let is_pair = (0xd800..0xdc00).contains(&first) && (0xdc00..0xe000).contains(&second);
        is_pair
            .then(|| char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)))
            .flatten()
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.bytes.get(self.at..self.at + 4)?;
        self.at += 4;
        digits.iter().try_fold(0, |number, digit| {
            Some(number << 4 | char::from(*digit).to_digit(16)?)
        })
    }
}
