//! What an extension registers.

use std::time::Duration;

use serde_json::Value;
use zot_protocol::{
    EventName, FromExtension, InterceptName, Object, RegisterTool,
    validate::{SchemaError, ToolSchema},
};

use crate::{
    arguments::{Arguments, Unsatisfied},
    session::ReceivedLine,
};

/// Everything that an extension registered before `ready`.
#[derive(Debug, Default)]
pub(crate) struct Surface {
    /// The name in its `hello`.
    pub name: String,
    /// The capabilities in its `hello`.
    pub capabilities: Vec<String>,
    /// Its commands, in registration order.
    pub commands: Vec<String>,
    /// Its tools.
    pub tools: Vec<Tool>,
    /// The events it subscribes to.
    pub events: Vec<String>,
    /// The events it intercepts.
    pub intercepts: Vec<String>,
    /// Whether it sends `ready`.
    pub says_ready: bool,
    /// The time from process start to `ready`.
    pub ready_after: Duration,
    /// The number of lines after `hello`, up to `ready`.
    pub registrations: usize,
}

/// A registered tool.
#[derive(Debug)]
pub(crate) struct Tool {
    /// Its name.
    pub name: String,
    /// Whether it waits for the user. If so, the harness cannot call it.
    pub interactive: bool,
    /// Whether the host validates the arguments.
    pub strict: bool,
    /// The generator of its arguments, or why the schema is invalid.
    pub arguments: Result<Arguments, SchemaError>,
    /// The schema of its structured content.
    pub output: Option<Result<ToolSchema, SchemaError>>,
}

impl Tool {
    fn new(registered: &RegisterTool) -> Self {
        Self {
            name: registered.name.clone(),
            interactive: registered.interactive,
            strict: registered.strict,
            arguments: Arguments::of(&registered.schema),
            output: registered.output_schema.as_ref().map(ToolSchema::compile),
        }
    }

    /// The argument generator, if the schema allows any arguments.
    pub(crate) fn arguments_of(&self) -> Option<&Arguments> {
        let arguments = self.arguments.as_ref().ok()?;
        arguments.minimal().is_ok().then_some(arguments)
    }

    /// The smallest valid arguments.
    pub(crate) fn minimal(&self) -> Result<Object, Unreachable> {
        match &self.arguments {
            Ok(arguments) => arguments.minimal().map_err(Unreachable::Unsatisfied),
            Err(fault) => Err(Unreachable::Schema(fault.clone())),
        }
    }
}

/// Why a tool cannot be called.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreachable {
    /// The schema is invalid.
    #[error("{0}")]
    Schema(SchemaError),
    /// No arguments were found that match the schema.
    #[error("{0}")]
    Unsatisfied(Unsatisfied),
}

impl Surface {
    /// Adds a line sent before `ready`.
    pub(crate) fn take_in(&mut self, received: &ReceivedLine) {
        let Ok(frame) = &received.frame else {
            self.take_in_refused(received);
            return;
        };
        match frame {
            FromExtension::Hello(hello) => {
                self.name.clone_from(&hello.name);
                self.capabilities = hello
                    .capabilities
                    .iter()
                    .map(|it| it.as_str().to_owned())
                    .collect();
                return;
            }
            FromExtension::RegisterCommand(it) => self.commands.push(it.name.clone()),
            FromExtension::RegisterTool(it) => self.tools.push(Tool::new(it)),
            FromExtension::Subscribe(it) => {
                union(&mut self.events, it.events.iter().map(EventName::as_str));
                union(
                    &mut self.intercepts,
                    it.intercept.iter().map(InterceptName::as_str),
                );
            }
            FromExtension::Ready(_) => self.says_ready = true,
            _ => {}
        }
        self.registrations += 1;
    }

    /// Counts an invalid line, or reads as much as possible from an invalid `hello`, so that each
    /// mistake is reported only once.
    fn take_in_refused(&mut self, received: &ReceivedLine) {
        if !received.is("hello") {
            self.registrations += 1;
            return;
        }
        text(&received.value, "name").clone_into(&mut self.name);
        let capabilities = received.value.get("capabilities").and_then(Value::as_array);
        let names = capabilities.into_iter().flatten().filter_map(Value::as_str);
        self.capabilities = names.map(str::to_owned).collect();
    }

    /// The intercepted events that this version knows.
    pub(crate) fn known_intercepts(&self) -> impl Iterator<Item = &str> {
        let known = |name: &&String| InterceptName::from(name.as_str()).is_known();
        self.intercepts.iter().filter(known).map(String::as_str)
    }

    /// The subscribed events that this version knows.
    pub(crate) fn known_events(&self) -> impl Iterator<Item = &str> {
        let known = |name: &&String| EventName::from(name.as_str()).is_known();
        self.events.iter().filter(known).map(String::as_str)
    }

    /// The tools that can be called without a user.
    pub(crate) fn callable(&self) -> impl Iterator<Item = &Tool> {
        self.tools.iter().filter(|tool| !tool.interactive)
    }

    /// A sorted list of the registrations, for comparing two starts.
    pub(crate) fn summary(&self) -> Vec<String> {
        let tools = self.tools.iter().map(|it| it.name.clone()).collect();
        let mut all = Vec::new();
        for (what, names) in [
            ("command", &self.commands),
            ("tool", &tools),
            ("event", &self.events),
            ("intercept", &self.intercepts),
        ] {
            all.extend(names.iter().map(|name| format!("{what} `{name}`")));
        }
        all.sort();
        all
    }
}

fn union<'a>(all: &mut Vec<String>, more: impl Iterator<Item = &'a str>) {
    for name in more {
        if !all.iter().any(|it| it == name) {
            all.push(name.to_owned());
        }
    }
}

/// The string at this key, or an empty string.
pub(crate) fn text<'v>(frame: &'v Value, key: &str) -> &'v str {
    frame.get(key).and_then(Value::as_str).unwrap_or_default()
}
