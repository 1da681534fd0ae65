//! `null` means absent, and an absent value has its type's default: `""`, `[]`, `false`.

use serde::{Deserialize, Deserializer};

/// Use as `#[serde(default, deserialize_with = "or_default")]`. The schema of every optional field
/// accepts `null`: see `schema/tidy.rs`.
pub(crate) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Use with `skip_serializing_if`.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
pub(crate) fn is_false(flag: &bool) -> bool {
    !flag
}
