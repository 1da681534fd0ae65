//! The commands and tools of all extensions: an immutable snapshot, rebuilt and replaced as a whole
//! when something changes.

use std::{collections::HashMap, fmt, sync::Arc};

use super::{member::Member, registered::Tool};

/// The commands and tools of all extensions, with unique names. Built-in names take precedence,
/// then extensions in load order.
#[derive(Default)]
pub struct Registry {
    commands: Vec<CommandEntry>,
    /// Keyed by lower-case name.
    commands_by_name: HashMap<String, usize>,
    tools: Vec<ToolEntry>,
    tools_by_name: HashMap<String, usize>,
    shadowed: Vec<Shadowed>,
}

/// An extension's slash command.
#[derive(Clone)]
pub struct CommandEntry {
    /// Its name, as registered.
    pub name: String,
    /// A one-line description; `""` if not given.
    pub description: String,
    /// The extension that provides it.
    pub extension: String,
    pub(crate) member: Arc<Member>,
}

/// An extension's tool.
#[derive(Clone)]
pub struct ToolEntry {
    /// The tool.
    pub tool: Arc<Tool>,
    /// The extension that provides it.
    pub extension: String,
    pub(crate) member: Arc<Member>,
}

/// A registration that is ignored because its name is taken.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Shadowed {
    /// The extension whose registration is ignored.
    pub extension: String,
    /// `command` or `tool`.
    pub kind: &'static str,
    /// The name.
    pub name: String,
    /// The extension that has the name; `None` if it is built in.
    pub by: Option<String>,
}

/// Formats a line for the log of the extension whose registration is ignored.
impl fmt::Display for Shadowed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "its {} `{}` is shadowed by ",
            self.kind, self.name
        )?;
        match &self.by {
            Some(extension) => write!(formatter, "the one from {extension}, which loads first"),
            None => write!(formatter, "the built-in one"),
        }
    }
}

/// The names of built-in commands and tools.
#[derive(Debug, Clone, Default)]
pub struct Builtins {
    /// Slash commands, without the slash.
    pub commands: Vec<String>,
    /// Tools.
    pub tools: Vec<String>,
    /// Tools that extensions can call, and replace by registering the same name.
    pub replaceable_tools: Vec<String>,
}

impl Builtins {
    pub(crate) fn has_tool(&self, name: &String) -> bool {
        self.tools.contains(name) || self.replaceable_tools.contains(name)
    }
}

impl Registry {
    /// Builds the registry from the members that are ready, in load order.
    pub(crate) fn of(members: &[&Arc<Member>], builtins: &Builtins) -> Self {
        let mut registry = Self::default();
        for member in members {
            let registered = member.connection.registered();
            for command in &registered.commands {
                let taken = registry
                    .command(&command.name)
                    .map(|entry| entry.extension.clone());
                let builtin = builtins
                    .commands
                    .iter()
                    .any(|name| name.eq_ignore_ascii_case(&command.name));
                if builtin || taken.is_some() {
                    registry.shadow(member, "command", &command.name, taken);
                    continue;
                }
                let key = command.name.to_ascii_lowercase();
                registry
                    .commands_by_name
                    .insert(key, registry.commands.len());
                registry.commands.push(CommandEntry {
                    name: command.name.clone(),
                    description: command.description.clone(),
                    extension: member.name().to_owned(),
                    member: Arc::clone(member),
                });
            }
            for tool in &registered.tools {
                let name = &tool.frame.name;
                let taken = registry.tool(name).map(|entry| entry.extension.clone());
                if builtins.tools.contains(name) || taken.is_some() {
                    registry.shadow(member, "tool", name, taken);
                    continue;
                }
                registry
                    .tools_by_name
                    .insert(name.clone(), registry.tools.len());
                registry.tools.push(ToolEntry {
                    tool: Arc::clone(tool),
                    extension: member.name().to_owned(),
                    member: Arc::clone(member),
                });
            }
        }
        registry
    }

    fn shadow(&mut self, member: &Member, kind: &'static str, name: &str, by: Option<String>) {
        self.shadowed.push(Shadowed {
            extension: member.name().to_owned(),
            kind,
            name: name.to_owned(),
            by,
        });
    }

    /// The commands of all extensions.
    pub fn commands(&self) -> &[CommandEntry] {
        &self.commands
    }

    /// The tools of all extensions.
    pub fn tools(&self) -> &[ToolEntry] {
        &self.tools
    }

    /// The registrations that are ignored because their name is taken.
    pub fn shadowed(&self) -> &[Shadowed] {
        &self.shadowed
    }

    /// Finds a command by name, ignoring case.
    pub fn command(&self, name: &str) -> Option<&CommandEntry> {
        let at = self.commands_by_name.get(&name.to_ascii_lowercase())?;
        self.commands.get(*at)
    }

    /// Finds a tool by name.
    pub fn tool(&self, name: &str) -> Option<&ToolEntry> {
        self.tools.get(*self.tools_by_name.get(name)?)
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let commands: Vec<_> = self.commands.iter().map(|entry| &entry.name).collect();
        let tools: Vec<_> = self
            .tools
            .iter()
            .map(|entry| &entry.tool.frame.name)
            .collect();
        formatter
            .debug_struct("Registry")
            .field("commands", &commands)
            .field("tools", &tools)
            .finish_non_exhaustive()
    }
}
