//! Enums that are tagged by one key of a JSON object. Serde's own `tag` buffers all fields before
//! it decodes any, and its `other` loses the name of an unknown variant.

use std::{fmt, marker::PhantomData};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{
        self, DeserializeSeed, IntoDeserializer, MapAccess, Visitor, value::MapAccessDeserializer,
    },
    ser::{SerializeMap, Serializer},
};
use serde_json::Value;

use crate::Object;

/// A set of JSON objects distinguished by one key: the frames of a direction, the events, or the
/// content blocks.
///
/// The variants are listed once, where the enum is declared. Decoding, schemas, the validator and
/// the tests all iterate over [`Tagged::NAMES`].
pub trait Tagged: Sized + Serialize + de::DeserializeOwned + From<Unknown> {
    /// The key that distinguishes the variants: `type`, or `event` within an event.
    const TAG: &'static str;

    /// The names of all variants, in the order in which the documentation lists them.
    const NAMES: &'static [&'static str];

    /// Returns the name of this value's variant.
    fn name(&self) -> &str;

    /// Decodes the variant called `name` from an object. The object may still contain the tag.
    fn decode<'de, D: Deserializer<'de>>(name: &str, object: D) -> Result<Self, D::Error>;

    /// Returns the schema of the variant called `name`, including the tag, or `None` if the name is
    /// unknown.
    fn schema_of(name: &str, generator: &mut SchemaGenerator) -> Option<Schema>;
}

/// A variant that this version does not know. It keeps its name and all other fields, so that it
/// can be logged, recorded and forwarded unchanged.
#[derive(Debug, Clone, PartialEq)]
pub struct Unknown {
    /// The key of the tag.
    pub tag: &'static str,
    /// The value of the tag.
    pub name: String,
    /// All other fields.
    pub fields: Object,
}

impl Unknown {
    pub(crate) fn decode<'de, T: Tagged, D: Deserializer<'de>>(
        name: &str,
        object: D,
    ) -> Result<T, D::Error> {
        let mut fields = Object::deserialize(object)?;
        fields.shift_remove(T::TAG);
        Ok(Self {
            tag: T::TAG,
            name: name.to_owned(),
            fields,
        }
        .into())
    }
}

impl Serialize for Unknown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.fields.len() + 1))?;
        map.serialize_entry(self.tag, &self.name)?;
        for (key, value) in &self.fields {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// Declares a [`Tagged`] enum from a list of names and payloads. `named $Names` also declares the
/// set of names as an open set.
macro_rules! tagged {
    (
        $(#[doc = $doc:literal])+
        pub enum $Name:ident by $tag:literal {
            $( $name:literal => $Variant:ident($Payload:ty), )*
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub enum $Name {
            $(
                #[doc = concat!("`", $name, "`")]
                $Variant($Payload),
            )*
            /// A variant that this version does not know.
            Unknown($crate::Unknown),
        }

        impl $crate::Tagged for $Name {
            const TAG: &'static str = $tag;
            const NAMES: &'static [&'static str] = &[$($name),*];

            fn name(&self) -> &str {
                match self {
                    $( Self::$Variant(_) => $name, )*
                    Self::Unknown(unknown) => &unknown.name,
                }
            }

            fn decode<'de, D: serde::Deserializer<'de>>(name: &str, object: D) -> Result<Self, D::Error> {
                match name {
                    $( $name => <$Payload as serde::Deserialize>::deserialize(object).map(Self::$Variant), )*
                    _ => $crate::Unknown::decode(name, object),
                }
            }

            fn schema_of(
                name: &str,
                generator: &mut schemars::SchemaGenerator,
            ) -> Option<schemars::Schema> {
                match name {
                    $( $name => Some($crate::tagged::variant_schema::<$Payload>($tag, $name, generator)), )*
                    _ => None,
                }
            }
        }

        impl serde::Serialize for $Name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                #[derive(serde::Serialize)]
                struct WithTag<'a, T: serde::Serialize> {
                    #[serde(rename = $tag)]
                    tag: &'a str,
                    #[serde(flatten)]
                    payload: &'a T,
                }
                match self {
                    $( Self::$Variant(payload) => WithTag { tag: $name, payload }.serialize(serializer), )*
                    Self::Unknown(unknown) => unknown.serialize(serializer),
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $Name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_map($crate::tagged::TaggedVisitor::new())
            }
        }

        impl schemars::JsonSchema for $Name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($Name).into()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $crate::tagged::one_of::<Self>(concat!($($doc),+).trim(), generator)
            }
        }

        $(
            impl From<$Payload> for $Name {
                fn from(payload: $Payload) -> Self {
                    Self::$Variant(payload)
                }
            }
        )*

        impl From<$crate::Unknown> for $Name {
            fn from(unknown: $crate::Unknown) -> Self {
                Self::Unknown(unknown)
            }
        }
    };
    (
        $(#[doc = $doc:literal])+
        pub enum $Name:ident by $tag:literal, $(#[$names_meta:meta])* named $Names:ident {
            $( $name:literal => $Variant:ident($Payload:ty), )*
        }
    ) => {
        $crate::tagged::tagged! {
            $(#[doc = $doc])+
            pub enum $Name by $tag { $( $name => $Variant($Payload), )* }
        }
        $crate::open_set::open_set! {
            $(#[$names_meta])*
            pub enum $Names { $( #[doc = concat!("`", $name, "`")] $name => $Variant, )* }
        }
    };
}
pub(crate) use tagged;

/// Decodes a [`Tagged`] value from a map. If the tag comes first, as the host writes it, nothing is
/// buffered. Entries before the tag are buffered until the tag has been read.
pub(crate) struct TaggedVisitor<T>(PhantomData<T>);

impl<T> TaggedVisitor<T> {
    pub(crate) fn new() -> Self {
        Self(PhantomData)
    }
}

impl<'de, T: Tagged> Visitor<'de> for TaggedVisitor<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "an object with the key `{}`", T::TAG)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        let mut before = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            if key == T::TAG {
                let name: String = map.next_value()?;
                let rest = Rest {
                    before: before.into_iter(),
                    value: None,
                    map,
                };
                return T::decode(&name, MapAccessDeserializer::new(rest));
            }
            before.push((key, map.next_value::<Value>()?));
        }
        Err(de::Error::missing_field(T::TAG))
    }
}

/// The entries before the tag, followed by those after it.
struct Rest<A> {
    before: std::vec::IntoIter<(String, Value)>,
    value: Option<Value>,
    map: A,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Rest<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        match self.before.next() {
            Some((key, value)) => {
                self.value = Some(value);
                seed.deserialize(key.into_deserializer()).map(Some)
            }
            None => self.map.next_key_seed(seed),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        match self.value.take() {
            Some(value) => seed.deserialize(value).map_err(de::Error::custom),
            None => self.map.next_value_seed(seed),
        }
    }
}

/// Returns the schema of a payload with the tag as its first property.
pub(crate) fn variant_schema<T: JsonSchema>(
    tag: &str,
    name: &str,
    generator: &mut SchemaGenerator,
) -> Schema {
    let mut schema = T::json_schema(generator);
    let object = schema.ensure_object();

    let description = format!("Always `{name}`. Identifies the type of this object.");
    let mut properties = Object::new();
    properties.insert(
        tag.to_owned(),
        serde_json::json!({ "description": description, "type": "string", "const": name }),
    );
    if let Some(Value::Object(own)) = object.remove("properties") {
        properties.extend(own);
    }
    let mut required = vec![Value::from(tag)];
    if let Some(Value::Array(own)) = object.remove("required") {
        required.extend(own);
    }

    object.insert("title".into(), T::schema_name().into());
    object.insert("type".into(), "object".into());
    object.insert("properties".into(), properties.into());
    object.insert("required".into(), required.into());
    lift_examples(tag, name, object);
    schema
}

/// Moves the examples of a payload's variants up to the payload, and adds the tag to each.
fn lift_examples(tag: &str, name: &str, schema: &mut Object) {
    let mut lifted = Vec::new();
    for variant in schema
        .get_mut("oneOf")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        let examples = variant
            .as_object_mut()
            .and_then(|variant| variant.shift_remove("examples"));
        for example in examples
            .as_ref()
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let mut tagged = Object::new();
            tagged.insert(tag.to_owned(), name.into());
            tagged.extend(example.as_object().cloned().unwrap_or_default());
            lifted.push(Value::Object(tagged));
        }
    }
    if !lifted.is_empty() {
        schema.insert("examples".into(), lifted.into());
    }
}

/// Returns all variants as one `oneOf`.
pub(crate) fn one_of<T: Tagged>(description: &str, generator: &mut SchemaGenerator) -> Schema {
    let variants: Vec<Schema> = T::NAMES
        .iter()
        .filter_map(|name| T::schema_of(name, generator))
        .collect();
    schemars::json_schema!({ "description": description, "oneOf": variants })
}
