//! The forms that names have: each as a pattern for the schemas and in words for whoever got it wrong.

/// The host's ids, so that a script can paste them.
pub(crate) const HOST_ID: &str = "^[A-Za-z0-9_-]{1,64}$";
/// A slash command.
pub(crate) const COMMAND_NAME: &str = r"^[^/\s\x00-\x1f\x7f][^\s\x00-\x1f\x7f]*$";
/// A tool: providers refuse a whole request for one bad name.
pub(crate) const TOOL_NAME: &str = "^[a-zA-Z0-9_-]{1,64}$";
/// An extension; it is also a directory's name.
pub(crate) const EXTENSION_NAME: &str = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$";
/// A path in a declaration of permissions. No part of it is `..`, which could lead anywhere.
pub(crate) const GRANTED_PATH: &str = concat!(
    r"^(~|\$cwd|\$data|\.|/(\.?|\.?[^/.][^/]*|\.\.[^/]+))",
    r"(/(\.?|\.?[^/.][^/]*|\.\.[^/]+))*$"
);
/// An environment variable.
pub(crate) const ENV_NAME: &str = "^[A-Za-z_][A-Za-z0-9_]*$";

/// What fits each of them, without an engine for patterns.
#[cfg(feature = "validate")]
mod fits {
    fn is_word(byte: u8) -> bool {
        byte.is_ascii_alphanumeric() || byte == b'_'
    }

    fn is_short(text: &str) -> bool {
        (1..=64).contains(&text.len())
    }

    /// [`TOOL_NAME`](super::TOOL_NAME).
    pub(crate) fn is_tool_name(text: &str) -> bool {
        is_short(text) && text.bytes().all(|byte| is_word(byte) || byte == b'-')
    }

    /// [`COMMAND_NAME`](super::COMMAND_NAME).
    pub(crate) fn is_command_name(text: &str) -> bool {
        // `\s` as JavaScript has it, which is what JSON Schema means.
        let is_blank = |char: char| match char {
            '\u{85}' => false,
            '\u{feff}' => true,
            char => char.is_whitespace(),
        };
        let plain = |char: char| !is_blank(char) && !char.is_ascii_control();
        !text.is_empty() && !text.starts_with('/') && text.chars().all(plain)
    }

    /// [`EXTENSION_NAME`](super::EXTENSION_NAME).
    pub(crate) fn is_extension_name(text: &str) -> bool {
        let inner = |byte: u8| is_word(byte) || matches!(byte, b'.' | b'-');
        is_short(text) && text.as_bytes()[0].is_ascii_alphanumeric() && text.bytes().all(inner)
    }

    /// [`GRANTED_PATH`](super::GRANTED_PATH).
    pub(crate) fn is_granted_path(text: &str) -> bool {
        let is_end = |rest: &str| rest.is_empty() || rest.starts_with('/');
        let below = |root| text.strip_prefix(root).is_some_and(is_end);
        let begins = text.starts_with('/') || ["~", "$cwd", "$data", "."].into_iter().any(below);
        begins && text.split('/').all(|part| part != "..")
    }

    /// [`ENV_NAME`](super::ENV_NAME).
    pub(crate) fn is_env_name(text: &str) -> bool {
        !text.is_empty() && text.bytes().all(is_word) && !text.as_bytes()[0].is_ascii_digit()
    }
}
#[cfg(feature = "validate")]
pub(crate) use fits::*;

/// What a text that fits `pattern` is, for a message of the form `"x" is not …`.
#[cfg(feature = "validate")]
pub(crate) fn in_words(pattern: &str) -> Option<&'static str> {
    Some(match pattern {
        HOST_ID => "an id: 1 to 64 letters, digits, _ or -",
        COMMAND_NAME => "a command's name: no leading /, no white space",
        TOOL_NAME => "a tool's name: 1 to 64 letters, digits, _ or -",
        EXTENSION_NAME => {
            "an extension's name: 1 to 64 letters, digits, ., _ or -, the first a letter or digit"
        }
        GRANTED_PATH => "a path that begins with /, ~, $cwd, $data or . and has no .. in it",
        ENV_NAME => "the name of an environment variable",
        _ => return None,
    })
}
