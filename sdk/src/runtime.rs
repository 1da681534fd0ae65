//! A running extension: reads frames from the host and dispatches them to the handlers.

use std::{
    any::Any,
    collections::HashMap,
    io::{BufRead, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, OnceLock, mpsc},
    thread,
    time::Duration,
};

use serde_json::Value;
use zot_protocol::{
    CommandInvoked, Event, EventIntercept, EventInterceptResponse, EventName, FromHost, Hello,
    HelloAck, Id, InterceptName, Key, PanelId, Ready, ShutdownAck, Tagged, ToolCall,
};

use crate::{
    answer::Handled,
    call::Calls,
    context::{Context, Shared, ToolContext},
    lane::Lane,
    offers::{Offers, PanelEvent},
    request::{Request, RequestKind, Requests},
    wire::Wire,
};

/// Time for running handlers to finish at shutdown. Together with [`FLUSH_TIMEOUT`], this is less
/// than the 2 s that the host allows.
const GRACE: Duration = Duration::from_secs(1);
/// Time for the host to read the last frames.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(500);

/// Adds registrations after `hello_ack`.
pub(crate) type OnHelloAck = Box<dyn FnOnce(&HelloAck, Offers) -> Offers + Send>;

/// An extension that has sent `hello`.
pub(crate) struct Runtime {
    shared: Arc<Shared>,
    offers: Offers,
    on_hello_ack: Option<OnHelloAck>,
    events: Lane,
    panels: HashMap<PanelId, Lane>,
}

impl Runtime {
    /// Sends `hello` and all registrations that do not depend on the host, in one write.
    pub(crate) fn start(
        name: &str,
        version: &str,
        mut offers: Offers,
        on_hello_ack: Option<OnHelloAck>,
        output: impl Write + Send + 'static,
    ) -> Self {
        let requests = Arc::new(Requests::default());
        let shared = Arc::new(Shared {
            wire: Arc::new(Wire::new(output)),
            requests: Arc::clone(&requests),
            calls: Calls::default(),
            host: OnceLock::new(),
        });
        let mut hello = Hello::new(name);
        hello.version = crate::offers::non_empty(version);
        hello.capabilities = offers.capabilities();
        let mut frames = vec![hello.into()];
        frames.extend(offers.take_frames());
        if on_hello_ack.is_none() {
            frames.push(Ready::default().into());
        }
        let runtime = Self {
            shared,
            offers,
            on_hello_ack,
            events: Lane::new("events", &requests),
            panels: HashMap::new(),
        };
        runtime.register(&frames);
        runtime
    }

    fn register(&self, frames: &[zot_protocol::FromExtension]) {
        if let Err(unsent) = self.shared.wire.send_all(frames) {
            eprintln!("failed to send registrations: {unsent}");
        }
    }

    /// Reads frames until the input ends, then shuts down.
    pub(crate) fn run(mut self, mut input: impl BufRead) {
        let mut line = Vec::new();
        let mut asked = false;
        loop {
            line.clear();
            match input.read_until(b'\n', &mut line) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => {
                    eprintln!("failed to read stdin: {error}");
                    break;
                }
            }
            let text = line.trim_ascii();
            if text.is_empty() {
                continue;
            }
            match serde_json::from_slice(text) {
                Ok(FromHost::Shutdown(_)) => {
                    asked = true;
                    break;
                }
                Ok(frame) => self.handle(frame),
                Err(error) => self.refuse(text, &error),
            }
        }
        self.end(asked);
    }

    fn handle(&mut self, frame: FromHost) {
        if let FromHost::HelloAck(ack) = frame {
            let _ = self.shared.host.set(ack);
            return self.finish_registration();
        }
        // A host that has sent a request will no longer send `hello_ack`.
        self.finish_registration();
        match frame {
            FromHost::CommandInvoked(command) => self.command(command),
            FromHost::ToolCall(call) => self.tool(call),
            FromHost::EventIntercept(ask) => self.intercept(ask),
            FromHost::Event(event) => self.event(&event),
            FromHost::ToolCancel(cancel) => self.shared.requests.cancel(&cancel.id),
            FromHost::ToolResult(result) => self.shared.calls.answered(result),
            FromHost::PanelKey(key) => {
                let event = match (key.key, key.text) {
                    (Key::Rune, text) => PanelEvent::Text(text.unwrap_or_default()),
                    (key, _) => PanelEvent::Key(key),
                };
                self.panel(key.panel_id, event);
            }
            FromHost::PanelResize(resize) => {
                let (width, height) = (resize.width, resize.height);
                self.panel(resize.panel_id, PanelEvent::Resize { width, height });
            }
            FromHost::PanelClose(close) => {
                self.shared.wire.panel_closed(&close.panel_id);
                self.panel(close.panel_id, PanelEvent::Closed);
            }
            FromHost::Error(error) => eprintln!("the host rejected a frame: {}", error.message),
            // Ignore unknown frames: later versions only add to the protocol.
            _ => {}
        }
    }

    fn finish_registration(&mut self) {
        if let Some(on_hello_ack) = self.on_hello_ack.take() {
            let offers = std::mem::take(&mut self.offers);
            self.offers = on_hello_ack(self.shared.host(), offers);
            let mut frames = self.offers.take_frames();
            frames.push(Ready::default().into());
            self.register(&frames);
        }
    }

    /// Handles an invalid line. If it is a request, it is still answered.
    fn refuse(&self, line: &[u8], error: &serde_json::Error) {
        eprintln!("invalid frame: {error}");
        let Ok(value) = serde_json::from_slice::<Value>(line) else {
            return;
        };
        let kind = match value["type"].as_str() {
            Some("command_invoked") => RequestKind::Command,
            Some("tool_call") => RequestKind::Tool,
            Some("event_intercept") => RequestKind::Intercept,
            _ => return,
        };
        if let Some(id) = value["id"].as_str() {
            let why = format!("invalid request: {error}");
            if let Some(request) = self.open(&id.into(), kind) {
                spawn("rejected", request, |request| request.fail(why));
            }
        }
    }

    fn command(&self, command: CommandInvoked) {
        let CommandInvoked { id, name, args, .. } = command;
        let Some(request) = self.open(&id, RequestKind::Command) else {
            return;
        };
        let context = self.context();
        let handler = self.offers.commands.get(&name.to_lowercase()).cloned();
        spawn(&name.clone(), request, move |request| {
            let Some(handler) = handler else {
                return request.fail(format!("unknown command `{name}`"));
            };
            match caught(|| handler(args, context)) {
                Ok(reply) => {
                    let id = request.id().clone();
                    request.reply(reply.frame(id));
                }
                Err(panic) => request.fail(format!("`/{name}` panicked: {panic}")),
            }
        });
    }

    fn tool(&self, call: ToolCall) {
        let ToolCall { id, name, args, .. } = call;
        let Some(request) = self.open(&id, RequestKind::Tool) else {
            return;
        };
        let mut context = self.context();
        context.parent = Some(id.clone());
        let context = ToolContext {
            context,
            id,
            cancelled: request.cancelled().clone(),
        };
        let handler = self.offers.tools.get(&name).cloned();
        spawn(&name.clone(), request, move |request| {
            let Some(handler) = handler else {
                return request.fail(format!("unknown tool `{name}`"));
            };
            match caught(|| handler(args, context)) {
                Ok(output) => {
                    let id = request.id().clone();
                    request.reply(output.frame(id));
                }
                Err(panic) => request.fail(format!("`{name}` panicked: {panic}")),
            }
        });
    }

    fn intercept(&self, ask: EventIntercept) {
        let EventIntercept { id, event, .. } = ask;
        let Some(request) = self.open(&id, RequestKind::Intercept) else {
            return;
        };
        let context = self.context();
        let name = event.name().to_owned();
        let key = InterceptName::from(name.as_str());
        let handler = self.offers.intercepts.get(&key).cloned();
        spawn(&name.clone(), request, move |request| {
            // The reply if the extension does not intercept this event.
            let allow = EventInterceptResponse::new(id.clone());
            let Some(handler) = handler else {
                return request.reply(allow);
            };
            match caught(|| handler(id, event, context)) {
                Ok(decision) => request.reply(decision.unwrap_or(allow)),
                Err(panic) => {
                    request.fail(format!("the interceptor for `{name}` panicked: {panic}"));
                }
            }
        });
    }

    fn event(&self, event: &Event) {
        let name = EventName::from(event.name());
        for handler in self.offers.events.get(&name).into_iter().flatten() {
            let (handler, event, context) = (Arc::clone(handler), event.clone(), self.context());
            let name = name.clone();
            self.events.push(move || {
                log(name.as_str(), caught(|| handler(event, context)));
            });
        }
    }

    fn panel(&mut self, id: PanelId, event: PanelEvent) {
        let Some(handler) = self.offers.panels.get(&id).cloned() else {
            return eprintln!("panel `{id}` has no handler");
        };
        let context = self.context();
        let requests = &self.shared.requests;
        let lane = self
            .panels
            .entry(id.clone())
            .or_insert_with(|| Lane::new(format!("panel {id}"), requests));
        lane.push(move || log(id.as_str(), caught(|| handler(event, context))));
    }

    fn context(&self) -> Context {
        Context {
            shared: Arc::clone(&self.shared),
            parent: None,
        }
    }

    fn open(&self, id: &Id, kind: RequestKind) -> Option<Request> {
        let shared = &self.shared;
        let request = shared.requests.open(id, kind, &shared.wire);
        if request.is_none() {
            eprintln!("duplicate request id `{id}`");
        }
        request
    }

    /// Shuts down within the deadline, even if handlers hang or the host has stopped reading.
    fn end(self, asked: bool) {
        let shared = self.shared;
        shared.requests.cancel_all();
        shared.calls.close();
        let (done, ended) = mpsc::channel();
        let last = move || {
            shared.requests.wait_until_idle(GRACE);
            for (id, kind) in shared.requests.take_open() {
                let why = "the extension is shutting down".to_owned();
                let _ = shared.wire.send(kind.failure(id, why));
            }
            if asked {
                shared.wire.send_last(ShutdownAck::default());
            }
            let _ = done.send(());
        };
        // Runs on a separate thread, because writing blocks if the host has stopped reading.
        if thread::Builder::new()
            .name("end".into())
            .spawn(last)
            .is_ok()
        {
            let _ = ended.recv_timeout(GRACE + FLUSH_TIMEOUT);
        }
    }
}

/// Answers a request on its own thread. If the thread cannot be started, the request is dropped,
/// which sends an error.
fn spawn(name: &str, request: Request, answer: impl FnOnce(Request) + Send + 'static) {
    let named = thread::Builder::new().name(name.replace('\0', ""));
    if let Err(error) = named.spawn(move || answer(request)) {
        eprintln!("{name}: failed to start a thread: {error}");
    }
}

/// Runs a handler and returns its result or panic message.
fn caught<T>(handler: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(handler)).map_err(|panic| panic_message(&*panic))
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message").to_owned()
}

fn log(what: &str, handled: Result<Handled, String>) {
    match handled {
        Ok(Handled(Ok(()))) => {}
        Ok(Handled(Err(error))) => eprintln!("{what}: {error}"),
        Err(panic) => eprintln!("{what}: panicked: {panic}"),
    }
}
