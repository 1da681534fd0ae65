//! An extension's registrations and their handlers.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use zot_protocol::{
    Capability, Event, EventInterceptResponse, EventName, FromExtension, Id, Intercept,
    InterceptName, Key, Object, PanelId, RegisterCommand, RegisterTool, Subscribe,
};

use crate::{
    answer::Handled,
    context::{Context, ToolContext},
    output::ToolOutput,
    reply::Reply,
};

pub(crate) type CommandHandler = Arc<dyn Fn(String, Context) -> Reply + Send + Sync>;
pub(crate) type ToolHandler = Arc<dyn Fn(Object, ToolContext) -> ToolOutput + Send + Sync>;
pub(crate) type EventHandler = Arc<dyn Fn(Event, Context) -> Handled + Send + Sync>;
pub(crate) type PanelHandler = Arc<dyn Fn(PanelEvent, Context) -> Handled + Send + Sync>;
/// A handler for one kind of event. It returns `None` for any other kind, which the runtime never
/// passes to it.
pub(crate) type InterceptHandler =
    Arc<dyn Fn(Id, Intercept, Context) -> Option<EventInterceptResponse> + Send + Sync>;

/// An event in a panel.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PanelEvent {
    /// A key was pressed.
    Key(Key),
    /// Text was typed or pasted.
    Text(String),
    /// The size of the panel. Sent once after the panel opens, and again after each change.
    Resize {
        /// The number of columns in the body.
        width: u32,
        /// The number of visible lines in the body.
        height: u32,
    },
    /// The user closed the panel.
    Closed,
}

/// Everything registered so far.
#[derive(Default)]
pub(crate) struct Offers {
    frames: Vec<FromExtension>,
    pub(crate) commands: HashMap<String, CommandHandler>,
    pub(crate) tools: HashMap<String, ToolHandler>,
    pub(crate) events: BTreeMap<EventName, Vec<EventHandler>>,
    pub(crate) intercepts: BTreeMap<InterceptName, InterceptHandler>,
    pub(crate) panels: HashMap<PanelId, PanelHandler>,
}

impl Offers {
    #[track_caller]
    pub(crate) fn command(&mut self, name: &str, description: &str, handler: CommandHandler) {
        assert!(
            !name.is_empty() && !name.starts_with('/') && !name.contains(char::is_whitespace),
            "invalid command name `{name}`: it must not be empty, start with `/` or contain whitespace"
        );
        // The host compares names case-insensitively.
        let old = self.commands.insert(name.to_lowercase(), handler);
        assert!(old.is_none(), "the command `{name}` is registered twice");
        let mut frame = RegisterCommand::new(name);
        frame.description = non_empty(description);
        self.frames.push(frame.into());
    }

    #[track_caller]
    pub(crate) fn tool(&mut self, frame: RegisterTool, handler: ToolHandler) {
        let name = &frame.name;
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        assert!(
            (1..=64).contains(&name.len()) && name.bytes().all(fits),
            "invalid tool name `{name}`: use 1 to 64 letters, digits, `_` and `-`"
        );
        let kind = frame.schema.get("type");
        assert!(
            kind.is_none_or(|kind| kind == "object"),
            "the arguments of `{name}` must be an object, not {}",
            kind.map(ToString::to_string).unwrap_or_default()
        );
        let old = self.tools.insert(name.clone(), handler);
        assert!(old.is_none(), "the tool `{name}` is registered twice");
        self.frames.push(frame.into());
    }

    pub(crate) fn event(&mut self, name: EventName, handler: EventHandler) {
        let frame = Subscribe::new([name.clone()], []);
        let handlers = self.events.entry(name).or_default();
        if handlers.is_empty() {
            self.frames.push(frame.into());
        }
        handlers.push(handler);
    }

    #[track_caller]
    pub(crate) fn intercept(&mut self, name: InterceptName, handler: InterceptHandler) {
        self.frames.push(Subscribe::new([], [name.clone()]).into());
        let message = format!("`{name}` is intercepted twice");
        let old = self.intercepts.insert(name, handler);
        assert!(old.is_none(), "{message}");
    }

    #[track_caller]
    pub(crate) fn panel(&mut self, id: PanelId, handler: PanelHandler) {
        let message = format!("the panel `{id}` has two handlers");
        let old = self.panels.insert(id, handler);
        assert!(old.is_none(), "{message}");
    }

    /// Returns the frames for everything registered since the last call.
    pub(crate) fn take_frames(&mut self) -> Vec<FromExtension> {
        std::mem::take(&mut self.frames)
    }

    /// Returns the capabilities for `hello`.
    pub(crate) fn capabilities(&self) -> Vec<Capability> {
        let offered = [
            (Capability::Commands, !self.commands.is_empty()),
            (Capability::Tools, !self.tools.is_empty()),
            (
                Capability::Events,
                !self.events.is_empty() || !self.intercepts.is_empty(),
            ),
            (Capability::Panels, !self.panels.is_empty()),
            (Capability::ToolCancel, true),
            (Capability::CallTool, true),
            (Capability::Errors, true),
        ];
        let offered = offered.into_iter().filter(|(_, is_so)| *is_so);
        offered.map(|(capability, _)| capability).collect()
    }
}

/// Returns `None` for an empty description.
pub(crate) fn non_empty(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use crate::{Decision, Extension, NoArgs};

    fn empty() -> Extension {
        Extension::new("x", "1")
    }

    #[test]
    #[should_panic(expected = "invalid command name `/go`")]
    fn a_command_name_must_not_start_with_a_slash() {
        let _ = empty().command("/go", "", |_, _| ());
    }

    #[test]
    #[should_panic(expected = "the command `Go` is registered twice")]
    fn duplicate_commands_are_rejected_case_insensitively() {
        let _ = empty()
            .command("go", "", |_, _| ())
            .command("Go", "", |_, _| ());
    }

    #[test]
    #[should_panic(expected = "invalid tool name `a tool`")]
    fn a_tool_name_must_be_accepted_by_providers() {
        let _ = empty().tool("a tool", "", |_: NoArgs, _| "");
    }

    #[test]
    #[should_panic(expected = "the tool `go` is registered twice")]
    fn duplicate_tools_are_rejected() {
        let twice = empty().tool("go", "", |_: NoArgs, _| "");
        let _ = twice.tool("go", "", |_: NoArgs, _| "");
    }

    #[test]
    #[should_panic(expected = "the arguments of `go` must be an object, not \"string\"")]
    fn tool_arguments_must_be_an_object() {
        let _ = empty().tool("go", "", |_: String, _| "");
    }

    #[test]
    #[should_panic(expected = "`tool_call` is intercepted twice")]
    fn an_event_has_at_most_one_interceptor() {
        let guarded = empty().intercept_tool_call(|_, _| Decision::allow());
        let _ = guarded.intercept_tool_call(|_, _| Decision::allow());
    }

    #[test]
    #[should_panic(expected = "the panel `p` has two handlers")]
    fn a_panel_has_at_most_one_handler() {
        let _ = empty().panel("p", |_, _| ()).panel("p", |_, _| ());
    }
}
