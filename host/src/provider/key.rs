//! Keys, in a type that does not print.

use std::{borrow::Cow, fmt};

use reqwest::header::HeaderValue;

/// The key of an API. It prints as nothing; [`ApiKey::expose`] is the only way to its text, so that a reader finds every
/// place that has it. Its memory is not wiped: the environment, the header on its way out and the TLS library's buffers
/// hold copies that are not ours to wipe.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

/// Why a text is no key. It does not hold the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// There is nothing.
    #[error("the key is empty")]
    Empty,
    /// More than a header takes.
    #[error("the key is longer than {MOST_BYTES} bytes")]
    TooLong,
    /// It cannot be part of a header.
    #[error("the key has a character that no key has (character {0})")]
    Character(usize),
}

/// Longer than any key.
const MOST_BYTES: usize = 16 * 1024;

impl ApiKey {
    /// A key from a text; space and newlines around it are not part of it.
    pub fn new(text: &str) -> Result<Self, KeyError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(KeyError::Empty);
        }
        if text.len() > MOST_BYTES {
            return Err(KeyError::TooLong);
        }
        if let Some(at) = text.chars().position(|c| !c.is_ascii_graphic()) {
            return Err(KeyError::Character(at + 1));
        }
        Ok(Self(text.to_owned()))
    }

    /// The text itself, for the request or the file it belongs to.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// A header's value that is not printed and not kept in a compression table.
    pub(super) fn header(&self, before: &str) -> HeaderValue {
        let mut value = HeaderValue::try_from(format!("{before}{}", self.0))
            .expect("a key has only visible ASCII characters");
        value.set_sensitive(true);
        value
    }

    /// A text without the key, should somebody have put it there.
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
    fn it_prints_nothing_of_itself() {
        let key = ApiKey::new(" sk-canary\n").unwrap();
        assert_eq!(
            format!("{key:?} {:#?}", Some(&key)),
            "ApiKey Some(\n    ApiKey,\n)"
        );
        assert_eq!(key.expose(), "sk-canary");
        assert!(!format!("{:?}", key.header("Bearer ")).contains("canary"));
    }

    #[test]
    fn what_cannot_be_sent_is_refused_without_being_repeated() {
        assert_eq!(ApiKey::new(" \n"), Err(KeyError::Empty));
        let error = ApiKey::new("sk-can\u{0}ary").unwrap_err();
        assert_eq!(error, KeyError::Character(7));
        assert!(!format!("{error} {error:?}").contains("can"));
        assert_eq!(ApiKey::new(&"k".repeat(20_000)), Err(KeyError::TooLong));
    }

    #[test]
    fn it_is_taken_out_of_what_others_say() {
        let key = ApiKey::new("sk-canary").unwrap();
        assert_eq!(key.scrub("bad key sk-canary!"), "bad key [key]!");
        assert_eq!(key.scrub("fine"), "fine");
    }
}
