//! Generates values of a type without its schema, with a deserializer that invents whatever the
//! type asks for.
//!
//! Some types can hold values that their schema rejects. These are not generated:
//! - strings that must match a pattern ([`PATTERNS`]): the types do not check patterns;
//! - `command_response` with `open_panel` and no panel: types cannot express that one field
//!   requires another;
//! - `structured_content` with `null`: in JSON, `null` means absent;
//! - `register_tool.schema` with a `type` other than `object`: the Rust type is any object.

use std::cell::Cell;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
    value::{Error, StrDeserializer},
};
use serde_json::{Value, json};
use zot_protocol::{Content, Event, Intercept, Tagged, rpc};

/// Fields that must match a pattern, and a string that matches.
const PATTERNS: &[(&str, &str, &str)] = &[
    ("Hello", "name", "hello-1"),
    ("RegisterCommand", "name", "weather"),
    ("RegisterTool", "name", "get_weather-2"),
    ("CallTool", "name", "read"),
];
/// ID fields: they must not be empty, and those of the host must match a pattern.
const IDS: &[&str] = &["id", "panel_id", "parent_id"];

/// The source of choices. When it is used up, every choice is the simplest one, so failures shrink.
pub(super) struct Entropy<'b> {
    bytes: &'b [u8],
    at: Cell<usize>,
    depth: Cell<usize>,
}

impl<'b> Entropy<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self {
            bytes,
            at: Cell::new(0),
            depth: Cell::new(0),
        }
    }

    fn pick(&self, choices: usize) -> usize {
        let at = self.at.get();
        self.at.set(at + 1);
        self.bytes
            .get(at)
            .map_or(0, |byte| usize::from(*byte) % choices)
    }

    fn text(&self) -> String {
        let texts = [
            "",
            "a",
            "two words",
            "é🦀",
            "\u{0}\u{1b}]0;x\u{7}",
            "\"\\\n\u{2028}",
            "..",
            "null",
        ];
        let text = texts[self.pick(texts.len())];
        if self.pick(16) == 1 {
            text.repeat(500)
        } else {
            text.to_owned()
        }
    }

    fn value(&self) -> Value {
        let values = [
            json!(null),
            json!(true),
            json!(-7),
            json!(1.25e-7),
            json!(u64::MAX),
            json!("x"),
            json!([1, []]),
            json!({"k": {}}),
        ];
        values[self.pick(values.len())].clone()
    }
}

/// Invents a frame called `name`.
pub(super) fn frame<F: Tagged>(name: &str, entropy: &Entropy<'_>) -> Result<F, Error> {
    F::decode(name, Invent(entropy))
}

pub(super) fn is_excepted(frame: &Value) -> bool {
    let panel_missing = frame["action"] == "open_panel" && frame.get("open_panel").is_none();
    panel_missing || frame.get("structured_content") == Some(&Value::Null)
}

#[derive(Clone, Copy)]
struct Invent<'e, 'b>(&'e Entropy<'b>);

impl Invent<'_, '_> {
    /// Invents a value of a tagged type, as JSON.
    fn tagged<T: Tagged>(self) -> Value {
        let depth = self.0.depth.get();
        self.0.depth.set(depth + 1);
        // A tool result contains blocks, and a block can be a tool result. When nested too deeply,
        // use a text block.
        let choice = if depth > 2 {
            0
        } else {
            self.0.pick(T::NAMES.len())
        };
        let value: T = frame(T::NAMES[choice], self.0).expect("invented");
        self.0.depth.set(depth);
        serde_json::to_value(value).expect("serialises")
    }

    /// Invents a map. The type name of the visitor shows which type is being deserialized, and so
    /// which keys it needs.
    fn map_for(self, visitor: &str) -> Value {
        let is = |name: &str| visitor.contains(name);
        if is("TaggedVisitor<zot_protocol::content::Content>") {
            self.tagged::<Content>()
        } else if is("TaggedVisitor<zot_protocol::event::Event>") {
            self.tagged::<Event>()
        } else if is("TaggedVisitor<zot_protocol::intercept::Intercept>") {
            self.tagged::<Intercept>()
        } else if is("TaggedVisitor<zot_protocol::rpc::message::Block>") {
            self.tagged::<rpc::Block>()
        } else if is("EventIntercept") {
            let mut value = self.tagged::<Intercept>();
            value["id"] = "c-3".into();
            value
        } else if is("UsageEvent") {
            let usage: rpc::Usage = serde::Deserialize::deserialize(self).expect("invented");
            let mut value = serde_json::to_value(usage).expect("serialises");
            value["cumulative"] = value.clone();
            value
        } else {
            assert!(!is("TaggedVisitor"), "unsupported tagged type: {visitor}");
            json!({"k": self.0.value(), "": self.0.value()})
        }
    }
}

macro_rules! made_up {
    ($($method:ident => $visit:ident($make:expr);)*) => { $(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            let make: fn(&Entropy<'_>) -> _ = $make;
            visitor.$visit(make(self.0))
        }
    )* };
}

impl<'de> Deserializer<'de> for Invent<'_, '_> {
    type Error = Error;

    made_up! {
        deserialize_bool => visit_bool(|entropy| entropy.pick(2) == 1);
        deserialize_string => visit_string(|entropy| entropy.text());
        deserialize_str => visit_string(|entropy| entropy.text());
    }

    /// All numbers are requested as floats. The type name of the visitor shows whether an integer
    /// is needed.
    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if std::any::type_name::<V>().contains("integer::Integer") {
            return visitor.visit_u64([0, 1, 200, u32::MAX.into()][self.0.pick(4)]);
        }
        visitor.visit_f64([0.0, 0.0123, 1e-9, 12345.678][self.0.pick(4)])
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.0
            .value()
            .deserialize_any(visitor)
            .map_err(serde::de::Error::custom)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.0.pick(2) == 0 {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(Items {
            invent: self,
            left: self.0.pick(4),
        })
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let map = self.map_for(std::any::type_name::<V>());
        map.deserialize_map(visitor)
            .map_err(serde::de::Error::custom)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_map(Asked {
            invent: self,
            name,
            fields: fields.iter(),
            field: "",
        })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_enum(Variant(variants[self.0.pick(variants.len())]))
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 char bytes byte_buf unit unit_struct tuple tuple_struct identifier ignored_any
    }
}

struct Items<'e, 'b> {
    invent: Invent<'e, 'b>,
    left: usize,
}

impl<'de> SeqAccess<'de> for Items<'_, '_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        seed.deserialize(self.invent).map(Some)
    }
}

struct Asked<'e, 'b> {
    invent: Invent<'e, 'b>,
    name: &'static str,
    fields: std::slice::Iter<'static, &'static str>,
    field: &'static str,
}

impl<'de> MapAccess<'de> for Asked<'_, '_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let Some(field) = self.fields.next() else {
            return Ok(None);
        };
        self.field = field;
        seed.deserialize(StrDeserializer::new(field)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let formed = PATTERNS
            .iter()
            .find(|(name, field, _)| (*name, *field) == (self.name, self.field))
            .map(|(.., text)| *text)
            .or_else(|| IDS.contains(&self.field).then_some("b_2"));
        match formed {
            Some(text) => seed
                .deserialize(Value::from(text))
                .map_err(serde::de::Error::custom),
            None => seed.deserialize(self.invent),
        }
    }
}

struct Variant(&'static str);

impl<'de> EnumAccess<'de> for Variant {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Error> {
        Ok((
            seed.deserialize(IntoDeserializer::<Error>::into_deserializer(self.0))?,
            self,
        ))
    }
}

impl<'de> VariantAccess<'de> for Variant {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, _: T) -> Result<T::Value, Error> {
        unreachable!("wire types have no such enums")
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Error> {
        unreachable!("wire types have no such enums")
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Error> {
        unreachable!("wire types have no such enums")
    }
}
