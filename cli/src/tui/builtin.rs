//! The built-in slash commands.

use clap::ValueEnum;
use zot_protocol::BUILTIN_COMMANDS;

/// A built-in command. The variants are in the order of [`BUILTIN_COMMANDS`]. `ValueEnum` provides
/// the list of all variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Builtin {
    Help,
    Model,
    Clear,
    Compact,
    Sessions,
    Session,
    Rewind,
    Export,
    Tasks,
    Skills,
    ReloadExt,
    Ext,
    Why,
    Login,
    Logout,
    Jail,
    Unjail,
    Yolo,
    Exit,
}

impl Builtin {
    /// Finds a command by name, ignoring case.
    pub(crate) fn of(name: &str) -> Option<Self> {
        let mut all = Self::value_variants().iter().copied();
        all.find(|builtin| builtin.name().eq_ignore_ascii_case(name))
    }

    /// Returns the name without the slash.
    pub(crate) fn name(self) -> &'static str {
        BUILTIN_COMMANDS[self as usize].0
    }

    /// Returns the usage text for the arguments.
    pub(crate) fn args(self) -> &'static str {
        match self {
            Self::Model => "[NAME]",
            Self::Session => "fork [N] | export FILE | import FILE",
            Self::Export => "FILE.md | FILE.html | FILE.jsonl",
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
        matches!(self, Self::Session | Self::Export)
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
                | Self::Rewind
                | Self::Export
                | Self::ReloadExt
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_are_in_the_order_of_the_protocol_list() {
        let named = |(name, _): (&str, _)| Builtin::from_str(name, false).map(|it| it as usize);
        assert_eq!(BUILTIN_COMMANDS.map(named), std::array::from_fn(Ok));
        assert_eq!(Builtin::of("reload-ext"), Some(Builtin::ReloadExt));
        assert_eq!(Builtin::of("EXIT"), Some(Builtin::Exit));
    }
}
