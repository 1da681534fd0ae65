//! API keys, in a type that does not print them.

use std::{borrow::Cow, fmt};

use reqwest::header::HeaderValue;

/// An API key. Its `Debug` output hides the text; [`ApiKey::expose`] is the only public way to read
/// it, so every use can be found. The memory is not zeroed, because the environment, the header and
/// the TLS buffers hold copies as well.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

/// Error returned for an invalid key. It does not contain the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The text is empty.
    #[error("API key is empty")]
    Empty,
    /// The text is too long for a header.
    #[error("API key is longer than {MAX_BYTES} bytes")]
    TooLong,
    /// The text contains a character that a header must not contain.
    #[error("API key has an invalid character at position {0}")]
    Character(usize),
}

/// The maximum length of a key.
const MAX_BYTES: usize = 16 * 1024;

impl ApiKey {
    /// Parses a key. Surrounding whitespace is removed.
    pub fn new(text: &str) -> Result<Self, KeyError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(KeyError::Empty);
        }
        if text.len() > MAX_BYTES {
            return Err(KeyError::TooLong);
        }
        if let Some(at) = text.chars().position(|c| !c.is_ascii_graphic()) {
            return Err(KeyError::Character(at + 1));
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the key as text, for a request or the key file.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns a sensitive header value, which is neither printed nor stored in a compression table
    /// (HPACK).
    pub(super) fn header(&self, before: &str) -> HeaderValue {
        let mut value = HeaderValue::try_from(format!("{before}{}", self.0))
            .expect("a key has only visible ASCII characters");
        value.set_sensitive(true);
        value
    }

    /// Replaces every occurrence of the key in `text`.
    pub fn scrub<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if text.contains(&self.0) {
            Cow::Owned(text.replace(&self.0, "[key]"))
        } else {
            Cow::Borrowed(text)
        }
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ApiKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_hides_the_key() {
        let key = ApiKey::new(" sk-canary\n").unwrap();
        assert_eq!(
            format!("{key:?} {:#?}", Some(&key)),
            "ApiKey Some(\n    ApiKey,\n)"
        );
        assert_eq!(key.expose(), "sk-canary");
        assert!(!format!("{:?}", key.header("Bearer ")).contains("canary"));
    }

    #[test]
    fn the_error_for_an_invalid_key_does_not_contain_it() {
        assert_eq!(ApiKey::new(" \n"), Err(KeyError::Empty));
        let error = ApiKey::new("sk-can\u{0}ary").unwrap_err();
        assert_eq!(error, KeyError::Character(7));
        assert!(!format!("{error} {error:?}").contains("can"));
        assert_eq!(ApiKey::new(&"k".repeat(20_000)), Err(KeyError::TooLong));
    }

    #[test]
    fn scrub_removes_the_key_from_text() {
        let key = ApiKey::new("sk-canary").unwrap();
        assert_eq!(key.scrub("bad key sk-canary!"), "bad key [key]!");
        assert_eq!(key.scrub("fine"), "fine");
    }
}
