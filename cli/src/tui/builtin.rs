//! The built-in slash commands.

use zot_protocol::BUILTIN_COMMANDS;

/// In the order of [`BUILTIN_COMMANDS`].
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
        BUILTIN_COMMANDS[self as usize].0
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
        BUILTIN_COMMANDS[self as usize].1
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

    #[test]
    fn the_order_is_that_of_the_protocols_list() {
        let order = Builtin::ALL.map(|builtin| builtin as usize);
        assert!(order.is_sorted());
        assert_eq!(Builtin::of("reload-ext"), Some(Builtin::ReloadExt));
        assert_eq!(Builtin::of("EXIT"), Some(Builtin::Exit));
    }
}
