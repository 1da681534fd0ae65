//! The built-in slash commands.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Builtin {
    Help,
    Model,
    Clear,
    Compact,
    Sessions,
    Session,
    Skills,
    ReloadExt,
    Ext,
    Login,
    Logout,
    Jail,
    Unjail,
    Yolo,
    Exit,
}

impl Builtin {
    /// All commands, in display order.
    pub(crate) const ALL: [Self; 15] = [
        Self::Help,
        Self::Model,
        Self::Clear,
        Self::Compact,
        Self::Sessions,
        Self::Session,
        Self::Skills,
        Self::ReloadExt,
        Self::Ext,
        Self::Login,
        Self::Logout,
        Self::Jail,
        Self::Unjail,
        Self::Yolo,
        Self::Exit,
    ];

    /// Finds a command by name, ignoring case.
    pub(crate) fn of(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|builtin| builtin.name().eq_ignore_ascii_case(name))
    }

    /// Returns the name without the slash.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Help => "help",
            Self::Model => "model",
            Self::Clear => "clear",
            Self::Compact => "compact",
            Self::Sessions => "sessions",
            Self::Session => "session",
            Self::Skills => "skills",
            Self::ReloadExt => "reload-ext",
            Self::Ext => "ext",
            Self::Login => "login",
            Self::Logout => "logout",
            Self::Jail => "jail",
            Self::Unjail => "unjail",
            Self::Yolo => "yolo",
            Self::Exit => "exit",
        }
    }

    /// Returns the usage of the arguments.
    pub(crate) fn args(self) -> &'static str {
        match self {
            Self::Model => "[NAME]",
            Self::Session => "fork [N] | export FILE | import FILE",
            Self::Login | Self::Logout => "[PROVIDER]",
            _ => "",
        }
    }

    /// Returns a one-line description.
    pub(crate) fn about(self) -> &'static str {
        match self {
            Self::Help => "show keys and commands",
            Self::Model => "switch to another model",
            Self::Clear => "start a new conversation",
            Self::Compact => "summarise the conversation and continue",
            Self::Sessions => "continue another session",
            Self::Session => "fork, export or import a session",
            Self::Skills => "list the available skills",
            Self::ReloadExt => "reload all extensions",
            Self::Ext => "show the status of extensions",
            Self::Login => "save a provider's API key",
            Self::Logout => "remove a provider's API key",
            Self::Jail => "confine tools to this directory",
            Self::Unjail => "let tools leave this directory",
            Self::Yolo => "turn tool confirmation on or off",
            Self::Exit => "exit zot",
        }
    }

    /// Reports whether the command requires arguments.
    pub(crate) fn needs_args(self) -> bool {
        self == Self::Session
    }

    /// Reports whether the command needs a running agent.
    pub(crate) fn needs_agent(self) -> bool {
        !matches!(self, Self::Help | Self::Yolo | Self::Exit)
    }

    /// Reports whether the command must wait until the agent is idle.
    pub(crate) fn needs_idle_agent(self) -> bool {
        matches!(
            self,
            Self::Model
                | Self::Clear
                | Self::Compact
                | Self::Sessions
                | Self::Session
                | Self::ReloadExt
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Builtin;
    use crate::short_lived_host::BUILT_IN_COMMANDS;

    #[test]
    fn extensions_receive_every_builtin_name() {
        assert_eq!(Builtin::ALL.map(Builtin::name), BUILT_IN_COMMANDS);
    }
}
