//! `null` means absent, and what is absent has its default: `""`, `[]`, `false`.

use serde::{Deserialize, Deserializer};

/// For `#[serde(default, deserialize_with = "or_default")]`, together with `#[schemars(with = "Option<…>")]`.
pub(crate) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// For `skip_serializing_if`.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
pub(crate) fn is_false(flag: &bool) -> bool {
    !flag
}
