//! A line straight into its frame: parsed, checked by its table and decoded in one pass, without a value in between.
//!
//! Like the tables and the quick parser, this may give up at any time: then the line is parsed into a value, which is
//! checked and decoded on its own. It must never give another frame than that would. The property tests compare the two.

use std::{borrow::Cow, fmt};

use serde::{
    de::{
        DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Visitor,
        value::{BorrowedStrDeserializer, MapAccessDeserializer},
    },
    forward_to_deserialize_any,
};
use serde_json::Number;

use super::{
    Validated,
    json::{is_reserved, quick::Parser},
    rules::{ANY, ARRAY, BOOLEAN, OBJECT, Rule},
};

/// So many fields that a table does not name are told apart.
const OTHER_FIELDS: usize = 16;

/// The frame of a line, checked by the table of its type; `None` where it must be looked at another way.
pub(super) fn frame<F: Validated>(
    line: &[u8],
    rule_of: impl FnOnce(usize) -> Option<&'static Rule>,
) -> Option<F> {
    let mut parser = Parser::new(line)?;
    let name = parser.clone().text_at(F::TAG)?;
    let index = F::NAMES.iter().position(|known| *known == name)?;
    let rule = rule_of(index)?;
    if parser.next() != Some(b'{') || !rule.takes(OBJECT) || !parser.enter() {
        return None;
    }
    let mut fields = Fields::new(&mut parser, rule).ok()?;
    fields.tag = Some(F::TAG);
    let object = MapAccessDeserializer::new(&mut fields);
    let frame = F::decode(F::NAMES[index], object).ok()?;
    (fields.ended && parser.is_at_end()).then_some(frame)
}

/// It is for somebody else to judge.
#[derive(Debug)]
struct GiveUp;

impl fmt::Display for GiveUp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("not plainly right")
    }
}

impl std::error::Error for GiveUp {}

impl Error for GiveUp {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

/// What the table says, in the form that the parser has.
fn only_if(accepted: bool) -> Result<(), GiveUp> {
    accepted.then_some(()).ok_or(GiveUp)
}

/// A value that is still to be read, and what it must be.
struct Slot<'p, 'l> {
    parser: &'p mut Parser<'l>,
    rule: &'static Rule,
}

impl<'l> Deserializer<'l> for Slot<'_, 'l> {
    type Error = GiveUp;

    fn deserialize_any<V: Visitor<'l>>(self, visitor: V) -> Result<V::Value, GiveUp> {
        let Self { parser, rule } = self;
        match parser.next().ok_or(GiveUp)? {
            b'"' => {
                let text = parser.string().ok_or(GiveUp)?;
                only_if(rule.takes_text(&text))?;
                match text {
                    Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
                    Cow::Owned(text) => visitor.visit_string(text),
                }
            }
            b'{' => {
                only_if(rule.takes(OBJECT) && parser.enter())?;
                let mut fields = Fields::new(parser, rule)?;
                let value = visitor.visit_map(&mut fields)?;
                only_if(fields.ended)?;
                parser.leave();
                Ok(value)
            }
            b'[' => {
                only_if(rule.takes(ARRAY) && rule.is_no_choice() && parser.enter())?;
                let mut items = Items {
                    rule: rule.items().unwrap_or(&ANY),
                    parser: &mut *parser,
                    first: true,
                    ended: false,
                };
                let value = visitor.visit_seq(&mut items)?;
                only_if(items.ended)?;
                parser.leave();
                Ok(value)
            }
            b't' => {
                only_if(parser.word("rue") && rule.takes_alone(BOOLEAN))?;
                visitor.visit_bool(true)
            }
            b'f' => {
                only_if(parser.word("alse") && rule.takes_alone(BOOLEAN))?;
                visitor.visit_bool(false)
            }
            b'n' => {
                only_if(parser.word("ull") && rule.takes_null())?;
                visitor.visit_unit()
            }
            b'-' | b'0'..=b'9' => {
                let number = parser.number().ok_or(GiveUp)?;
                only_if(rule.takes_number(&number))?;
                visit_number(&number, visitor)
            }
            _ => Err(GiveUp),
        }
    }

    fn deserialize_option<V: Visitor<'l>>(self, visitor: V) -> Result<V::Value, GiveUp> {
        if self.parser.peek() != Some(b'n') {
            return visitor.visit_some(self);
        }
        let _ = self.parser.next();
        only_if(self.parser.word("ull") && self.rule.takes_null())?;
        visitor.visit_none()
    }

    fn deserialize_newtype_struct<V: Visitor<'l>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, GiveUp> {
        visitor.visit_newtype_struct(self)
    }

    /// A map of `serde_json` would take `null` for an empty one.
    fn deserialize_map<V: Visitor<'l>>(self, visitor: V) -> Result<V::Value, GiveUp> {
        only_if(self.parser.peek() == Some(b'{'))?;
        self.deserialize_any(visitor)
    }

    /// Ours are names alone.
    fn deserialize_enum<V: Visitor<'l>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, GiveUp> {
        only_if(self.parser.next() == Some(b'"'))?;
        let name = self.parser.string().ok_or(GiveUp)?;
        only_if(self.rule.takes_text(&name))?;
        visitor.visit_enum(name.as_ref().into_deserializer())
    }

    forward_to_deserialize_any! {
        <V: Visitor<'l>>
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct struct identifier ignored_any
    }
}

fn visit_number<'l, V: Visitor<'l>>(number: &Number, visitor: V) -> Result<V::Value, GiveUp> {
    if let Some(number) = number.as_u64() {
        visitor.visit_u64(number)
    } else if let Some(number) = number.as_i64() {
        visitor.visit_i64(number)
    } else {
        visitor.visit_f64(number.as_f64().ok_or(GiveUp)?)
    }
}

/// The fields of an object, behind its brace.
struct Fields<'p, 'l> {
    parser: &'p mut Parser<'l>,
    rule: &'static Rule,
    /// The field that has told what the whole is, and is not told again.
    tag: Option<&'static str>,
    /// Which of several tables is the object's is to be told by its first field.
    choosing: bool,
    /// A bit for each field of the table that was there.
    seen: u64,
    /// The other fields that were there.
    others: Vec<Cow<'l, str>>,
    /// What the value of the last key must be.
    value: &'static Rule,
    first: bool,
    ended: bool,
}

fn has_a_bit_for_each(rule: &Rule) -> bool {
    rule.fields().len() <= u64::BITS as usize
}

impl<'p, 'l> Fields<'p, 'l> {
    fn new(parser: &'p mut Parser<'l>, rule: &'static Rule) -> Result<Self, GiveUp> {
        only_if(has_a_bit_for_each(rule))?;
        Ok(Self {
            parser,
            rule,
            tag: None,
            choosing: !rule.is_no_choice(),
            seen: 0,
            others: Vec::new(),
            value: &ANY,
            first: true,
            ended: false,
        })
    }

    /// Finds out what the value of a key must be, and that the key is there once.
    fn meet(&mut self, key: Cow<'l, str>) -> Result<(), GiveUp> {
        if self.choosing {
            return only_if(self.rule.is_chosen_by(&key));
        }
        let mut fields = self.rule.fields().iter();
        if let Some(place) = fields.position(|(name, _)| *name == key) {
            let bit = 1 << place;
            only_if(self.seen & bit == 0)?;
            self.seen |= bit;
            self.value = self.rule.fields()[place].1;
            return Ok(());
        }
        only_if(self.others.len() < OTHER_FIELDS && !self.others.contains(&key))?;
        self.others.push(key);
        self.value = self.rule.others().unwrap_or(&ANY);
        Ok(())
    }

    /// The next key, with its colon; `None` behind the last.
    fn key(&mut self) -> Result<Option<Cow<'l, str>>, GiveUp> {
        let mut byte = self.parser.next();
        if byte == Some(b'}') {
            only_if(!self.choosing && self.has_required())?;
            self.ended = true;
            return Ok(None);
        }
        if !std::mem::take(&mut self.first) {
            only_if(byte == Some(b','))?;
            byte = self.parser.next();
        }
        only_if(byte == Some(b'"'))?;
        let key = self.parser.string().ok_or(GiveUp)?;
        only_if(self.parser.next() == Some(b':') && !is_reserved(&key))?;
        Ok(Some(key))
    }

    fn has_required(&self) -> bool {
        let fields = || self.rule.fields().iter();
        let seen = |name| fields().position(|(field, _)| *field == name);
        let mut required = self.rule.required().iter();
        required.all(|name| seen(*name).is_some_and(|place| self.seen >> place & 1 == 1))
    }
}

impl<'l> MapAccess<'l> for &mut Fields<'_, 'l> {
    type Error = GiveUp;

    fn next_key_seed<K: DeserializeSeed<'l>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, GiveUp> {
        loop {
            let Some(key) = self.key()? else {
                return Ok(None);
            };
            self.meet(key.clone())?;
            if self.tag.is_none_or(|tag| tag != key) {
                return deserialize_text(key, seed).map(Some);
            }
            only_if(self.parser.next() == Some(b'"'))?;
            let name = self.parser.string().ok_or(GiveUp)?;
            only_if(self.value.takes_text(&name))?;
        }
    }

    fn next_value_seed<V: DeserializeSeed<'l>>(&mut self, seed: V) -> Result<V::Value, GiveUp> {
        if !std::mem::take(&mut self.choosing) {
            return seed.deserialize(Slot {
                parser: self.parser,
                rule: self.value,
            });
        }
        only_if(self.parser.next() == Some(b'"'))?;
        let name = self.parser.string().ok_or(GiveUp)?;
        self.rule = self.rule.choice(&name).ok_or(GiveUp)?;
        only_if(has_a_bit_for_each(self.rule))?;
        // Its first field is the one that has chosen it.
        self.seen = 1;
        deserialize_text(name, seed)
    }
}

fn deserialize_text<'l, S: DeserializeSeed<'l>>(
    text: Cow<'l, str>,
    seed: S,
) -> Result<S::Value, GiveUp> {
    match text {
        Cow::Borrowed(text) => seed.deserialize(BorrowedStrDeserializer::new(text)),
        Cow::Owned(text) => seed.deserialize(text.into_deserializer()),
    }
}

/// The items of a list, behind its bracket.
struct Items<'p, 'l> {
    parser: &'p mut Parser<'l>,
    rule: &'static Rule,
    first: bool,
    ended: bool,
}

impl<'l> SeqAccess<'l> for &mut Items<'_, 'l> {
    type Error = GiveUp;

    fn next_element_seed<T: DeserializeSeed<'l>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, GiveUp> {
        let first = std::mem::take(&mut self.first);
        match self.parser.peek() {
            Some(b']') => {
                let _ = self.parser.next();
                self.ended = true;
                return Ok(None);
            }
            Some(b',') if !first => drop(self.parser.next()),
            _ => only_if(first)?,
        }
        let slot = Slot {
            parser: self.parser,
            rule: self.rule,
        };
        seed.deserialize(slot).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FromExtension, rpc, schema, validate::sealed::Compiled};

    fn read_their_examples<F: Validated + Compiled>(but: &[&str]) {
        for name in F::NAMES.iter().filter(|name| !but.contains(name)) {
            let document = schema::of_frame::<F>(name).expect("known");
            for example in document.schema["examples"].as_array().expect("has some") {
                let line = example.to_string();
                let read = frame::<F>(line.as_bytes(), F::rule).is_some();
                assert!(read, "{name}: {example}");
            }
        }
    }

    /// Otherwise all would take the detour, and be right, and slow.
    #[test]
    fn ordinary_frames_are_read_in_one_pass() {
        // One of its fields depends on another.
        read_their_examples::<FromExtension>(&["command_response"]);
        read_their_examples::<rpc::Command>(&[]);
    }
}
