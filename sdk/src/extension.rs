//! The builder for extensions, and `run`.

use std::{fmt, marker::PhantomData, process::ExitCode, sync::Arc};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use zot_protocol::{
    AssistantMessageIntercept, BeforeAgentStart, HelloAck, Intercept, InterceptName, Object,
    PanelId, RegisterTool, ToolCallIntercept, ToolResultIntercept, TurnStartIntercept,
    UserMessageIntercept,
};

use crate::{
    answer::{Answer, Handled},
    context::{Context, ToolContext},
    decision::Decision,
    event::EventKind,
    offers::{Offers, PanelEvent, non_empty},
    output::ToolOutput,
    reply::Reply,
    runtime::Runtime,
    stdio,
    tool::{ToolOptions, arguments, schema_of},
};

/// The stage of an extension before [`run`](Extension::run).
#[derive(Debug)]
pub enum BeforeRun {}

/// The stage of an extension in [`on_hello`](Extension::on_hello): it can only add registrations.
#[derive(Debug)]
pub enum OnHello {}

type OnHelloHandler = Box<dyn FnOnce(&HelloAck, Extension<OnHello>) -> Extension<OnHello> + Send>;

/// An extension: its name, what it registers, and the handlers.
///
/// Handlers are plain or async closures that receive the request and a [`Context`]. Each request
/// has its own thread, so a handler can block, and a guard can answer while a tool is running.
/// Events are handled one at a time, in order, and so are the keys of a panel. Every request gets
/// exactly one reply: a panic or an `Err` becomes an error result, or a block from a guard.
///
/// Registering an invalid or duplicate name panics.
///
/// [`run`](Extension::run) consumes the extension, so that nothing can be registered too late:
///
/// ```compile_fail,E0382
/// # use zot_sdk::Extension;
/// let extension = Extension::new("x", "1");
/// extension.run();
/// extension.command("late", "too late", |_, _| ());
/// ```
pub struct Extension<Stage = BeforeRun> {
    name: String,
    version: String,
    pub(crate) offers: Offers,
    on_hello: Option<OnHelloHandler>,
    stage: PhantomData<Stage>,
}

impl Extension {
    /// Creates an extension. The name should match the one in its `extension.json`.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self::with(name.into(), version.into(), Offers::default())
    }

    /// Adds registrations that depend on the host. The handler is called once, before the first
    /// request.
    ///
    /// ```
    /// use zot_sdk::{Extension, Reply};
    ///
    /// let extension = Extension::new("picky", "1.0.0").on_hello(|host, extension| {
    ///     if host.model.contains("opus") {
    ///         extension.command("think", "for large models only", |_, _| Reply::prompt("Think hard."))
    ///     } else {
    ///         extension
    ///     }
    /// });
    /// # let host = zot_sdk::testing::TestHost::start_with(extension, |ack| ack.model = "opus".into());
    /// # assert_eq!(host.command("think", "").prompt.unwrap(), "Think hard.");
    /// ```
    ///
    /// The handler cannot run the extension that it receives:
    ///
    /// ```compile_fail,E0599
    /// # use zot_sdk::Extension;
    /// Extension::new("x", "1").on_hello(|_, extension| { extension.run(); todo!() });
    /// ```
    #[must_use]
    pub fn on_hello(
        mut self,
        handler: impl FnOnce(&HelloAck, Extension<OnHello>) -> Extension<OnHello> + Send + 'static,
    ) -> Self {
        self.on_hello = Some(match self.on_hello.take() {
            None => Box::new(handler),
            Some(earlier) => Box::new(|host, extension| handler(host, earlier(host, extension))),
        });
        self
    }

    /// Runs the extension until the host sends `shutdown` or closes its stdin. Running handlers
    /// then have a second to finish. Tools can check [`ToolContext::is_cancelled`]. A request that
    /// is still pending after that is answered with an error. Return the exit code from `main`.
    ///
    /// stdout is reserved for the protocol. On Unix, `run` redirects the process's stdout to its
    /// stderr, which the host writes to the extension's log, and replaces its stdin with an empty
    /// one. As a result, `println!` in a handler, a C library that prints, or a child process
    /// cannot break the connection. Anything printed *before* `run` does reach the host, which
    /// skips lines that are not JSON and logs them. To print before `run`, use `eprintln!`.
    ///
    /// ```no_run
    /// use std::process::ExitCode;
    /// use zot_sdk::{Extension, Reply};
    ///
    /// fn main() -> ExitCode {
    ///     Extension::new("hello", "1.0.0")
    ///         .command("hello", "greets you", |name, _| Reply::display(format!("Hello {name}")))
    ///         .run()
    /// }
    /// ```
    pub fn run(self) -> ExitCode {
        match stdio::take() {
            Ok(stdio) => {
                self.start(stdio.output).run(stdio.input);
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprintln!("stdin and stdout must be connected to a host: {error}");
                ExitCode::FAILURE
            }
        }
    }

    pub(crate) fn start(self, output: impl std::io::Write + Send + 'static) -> Runtime {
        let (name, version) = (self.name.clone(), self.version.clone());
        let on_hello = self.on_hello.map(|handler| {
            let on_hello_ack = move |host: &HelloAck, offers: Offers| {
                handler(host, Extension::with(name, version, offers)).offers
            };
            Box::new(on_hello_ack) as crate::runtime::OnHelloAck
        });
        Runtime::start(&self.name, &self.version, self.offers, on_hello, output)
    }
}

impl<Stage> Extension<Stage> {
    fn with(name: String, version: String, offers: Offers) -> Self {
        Self {
            name,
            version,
            offers,
            on_hello: None,
            stage: PhantomData,
        }
    }

    /// Registers the slash command `/name`. The handler receives the text that the user typed after
    /// the name.
    #[must_use]
    #[track_caller]
    pub fn command<R, W>(
        mut self,
        name: &str,
        description: &str,
        handler: impl Fn(String, Context) -> R + Send + Sync + 'static,
    ) -> Self
    where
        R: Answer<Reply, W>,
    {
        let handler = Arc::new(move |args, context| handler(args, context).resolve());
        self.offers.command(name, description, handler);
        self
    }

    /// Registers a tool for the model. Its schema is generated from the argument type, with the
    /// fields' doc comments as descriptions. Invalid arguments become an error result that names
    /// the field, and the handler is not called.
    ///
    /// ```
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    /// use zot_sdk::{Extension, ToolOutput};
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct City {
    ///     /// The city, in English.
    ///     city: String,
    /// }
    ///
    /// let extension = Extension::new("weather", "1.0.0")
    ///     .tool("weather", "The weather in a city.", |args: City, _| format!("{}: fog", args.city));
    /// # let host = zot_sdk::testing::TestHost::start(extension);
    /// # assert_eq!(host.tool("weather", r#"{"city": "Berlin"}"#).text(), "Berlin: fog");
    /// # assert_eq!(host.tools()[0].schema["properties"]["city"]["description"], "The city, in English.");
    /// # let wrong = host.tool("weather", r#"{"city": 7}"#);
    /// # assert!(wrong.is_error && wrong.text().contains("`city`: invalid type: integer `7`"), "{wrong:?}");
    /// ```
    ///
    /// The argument type must have a schema:
    ///
    /// ```compile_fail,E0277
    /// # use zot_sdk::Extension;
    /// #[derive(serde::Deserialize)]
    /// struct Secret {}
    /// Extension::new("x", "1").tool("x", "", |_: Secret, _| "");
    /// ```
    #[must_use]
    #[track_caller]
    pub fn tool<A, R, W>(
        self,
        name: impl Into<ToolOptions>,
        description: &str,
        handler: impl Fn(A, ToolContext) -> R + Send + Sync + 'static,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema,
        R: Answer<ToolOutput, W>,
    {
        let typed = move |args, context| match arguments(args) {
            Ok(args) => handler(args, context).resolve(),
            Err(mismatch) => ToolOutput::error(mismatch),
        };
        self.raw_tool(name, description, schema_of::<A>(), typed)
    }

    /// Registers a tool with the given schema. The handler receives the arguments as JSON.
    ///
    /// ```
    /// use zot_sdk::{Extension, serde_json::json};
    ///
    /// let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    /// let extension = Extension::new("raw", "1.0.0").raw_tool(
    ///     "count",
    ///     "Counts its arguments.",
    ///     schema.as_object().cloned().unwrap_or_default(),
    ///     |args, _| args.len().to_string(),
    /// );
    /// # let host = zot_sdk::testing::TestHost::start(extension);
    /// # assert_eq!(host.tool("count", r#"{"n": 1, "m": 2}"#).text(), "2");
    /// ```
    #[must_use]
    #[track_caller]
    pub fn raw_tool<R, W>(
        mut self,
        name: impl Into<ToolOptions>,
        description: &str,
        schema: Object,
        handler: impl Fn(Object, ToolContext) -> R + Send + Sync + 'static,
    ) -> Self
    where
        R: Answer<ToolOutput, W>,
    {
        let options = name.into();
        let mut frame = RegisterTool::new(options.name, schema);
        frame.description = non_empty(description);
        frame.output_schema = options.output_schema;
        frame.interactive = options.interactive;
        frame.strict = options.strict;
        let handler = Arc::new(move |args, context| handler(args, context).resolve());
        self.offers.tool(frame, handler);
        self
    }

    /// Subscribes to one of the events in [`event`](crate::event). Events are handled one at a
    /// time. A slow handler delays the next event, but not guards or tools.
    #[must_use]
    pub fn on<P: 'static, R, W>(
        mut self,
        event: EventKind<P>,
        handler: impl Fn(P, Context) -> R + Send + Sync + 'static,
    ) -> Self
    where
        R: Answer<Handled, W>,
    {
        let take = event.take;
        let handler = Arc::new(move |event, context| match take(event) {
            Some(payload) => handler(payload, context).resolve(),
            None => Handled(Ok(())),
        });
        self.offers.event(event.name, handler);
        self
    }

    /// Handles the events of the panel with this id, in order: keys, text, resizing, closing.
    ///
    /// ```
    /// use std::sync::Mutex;
    /// use zot_sdk::{Extension, Key, Panel, PanelEvent, Reply};
    ///
    /// let typed = Mutex::new(String::new());
    /// let extension = Extension::new("echo", "1.0.0")
    ///     .command("echo", "opens the panel", |_, _| Reply::open_panel(Panel::new("echo")))
    ///     .panel("echo", move |event, ctx| {
    ///         let mut typed = typed.lock().unwrap();
    ///         match event {
    ///             PanelEvent::Text(text) => typed.push_str(&text),
    ///             PanelEvent::Key(Key::Backspace) => drop(typed.pop()),
    ///             PanelEvent::Resize { .. } | PanelEvent::Closed => return,
    ///             _ => {}
    ///         }
    ///         let mut panel = Panel::new("echo");
    ///         panel.lines = vec![typed.clone()];
    ///         ctx.render(&panel);
    ///     });
    /// # let host = zot_sdk::testing::TestHost::start(extension);
    /// # host.command("echo", "");
    /// # host.resize("echo", 80, 10);
    /// # host.text("echo", "hi!");
    /// # host.key("echo", Key::Backspace);
    /// # let drawn = host.wait_for(|frame| match frame {
    /// #     zot_sdk::FromExtension::PanelRender(render) if render.lines.as_ref()?[0] == "hi" => Some(()),
    /// #     _ => None,
    /// # });
    /// # host.close_panel("echo");
    /// ```
    #[must_use]
    #[track_caller]
    pub fn panel<R, W>(
        mut self,
        id: impl Into<PanelId>,
        handler: impl Fn(PanelEvent, Context) -> R + Send + Sync + 'static,
    ) -> Self
    where
        R: Answer<Handled, W>,
    {
        let handler = Arc::new(move |event, context| handler(event, context).resolve());
        self.offers.panel(id.into(), handler);
        self
    }
}

/// Defines one method per event that can be intercepted.
macro_rules! intercepts {
    ($( $(#[$doc:meta])* $method:ident($Payload:ident) of $Variant:ident; )*) => {
        /// Interceptors, which are called before an event happens. An extension can have at most
        /// one interceptor for each event. It must answer within 5 s.
        impl<Stage> Extension<Stage> {
            $(
                $(#[$doc])*
                #[must_use]
                #[track_caller]
                pub fn $method<R, W>(
                    mut self,
                    handler: impl Fn($Payload, Context) -> R + Send + Sync + 'static,
                ) -> Self
                where
                    R: Answer<Decision<$Payload>, W>,
                {
                    let handler = Arc::new(move |id, event, context| match event {
                        Intercept::$Variant(payload) => {
                            Some(handler(payload, context).resolve().frame(id))
                        }
                        _ => None,
                    });
                    self.offers.intercept(InterceptName::$Variant, handler);
                    self
                }
            )*
        }
    };
}

intercepts! {
    /// Called before a tool runs. If the call is blocked, the model receives the reason. A rewrite
    /// changes the arguments that the tool receives.
    intercept_tool_call(ToolCallIntercept) of ToolCall;
    /// Called before the model is called. If the call is blocked, the user sees the reason.
    intercept_turn_start(TurnStartIntercept) of TurnStart;
    /// Called before the user sees the model's message. The user sees the rewrite, or the reason if
    /// the message is blocked. The model keeps the original.
    intercept_assistant_message(AssistantMessageIntercept) of AssistantMessage;
    /// Called before a user's message is sent to the model. If the message is blocked, the user
    /// sees the reason. The model receives the rewrite.
    intercept_user_message(UserMessageIntercept) of UserMessage;
    /// Called before the model sees a tool's result. A rewrite replaces the result for the model,
    /// the user and the transcript.
    intercept_tool_result(ToolResultIntercept) of ToolResult;
    /// Called before a session starts. Can rewrite its system prompt.
    ///
    /// ```
    /// use zot_sdk::{Decision, Extension};
    ///
    /// let extension = Extension::new("all", "1.0.0")
    ///     .intercept_turn_start(|turn, _| match turn.step {
    ///         0..20 => Decision::allow(),
    ///         _ => Decision::block("twenty steps are enough"),
    ///     })
    ///     .intercept_assistant_message(|message, _| Decision::rewrite(message.text.replace("sk-1", "…")))
    ///     .intercept_user_message(async |message, _| match message.text.as_str() {
    ///         "quit" => Decision::block("type /quit"),
    ///         _ => Decision::allow(),
    ///     })
    ///     .intercept_tool_result(|result, _| Decision::rewrite(result.content))
    ///     .intercept_before_agent_start(|start, _| {
    ///         Decision::rewrite(format!("{} Answer in French.", start.system_prompt))
    ///     });
    /// # use zot_sdk::*;
    /// # let host = testing::TestHost::start(extension);
    /// # assert!(host.intercept(TurnStartIntercept::new(20)).block);
    /// # assert_eq!(host.intercept(AssistantMessageIntercept::new("sk-1")).replace_text.unwrap(), "…");
    /// # assert_eq!(host.intercept(UserMessageIntercept::new("quit")).reason.unwrap(), "type /quit");
    /// # let result = ToolResultIntercept::new("t", "read", Object::new(), vec![], false);
    /// # assert_eq!(host.intercept(result).replace_content, Some(vec![]));
    /// # let start = BeforeAgentStart::new("Hi.", "", "");
    /// # assert_eq!(host.intercept(start).system_prompt.unwrap(), "Hi. Answer in French.");
    /// ```
    intercept_before_agent_start(BeforeAgentStart) of BeforeAgentStart;
}

impl<Stage> fmt::Debug for Extension<Stage> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Extension")
            .field("name", &self.name)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}
