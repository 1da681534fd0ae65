//! The registrations of one extension.

mod quota;

use std::{collections::BTreeSet, fmt, sync::Arc};

use zot_protocol::{
    Capability, EventName, FromExtension, InterceptName, Object, RegisterCommand, RegisterTool,
    Subscribe, limits::Limits, validate::ToolSchema,
};

use quota::{Size, check_quota, command_size, tool_size};

/// The commands, tools and subscriptions of an extension.
#[derive(Debug, Clone, Default)]
pub struct Registered {
    /// The capabilities it listed in `hello`.
    pub capabilities: BTreeSet<Capability>,
    /// Its slash commands, in the order of registration.
    pub commands: Vec<Command>,
    /// Its tools, in the order of registration.
    pub tools: Vec<Arc<Tool>>,
    /// The events it observes.
    pub events: BTreeSet<EventName>,
    /// The events it intercepts.
    pub intercepts: BTreeSet<InterceptName>,
}

/// A slash command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Its name, without the slash.
    pub name: String,
    /// A one-line description; `""` if not given.
    pub description: String,
}

/// A tool.
#[derive(Debug)]
pub struct Tool {
    /// The registration, with `type: "object"` added to its schema if missing.
    pub frame: RegisterTool,
    /// Validates arguments, if the registration sets `strict`.
    pub arguments: ToolSchema,
    /// Validates structured results, if the registration has an output schema.
    pub output: Option<ToolSchema>,
    size: Size,
}

/// The effect of a registration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RegisterEffect {
    /// It changed something.
    Changed,
    /// It repeats an existing registration.
    Unchanged,
    /// Part of it is ignored, for this reason.
    Partial(String),
}

/// Why a registration was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub(crate) struct RegistrationError {
    what: String,
    /// The invalid field, as a JSON pointer.
    pub(crate) pointer: Option<String>,
}

impl RegistrationError {
    fn whole(what: String) -> Self {
        Self {
            what,
            pointer: None,
        }
    }

    fn at(pointer: &str, name: &str, fault: &impl fmt::Display) -> Self {
        Self {
            what: format!("{name}: {pointer}: {fault}"),
            pointer: Some(pointer.to_owned()),
        }
    }
}

impl Registered {
    /// Adds a registration.
    pub(crate) fn register(
        &mut self,
        frame: FromExtension,
        limits: &Limits,
    ) -> Result<RegisterEffect, RegistrationError> {
        match frame {
            FromExtension::RegisterCommand(frame) => self.register_command(frame, limits),
            FromExtension::RegisterTool(frame) => self.register_tool(frame, limits),
            FromExtension::Subscribe(frame) => Ok(self.subscribe(frame)),
            _ => Ok(RegisterEffect::Unchanged),
        }
    }

    fn subscribe(&mut self, frame: Subscribe) -> RegisterEffect {
        let before = self.events.len() + self.intercepts.len();
        let mut unknown = Vec::new();
        for event in frame.events {
            if event.is_known() {
                self.events.insert(event);
            } else {
                unknown.push(event.to_string());
            }
        }
        for event in frame.intercept {
            if event.is_known() {
                self.intercepts.insert(event);
            } else {
                unknown.push(event.to_string());
            }
        }
        if !unknown.is_empty() {
            // The list and each name can be arbitrarily long, so limit both.
            let names = unknown.iter().take(10);
            let names: Vec<String> = names
                .map(|name| name.escape_debug().take(80).collect())
                .collect();
            return RegisterEffect::Partial(format!("no such event: {}", names.join(", ")));
        }
        if self.events.len() + self.intercepts.len() > before {
            RegisterEffect::Changed
        } else {
            RegisterEffect::Unchanged
        }
    }

    fn register_command(
        &mut self,
        frame: RegisterCommand,
        limits: &Limits,
    ) -> Result<RegisterEffect, RegistrationError> {
        let command = Command {
            name: frame.name,
            description: frame.description.unwrap_or_default(),
        };
        let same = |known: &Command| known.name.eq_ignore_ascii_case(&command.name);
        let known = self.commands.iter().position(same);
        let replaced = known.map(|at| command_size(&self.commands[at]));
        let (count, size) = (self.commands.len(), command_size(&command));
        check_quota(self, count, replaced, size, limits).map_err(|full| {
            let name: String = command.name.chars().take(80).collect();
            RegistrationError::whole(format!("{name}: {full}"))
        })?;
        // A repeated name replaces the earlier registration.
        match known {
            Some(at) if self.commands[at] == command => return Ok(RegisterEffect::Unchanged),
            Some(at) => self.commands[at] = command,
            None => self.commands.push(command),
        }
        Ok(RegisterEffect::Changed)
    }

    fn register_tool(
        &mut self,
        mut frame: RegisterTool,
        limits: &Limits,
    ) -> Result<RegisterEffect, RegistrationError> {
        let name = frame.name.clone();
        add_object_type(&mut frame.schema);
        let known = self.tools.iter().position(|it| it.frame.name == name);
        if known.is_some_and(|at| self.tools[at].frame == frame) {
            return Ok(RegisterEffect::Unchanged);
        }
        let size = tool_size(&frame);
        let replaced = known.map(|at| self.tools[at].size);
        check_quota(self, self.tools.len(), replaced, size, limits)
            .map_err(|full| RegistrationError::whole(format!("{name}: {full}")))?;
        let arguments = ToolSchema::for_arguments(&frame.schema)
            .map_err(|fault| RegistrationError::at("/schema", &name, &fault))?;
        let output = frame.output_schema.as_ref().map(ToolSchema::compile);
        let output = output
            .transpose()
            .map_err(|fault| RegistrationError::at("/output_schema", &name, &fault))?;
        let tool = Arc::new(Tool {
            frame,
            arguments,
            output,
            size,
        });
        match known {
            Some(at) => self.tools[at] = tool,
            None => self.tools.push(tool),
        }
        Ok(RegisterEffect::Changed)
    }

    /// Reports whether the extension listed this capability in `hello`.
    pub fn can(&self, capability: &Capability) -> bool {
        self.capabilities.contains(capability)
    }
}

/// Adds `type: "object"`, which providers require but the protocol makes optional.
fn add_object_type(schema: &mut Object) {
    if schema.get("type").is_none_or(serde_json::Value::is_null) {
        schema.insert("type".into(), "object".into());
    }
}
