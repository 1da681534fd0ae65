//! Names that are reserved for the host: the built-in slash commands and tools.

/// The built-in slash commands with their descriptions, in display order. An extension cannot
/// register these names.
pub const BUILTIN_COMMANDS: [(&str, &str); 19] = [
    ("help", "show keys and commands"),
    ("model", "switch to another model"),
    ("clear", "start a new conversation"),
    ("compact", "summarise the conversation and continue"),
    ("sessions", "continue another session"),
    ("session", "fork, export or import a session"),
    ("rewind", "go back to an earlier message"),
    ("export", "write the conversation to a file"),
    ("tasks", "list and stop background commands"),
    ("skills", "list the available skills"),
    ("reload-ext", "reload all extensions"),
    ("ext", "show the status of extensions"),
    ("why", "show what extensions blocked or changed"),
    ("login", "save a provider's API key"),
    ("logout", "remove a provider's API key"),
    ("jail", "confine tools to this directory"),
    ("unjail", "let tools access any directory"),
    ("yolo", "turn tool confirmation on or off"),
    ("exit", "exit zot"),
];

/// The built-in tools. An extension cannot register these names.
pub const BUILTIN_TOOLS: [&str; 5] = ["read", "write", "edit", "bash", "skill"];

/// Reports whether a built-in command has this name, ignoring case.
pub fn is_builtin_command(name: &str) -> bool {
    let mut names = BUILTIN_COMMANDS.iter();
    names.any(|(builtin, _)| builtin.eq_ignore_ascii_case(name))
}
