//! The slash commands that zot has itself, as a driver is told of them. What each does has a command of the protocol, where a
//! driver can want it.

use zot_protocol::rpc::{CommandInfo, CommandSource};

const COMMANDS: [(&str, &str); 15] = [
    ("help", "what can be typed"),
    ("model", "take another model"),
    ("clear", "drop the conversation"),
    ("compact", "replace the conversation by a summary"),
    ("sessions", "go on with another session"),
    ("session", "fork, export or import the session"),
    ("skills", "the skills that the model can read"),
    ("reload-ext", "start all extensions anew"),
    ("ext", "the extensions, and how each fares"),
    ("login", "keep a key of a provider"),
    ("logout", "forget a key of a provider"),
    (
        "jail",
        "confine the built-in tools to the working directory",
    ),
    ("unjail", "let the built-in tools out again"),
    ("yolo", "run tools without asking"),
    ("exit", "leave"),
];

/// All of them.
pub(super) fn commands() -> impl Iterator<Item = CommandInfo> {
    COMMANDS
        .iter()
        .map(|(name, about)| CommandInfo::new(*name, *about, CommandSource::Builtin))
}

/// Whether one has this name.
pub(super) fn is(name: &str) -> bool {
    COMMANDS.iter().any(|(it, _)| it.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::COMMANDS;
    use crate::short_lived_host::BUILT_IN_COMMANDS;

    #[test]
    fn they_are_those_that_extensions_cannot_take() {
        assert_eq!(COMMANDS.map(|(name, _)| name), BUILT_IN_COMMANDS);
    }
}
