//! Decodes integers that are written with a decimal point. JSON Schema accepts `1.0` as an integer,
//! and some languages with a single number type write it that way.

use std::fmt;

use serde::{
    Deserializer,
    de::{Error, Unexpected, Visitor},
};

/// Use as `#[serde(deserialize_with = "integer")]`.
pub(crate) fn integer<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<u64>,
{
    // Ask for a float, because every deserializer then accepts integers too. If asked for an
    // integer, serde's buffer for flattened fields rejects a float.
    let value = deserializer.deserialize_f64(Integer)?;
    T::try_from(value)
        .map_err(|_| D::Error::invalid_value(Unexpected::Unsigned(value), &"a smaller integer"))
}

/// Use as `#[serde(default, deserialize_with = "optional_integer")]`.
pub(crate) fn optional_integer<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<u64>,
{
    struct Optional<T>(std::marker::PhantomData<T>);

    impl<'de, T: TryFrom<u64>> Visitor<'de> for Optional<T> {
        type Value = Option<T>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an integer or null")
        }

        fn visit_none<E>(self) -> Result<Option<T>, E> {
            Ok(None)
        }

        fn visit_unit<E>(self) -> Result<Option<T>, E> {
            Ok(None)
        }

        fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<T>, D::Error> {
            integer(deserializer).map(Some)
        }
    }

    deserializer.deserialize_option(Optional(std::marker::PhantomData))
}

struct Integer;

impl Visitor<'_> for Integer {
    type Value = u64;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an integer")
    }

    fn visit_u64<E>(self, value: u64) -> Result<u64, E> {
        Ok(value)
    }

    fn visit_u32<E>(self, value: u32) -> Result<u64, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<u64, E> {
        u64::try_from(value).map_err(|_| E::invalid_value(Unexpected::Signed(value), &self))
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is checked, and 2^64 itself is excluded"
    )]
    fn visit_f64<E: Error>(self, value: f64) -> Result<u64, E> {
        let fits = value.fract() == 0.0 && (0.0..18_446_744_073_709_551_616.0).contains(&value);
        if fits {
            Ok(value as u64)
        } else {
            Err(E::invalid_value(Unexpected::Float(value), &self))
        }
    }
}
