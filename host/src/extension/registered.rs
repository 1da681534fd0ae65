//! What one extension has registered so far.

use std::{collections::BTreeSet, sync::Arc};

use zot_protocol::{
    Capability, EventName, FromExtension, InterceptName, Object, RegisterTool, limits::Limits,
    validate::ToolSchema,
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
    bytes: usize,
}

impl Command {
    fn bytes(&self) -> usize {
        self.name.len() + self.description.len()
    }
}

fn tool_bytes(frame: &RegisterTool) -> usize {
    // Counted as it is written, without keeping that.
    let mut count = Count(0);
    serde_json::to_writer(&mut count, frame).expect("frames serialise");
    count.0
}

struct Count(usize);

impl std::io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What there is room for, in place of what is registered under the same name.
struct Room {
    another: bool,
    bytes: usize,
    most: (usize, usize),
}

impl Room {
    fn of(limits: &Limits, bytes: usize, count: usize, known: Option<usize>) -> Self {
        let used = bytes - known.unwrap_or(0);
        Self {
            another: known.is_some() || count < limits.registrations,
            bytes: limits.registration_bytes.saturating_sub(used),
            most: (limits.registrations, limits.registration_bytes),
        }
    }

    fn take(&self, bytes: usize) -> Result<(), String> {
        let (count, all) = self.most;
        if !self.another {
            return Err(format!("there are {count} already, and may be no more"));
        }
        if bytes > self.bytes {
            return Err(format!(
                "all that it registers would be larger than {all} bytes"
            ));
        }
        Ok(())
    }
}

/// The beginning of a name that may be of any length.
fn shown(name: &str) -> String {
    name.chars().take(80).collect()
}

impl Registered {
    /// Takes in a registration. `Err` is a line for the log; what it is about does not count.
    pub(crate) fn take(&mut self, frame: FromExtension, limits: &Limits) -> Result<(), String> {
        match frame {
            FromExtension::RegisterCommand(frame) => self.take_command(
                Command {
                    name: frame.name,
                    description: frame.description.unwrap_or_default(),
                },
                limits,
            ),
            FromExtension::RegisterTool(frame) => self.take_tool(frame, limits),
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

    fn take_command(&mut self, command: Command, limits: &Limits) -> Result<(), String> {
        let same = |known: &Command| known.name.eq_ignore_ascii_case(&command.name);
        let known = self.commands.iter().position(same);
        let room = Room::of(
            limits,
            self.bytes(),
            self.commands.len(),
            known.map(|at| self.commands[at].bytes()),
        );
        room.take(command.bytes())
            .map_err(|full| format!("register_command: {}: {full}", shown(&command.name)))?;
        // Registered again: the newer one counts.
        match known {
            Some(known) => self.commands[known] = command,
            None => self.commands.push(command),
        }
        Ok(())
    }

    fn take_tool(&mut self, mut frame: RegisterTool, limits: &Limits) -> Result<(), String> {
        let same = |known: &Arc<Tool>| known.frame.name == frame.name;
        let known = self.tools.iter().position(same);
        let bytes = tool_bytes(&frame);
        let room = Room::of(
            limits,
            self.bytes(),
            self.tools.len(),
            known.map(|at| self.tools[at].bytes),
        );
        room.take(bytes)
            .map_err(|full| format!("register_tool: {}: {full}", frame.name))?;
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
            bytes,
        });
        match known {
            Some(known) => self.tools[known] = tool,
            None => self.tools.push(tool),
        }
        Ok(())
    }

    /// How large all of it is.
    fn bytes(&self) -> usize {
        let commands = self.commands.iter().map(Command::bytes);
        commands
            .chain(self.tools.iter().map(|tool| tool.bytes))
            .sum()
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
