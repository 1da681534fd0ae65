//! The built-in slash commands, as `get_commands` lists them. Clients use the corresponding
//! protocol commands instead.

use zot_protocol::rpc::{CommandInfo, CommandSource};

const COMMANDS: [(&str, &str); 15] = [
    ("help", "show keys and commands"),
    ("model", "switch to another model"),
    ("clear", "start a new conversation"),
    ("compact", "summarise the conversation and continue"),
    ("sessions", "continue another session"),
    ("session", "fork, export or import a session"),
    ("skills", "list the available skills"),
    ("reload-ext", "reload all extensions"),
    ("ext", "show the status of extensions"),
    ("login", "save a provider's API key"),
    ("logout", "remove a provider's API key"),
    ("jail", "confine tools to this directory"),
    ("unjail", "let tools leave this directory"),
    ("yolo", "turn tool confirmation on or off"),
    ("exit", "exit zot"),
];

/// Lists all built-in commands.
pub(super) fn commands() -> impl Iterator<Item = CommandInfo> {
    COMMANDS
        .iter()
        .map(|(name, about)| CommandInfo::new(*name, *about, CommandSource::Builtin))
}

/// Reports whether a built-in command has this name, ignoring case.
pub(super) fn is_built_in(name: &str) -> bool {
    COMMANDS.iter().any(|(it, _)| it.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::COMMANDS;
    use crate::short_lived_host::BUILT_IN_COMMANDS;

    #[test]
    fn every_built_in_command_is_listed() {
        assert_eq!(COMMANDS.map(|(name, _)| name), BUILT_IN_COMMANDS);
    }
}
