//! The forms that names have: each as a pattern for the schemas and in words for whoever got it wrong.

/// The host's ids, so that a script can paste them.
pub(crate) const HOST_ID: &str = "^[A-Za-z0-9_-]{1,64}$";
/// A slash command.
pub(crate) const COMMAND_NAME: &str = r"^[^/\s\x00-\x1f\x7f][^\s\x00-\x1f\x7f]*$";
/// A tool: providers refuse a whole request for one bad name.
pub(crate) const TOOL_NAME: &str = "^[a-zA-Z0-9_-]{1,64}$";
/// An extension; it is also a directory's name.
pub(crate) const EXTENSION_NAME: &str = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$";
/// A path in a declaration of permissions.
pub(crate) const GRANTED_PATH: &str = r"^(/|(~|\$cwd|\$data|\.)(/|$))";
/// An environment variable.
pub(crate) const ENV_NAME: &str = "^[A-Za-z_][A-Za-z0-9_]*$";

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
        GRANTED_PATH => "a path that begins with /, ~, $cwd, $data or .",
        ENV_NAME => "the name of an environment variable",
        _ => return None,
    })
}
