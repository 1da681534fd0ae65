//! Drives an extension in memory, for tests without a subprocess.
//!
//! The extension runs as it would under a real host, with the same threads and the same encoded
//! frames.
//!
//! ```
//! use zot_sdk::{Extension, Reply, testing::TestHost};
//!
//! fn extension() -> Extension {
//!     Extension::new("hello", "1.0.0")
//!         .command("hello", "greets you", |name, _| Reply::display(format!("Hello {name}")))
//! }
//!
//! let host = TestHost::start(extension());
//! assert_eq!(host.commands()[0].name, "hello");
//! assert_eq!(host.command("hello", "Ada").display.as_deref(), Some("Hello Ada"));
//! ```

use std::{
    io::{self, BufReader, Read, Write},
    ops::Deref,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, Receiver, Sender},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};
use zot_protocol::{
    CallToolResult, Capability, CommandInvoked, CommandResponse, Event, EventIntercept,
    EventInterceptResponse, FromExtension, FromHost, HelloAck, Id, Intercept, Key, Object,
    PROTOCOL_VERSION, PanelClose, PanelId, PanelKey, PanelResize, RegisterCommand, RegisterTool,
    Shutdown, ToolCall, ToolCancel, ToolResult,
};

use crate::{Extension, output::ToolOutput, text_of};

/// Timeout for every wait. It only expires if something hangs.
const HANG: Duration = Duration::from_secs(30);

type AnswerCall = Box<dyn Fn(&zot_protocol::CallTool) -> ToolOutput + Send>;

/// A test host for one extension. It panics if the extension does not answer. Dropping it shuts the
/// extension down.
pub struct TestHost {
    input: Option<Sender<Vec<u8>>>,
    received: Arc<Received>,
    next: AtomicU64,
    running: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Received {
    state: Mutex<ReceivedState>,
    changed: Condvar,
}

#[derive(Default)]
struct ReceivedState {
    frames: Vec<FromExtension>,
    ended: bool,
    answer_call: Option<AnswerCall>,
}

impl TestHost {
    /// Starts an extension and waits until it is ready.
    pub fn start(extension: Extension) -> Self {
        Self::start_with(extension, |_| {})
    }

    /// Starts an extension with a modified `hello_ack`.
    ///
    /// ```
    /// use zot_sdk::{Extension, Reply, testing::TestHost};
    ///
    /// let extension = Extension::new("where", "1.0.0").command("where", "shows the data directory", |_, ctx| {
    ///     Reply::display(format!("{}", ctx.data_dir().unwrap().display()))
    /// });
    /// let host = TestHost::start_with(extension, |ack| ack.data_dir = Some("/tmp/data".into()));
    /// assert_eq!(host.command("where", "").display.as_deref(), Some("/tmp/data"));
    /// ```
    pub fn start_with(extension: Extension, change: impl FnOnce(&mut HelloAck)) -> Self {
        let (input, lines) = mpsc::channel();
        let received = Arc::new(Received::default());
        let output = Output {
            received: Arc::clone(&received),
            input: input.clone(),
            line: Vec::new(),
        };
        let running = thread::spawn(move || {
            let ended = Arc::clone(&output.received);
            let input = BufReader::new(Input::new(lines));
            extension.start(output).run(input);
            ended.state.lock().ended = true;
            ended.changed.notify_all();
        });
        let host = Self {
            input: Some(input),
            received,
            next: AtomicU64::new(1),
            running: Some(running),
        };
        let mut ack = HelloAck::new(PROTOCOL_VERSION, "0.0.0", "provider", "model", "/project");
        ack.capabilities = vec![
            Capability::ToolCancel,
            Capability::CallTool,
            Capability::Errors,
        ];
        change(&mut ack);
        host.send(ack);
        host.wait_for(|frame| matches!(frame, FromExtension::Ready(_)).then_some(()));
        host
    }

    /// Returns every frame that the extension has sent so far.
    pub fn frames(&self) -> Vec<FromExtension> {
        self.received.state.lock().frames.clone()
    }

    /// Returns the registered commands.
    pub fn commands(&self) -> Vec<RegisterCommand> {
        self.all(|frame| match frame {
            FromExtension::RegisterCommand(command) => Some(command.clone()),
            _ => None,
        })
    }

    /// Returns the registered tools.
    pub fn tools(&self) -> Vec<RegisterTool> {
        self.all(|frame| match frame {
            FromExtension::RegisterTool(tool) => Some(tool.clone()),
            _ => None,
        })
    }

    fn all<T>(&self, pick: impl Fn(&FromExtension) -> Option<T>) -> Vec<T> {
        self.received
            .state
            .lock()
            .frames
            .iter()
            .filter_map(pick)
            .collect()
    }

    /// Waits for a frame that `pick` accepts. Frames that arrived earlier are considered too.
    pub fn wait_for<T>(&self, pick: impl Fn(&FromExtension) -> Option<T>) -> T {
        let deadline = Instant::now() + HANG;
        let mut state = self.received.state.lock();
        loop {
            if let Some(found) = state.frames.iter().find_map(&pick) {
                return found;
            }
            assert!(
                Instant::now() < deadline && !state.ended,
                "the frame was not sent; received: {:#?}",
                state.frames
            );
            self.received.changed.wait_until(&mut state, deadline);
        }
    }

    /// Sends any frame.
    ///
    /// ```
    /// use zot_sdk::{Extension, FromHost, serde_json::{from_value, json}, testing::TestHost};
    ///
    /// let host = TestHost::start(Extension::new("empty", "1.0.0"));
    /// let news: FromHost = from_value(json!({"type": "news", "from": "the future"})).unwrap();
    /// host.send(news);
    /// assert_eq!(host.shutdown().len(), 3, "hello, ready, shutdown_ack");
    /// ```
    pub fn send(&self, frame: impl Into<FromHost>) {
        let line = serde_json::to_vec(&frame.into()).expect("a frame serialises to JSON");
        if let Some(input) = &self.input {
            // Ignore the error: if the extension has exited, the test fails when the answer does
            // not arrive.
            let _ = input.send([line, b"\n".to_vec()].concat());
        }
    }

    fn id(&self, kind: &str) -> Id {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        Id::from(format!("{kind}-{number}"))
    }

    /// Runs a command and returns its response.
    pub fn command(&self, name: &str, args: &str) -> CommandResponse {
        let id = self.id("command");
        self.send(CommandInvoked::new(id.clone(), name, args));
        self.wait_for(|frame| match frame {
            FromExtension::CommandResponse(response) if response.id == id => Some(response.clone()),
            _ => None,
        })
    }

    /// Calls a tool with arguments in JSON and waits for its result.
    pub fn tool(&self, name: &str, args: &str) -> TestResult {
        self.result(&self.begin_tool(name, args))
    }

    /// Calls a tool without waiting for it.
    pub fn begin_tool(&self, name: &str, args: &str) -> Id {
        let args: Object = serde_json::from_str(args).expect("the arguments are a JSON object");
        let id = self.id("tool");
        self.send(ToolCall::new(id.clone(), name, args));
        id
    }

    /// Cancels a tool call.
    pub fn cancel(&self, id: &Id) {
        self.send(ToolCancel::new(id.clone()));
    }

    /// Waits for the result of a tool call.
    pub fn result(&self, id: &Id) -> TestResult {
        self.wait_for(|frame| match frame {
            FromExtension::ToolResult(result) if result.id == *id => {
                Some(TestResult(result.clone()))
            }
            _ => None,
        })
    }

    /// Sends an event to an interceptor and returns its response.
    pub fn intercept(&self, event: impl Into<Intercept>) -> EventInterceptResponse {
        let id = self.id("intercept");
        self.send(EventIntercept::new(id.clone(), event.into()));
        self.wait_for(|frame| match frame {
            FromExtension::EventInterceptResponse(response) if response.id == id => {
                Some(response.clone())
            }
            _ => None,
        })
    }

    /// Sends an event.
    ///
    /// ```
    /// use zot_sdk::{Extension, FromExtension, NoteLevel, event, testing::TestHost};
    /// use zot_protocol::TurnStart;
    ///
    /// let extension = Extension::new("counter", "1.0.0")
    ///     .on(event::TURN_START, |turn, ctx| ctx.notify(NoteLevel::Info, format!("step {}", turn.step)));
    /// let host = TestHost::start(extension);
    /// host.send_event(TurnStart::new(3));
    /// let note = host.wait_for(|frame| match frame {
    ///     FromExtension::Notify(note) => Some(note.message.clone()),
    ///     _ => None,
    /// });
    /// assert_eq!(note, "step 3");
    ///
    /// let frames = host.shutdown();
    /// assert!(matches!(frames.last(), Some(FromExtension::ShutdownAck(_))));
    /// ```
    ///
    /// Events have no answer. Use [`wait_for`](Self::wait_for) to observe the effect.
    pub fn send_event(&self, event: impl Into<Event>) {
        self.send(FromHost::Event(event.into()));
    }

    /// Presses a key in a panel.
    pub fn key(&self, panel: &str, key: Key) {
        self.send(PanelKey::new(panel, key));
    }

    /// Types text in a panel, as one key event.
    pub fn text(&self, panel: &str, text: &str) {
        let mut key = PanelKey::new(PanelId::from(panel), Key::Rune);
        key.text = Some(text.to_owned());
        self.send(key);
    }

    /// Sends a panel's size.
    pub fn resize(&self, panel: &str, width: u32, height: u32) {
        self.send(PanelResize::new(panel, width, height));
    }

    /// Closes a panel as the user would.
    pub fn close_panel(&self, panel: &str) {
        self.send(PanelClose::new(panel));
    }

    /// Answers the extension's [`call_tool`](crate::Context::call_tool) requests from now on.
    /// Earlier requests stay pending.
    pub fn answer_calls(
        &self,
        answer: impl Fn(&zot_protocol::CallTool) -> ToolOutput + Send + 'static,
    ) {
        self.received.state.lock().answer_call = Some(Box::new(answer));
    }

    /// Shuts the extension down, waits until it has exited, and returns every frame it sent.
    pub fn shutdown(mut self) -> Vec<FromExtension> {
        self.send(Shutdown::default());
        self.end();
        self.frames()
    }

    fn end(&mut self) {
        if let Some(input) = self.input.take() {
            let _ = input.send(Vec::new());
        }
        if let Some(running) = self.running.take() {
            let ended = running.join();
            if !thread::panicking() {
                ended.expect("the extension does not panic");
            }
        }
    }
}

impl Drop for TestHost {
    fn drop(&mut self) {
        self.end();
    }
}

impl std::fmt::Debug for TestHost {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("TestHost").finish_non_exhaustive()
    }
}

/// The result of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct TestResult(ToolResult);

impl TestResult {
    /// Returns the result's text blocks, joined with newlines.
    pub fn text(&self) -> String {
        text_of(&self.content)
    }
}

impl Deref for TestResult {
    type Target = ToolResult;

    fn deref(&self) -> &ToolResult {
        &self.0
    }
}

/// The extension's input. An empty chunk ends it, because [`Output`] also holds a sender, so the
/// channel stays open.
struct Input {
    lines: Receiver<Vec<u8>>,
    rest: Vec<u8>,
    read: usize,
    ended: bool,
}

impl Input {
    fn new(lines: Receiver<Vec<u8>>) -> Self {
        Self {
            lines,
            rest: Vec::new(),
            read: 0,
            ended: false,
        }
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read == self.rest.len() && !self.ended {
            self.read = 0;
            self.rest = self.lines.recv().unwrap_or_default();
            self.ended = self.rest.is_empty();
        }
        let rest = &self.rest[self.read..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.read += count;
        Ok(count)
    }
}

/// The extension's output.
struct Output {
    received: Arc<Received>,
    input: Sender<Vec<u8>>,
    line: Vec<u8>,
}

impl Output {
    fn receive(&self, line: &[u8]) {
        let frame: FromExtension =
            serde_json::from_slice(line).expect("every line is a valid frame");
        let mut state = self.received.state.lock();
        if let FromExtension::CallTool(call) = &frame
            && let Some(answer) = &state.answer_call
        {
            let result = answer(call).frame(call.id.clone());
            let (id, name) = (result.id, call.name.clone());
            let answer = CallToolResult::new(id, name, result.content, result.is_error);
            let line = serde_json::to_vec(&FromHost::ToolResult(answer))
                .expect("a frame serialises to JSON");
            let _ = self.input.send([line, b"\n".to_vec()].concat());
        }
        state.frames.push(frame);
        drop(state);
        self.received.changed.notify_all();
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend(bytes);
        while let Some(end) = self.line.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.line.drain(..=end).collect();
            self.receive(&line);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
