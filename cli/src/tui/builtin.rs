//! The slash commands that zot has itself.

/// A slash command that zot has itself.
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
    /// In the order in which they are listed.
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

    /// The command of this name, in any case.
    pub(crate) fn of(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|builtin| builtin.name().eq_ignore_ascii_case(name))
    }

    /// Without the slash.
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

    /// What may follow the name.
    pub(crate) fn args(self) -> &'static str {
        match self {
            Self::Model => "[NAME]",
            Self::Session => "fork [N] | export FILE | import FILE",
            Self::Login | Self::Logout => "[PROVIDER]",
            _ => "",
        }
    }

    /// What it does, in a line.
    pub(crate) fn about(self) -> &'static str {
        match self {
            Self::Help => "keys and commands",
            Self::Model => "another model answers",
            Self::Clear => "begin anew",
            Self::Compact => "go on with a summary of what was said",
            Self::Sessions => "go on with another session",
            Self::Session => "fork, export or import a session",
            Self::Skills => "the skills that the model can read",
            Self::ReloadExt => "end all extensions and start them again",
            Self::Ext => "how the extensions fare",
            Self::Login => "keep a provider's key",
            Self::Logout => "forget a provider's key",
            Self::Jail => "confine the tools to this directory",
            Self::Unjail => "let the tools out again",
            Self::Yolo => "run tools without asking, or ask again",
            Self::Exit => "leave",
        }
    }

    /// Whether it does nothing without what follows the name.
    pub(crate) fn needs_args(self) -> bool {
        self == Self::Session
    }

    /// Whether there must be an agent for it.
    pub(crate) fn needs_agent(self) -> bool {
        !matches!(self, Self::Help | Self::Yolo | Self::Exit)
    }

    /// Whether it changes what the agent works with, so that it waits until that is idle.
    pub(crate) fn waits(self) -> bool {
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
    fn extensions_are_told_of_all() {
        assert_eq!(Builtin::ALL.map(Builtin::name), BUILT_IN_COMMANDS);
    }
}
