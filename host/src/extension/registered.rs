//! What one extension has registered so far.

use std::{collections::BTreeSet, sync::Arc};

use zot_protocol::{
    Capability, EventName, FromExtension, InterceptName, Object, RegisterTool, validate::ToolSchema,
};

/// Everything that an extension offers and wants to hear of.
#[derive(Debug, Clone, Default)]
pub struct Registered {
    /// What it has said it can do.
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
    /// What it does, in one line; `""` where nothing was said.
    pub description: String,
}

/// A tool.
#[derive(Debug)]
pub struct Tool {
    /// As it was registered, with `type: "object"` in its schema.
    pub frame: RegisterTool,
    /// Checks arguments; used where the registration says `strict`.
    pub arguments: ToolSchema,
    /// Checks structured results, where the registration says what they look like.
    pub output: Option<ToolSchema>,
}

impl Registered {
    /// Takes in a registration. `Err` is a line for the log; what it is about does not count.
    pub(crate) fn take(&mut self, frame: FromExtension) -> Result<(), String> {
        match frame {
            FromExtension::RegisterCommand(frame) => {
                let command = Command {
                    name: frame.name,
                    description: frame.description.unwrap_or_default(),
                };
                // Registered again: the newer one counts.
                match self
                    .commands
                    .iter_mut()
                    .find(|known| known.name.eq_ignore_ascii_case(&command.name))
                {
                    Some(known) => *known = command,
                    None => self.commands.push(command),
                }
                Ok(())
            }
            FromExtension::RegisterTool(frame) => self.take_tool(frame),
            FromExtension::Subscribe(frame) => {
                let unknown: Vec<String> = frame
                    .events
                    .iter()
                    .filter(|event| !event.is_known())
                    .map(ToString::to_string)
                    .chain(
                        frame
                            .intercept
                            .iter()
                            .filter(|event| !event.is_known())
                            .map(ToString::to_string),
                    )
                    .collect();
                self.events
                    .extend(frame.events.into_iter().filter(EventName::is_known));
                self.intercepts
                    .extend(frame.intercept.into_iter().filter(InterceptName::is_known));
                if unknown.is_empty() {
                    Ok(())
                } else {
                    Err(format!("subscribe: no such event: {}", unknown.join(", ")))
                }
            }
            _ => Ok(()),
        }
    }

    fn take_tool(&mut self, mut frame: RegisterTool) -> Result<(), String> {
        let refused = |field: &str, fault: &dyn std::fmt::Display| {
            format!("register_tool: {}: /{field}: {fault}", frame.name)
        };
        let arguments =
            ToolSchema::for_arguments(&frame.schema).map_err(|fault| refused("schema", &fault))?;
        let output = frame
            .output_schema
            .as_ref()
            .map(ToolSchema::compile)
            .transpose()
            .map_err(|fault| refused("output_schema", &fault))?;
        say_object(&mut frame.schema);
        let tool = Arc::new(Tool {
            frame,
            arguments,
            output,
        });
        match self
            .tools
            .iter_mut()
            .find(|known| known.frame.name == tool.frame.name)
        {
            Some(known) => *known = tool,
            None => self.tools.push(tool),
        }
        Ok(())
    }

    /// Whether it has said it can do `capability`.
    pub fn can(&self, capability: &Capability) -> bool {
        self.capabilities.contains(capability)
    }
}

/// Providers insist on the `type` that the protocol allows to be left out.
fn say_object(schema: &mut Object) {
    if schema.get("type").is_none_or(serde_json::Value::is_null) {
        schema.insert("type".into(), "object".into());
    }
}
