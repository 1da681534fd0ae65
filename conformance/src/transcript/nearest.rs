//! Suggestions for misspelled words.

use zot_protocol::validate::nearest;

/// Returns `; did you mean `x`?` if one of `known` is similar, or an empty string.
pub(super) fn did_you_mean<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(written, known).map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}
