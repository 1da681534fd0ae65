//! Patterns for names and paths, as regular expressions for the schemas and in words for error
//! messages.

/// IDs that the host creates. They are safe to paste into a shell script.
pub(crate) const HOST_ID: &str = "^[A-Za-z0-9_-]{1,64}$";
/// The name of a slash command.
pub(crate) const COMMAND_NAME: &str = r"^[^/\s\x00-\x1f\x7f][^\s\x00-\x1f\x7f]*$";
/// The name of a tool. Providers reject a whole request if one tool has an invalid name.
pub(crate) const TOOL_NAME: &str = "^[a-zA-Z0-9_-]{1,64}$";
/// The name of an extension, which is also used as a directory name.
pub(crate) const EXTENSION_NAME: &str = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$";
/// A path in `permissions`. `..` is not allowed, because it could lead anywhere.
pub(crate) const GRANTED_PATH: &str = concat!(
    r"^(~|\$cwd|\$data|\.|/(\.?|\.?[^/.][^/]*|\.\.[^/]+))",
    r"(/(\.?|\.?[^/.][^/]*|\.\.[^/]+))*$"
);
/// The name of an environment variable.
pub(crate) const ENV_NAME: &str = "^[A-Za-z_][A-Za-z0-9_]*$";

/// Implements each pattern without a regex engine.
#[cfg(feature = "validate")]
mod matching {
    fn is_word(byte: u8) -> bool {
        byte.is_ascii_alphanumeric() || byte == b'_'
    }

    fn is_short(text: &str) -> bool {
        (1..=64).contains(&text.len())
    }

    /// Reports whether `text` matches [`TOOL_NAME`](super::TOOL_NAME).
    pub(crate) fn is_tool_name(text: &str) -> bool {
        is_short(text) && text.bytes().all(|byte| is_word(byte) || byte == b'-')
    }

    /// Reports whether `text` matches [`COMMAND_NAME`](super::COMMAND_NAME).
    pub(crate) fn is_command_name(text: &str) -> bool {
        // JSON Schema uses JavaScript regular expressions, in which `\s` excludes U+0085 and
        // includes U+FEFF.
        let is_blank = |char: char| match char {
            '\u{85}' => false,
            '\u{feff}' => true,
            char => char.is_whitespace(),
        };
        let plain = |char: char| !is_blank(char) && !char.is_ascii_control();
        !text.is_empty() && !text.starts_with('/') && text.chars().all(plain)
    }

    /// Reports whether `text` matches [`EXTENSION_NAME`](super::EXTENSION_NAME).
    pub(crate) fn is_extension_name(text: &str) -> bool {
        let inner = |byte: u8| is_word(byte) || matches!(byte, b'.' | b'-');
        is_short(text) && text.as_bytes()[0].is_ascii_alphanumeric() && text.bytes().all(inner)
    }

    /// Reports whether `text` matches [`GRANTED_PATH`](super::GRANTED_PATH).
    pub(crate) fn is_granted_path(text: &str) -> bool {
        let is_end = |rest: &str| rest.is_empty() || rest.starts_with('/');
        let below = |root| text.strip_prefix(root).is_some_and(is_end);
        let begins = text.starts_with('/') || ["~", "$cwd", "$data", "."].into_iter().any(below);
        begins && text.split('/').all(|part| part != "..")
    }

    /// Reports whether `text` matches [`ENV_NAME`](super::ENV_NAME).
    pub(crate) fn is_env_name(text: &str) -> bool {
        !text.is_empty() && text.bytes().all(is_word) && !text.as_bytes()[0].is_ascii_digit()
    }
}
#[cfg(feature = "validate")]
pub(crate) use matching::*;

/// Describes what matches `pattern`, for messages of the form `"x" is not …`.
#[cfg(feature = "validate")]
pub(crate) fn describe(pattern: &str) -> Option<&'static str> {
    Some(match pattern {
        HOST_ID => "a valid ID: 1 to 64 letters, digits, _ or -",
        COMMAND_NAME => "a valid command name: no leading / and no whitespace",
        TOOL_NAME => "a valid tool name: 1 to 64 letters, digits, _ or -",
        EXTENSION_NAME => {
            "a valid extension name: 1 to 64 letters, digits, ., _ or -, starting with a letter or digit"
        }
        GRANTED_PATH => "a path that starts with /, ~, $cwd, $data or . and does not contain ..",
        ENV_NAME => "a valid environment variable name",
        _ => return None,
    })
}
