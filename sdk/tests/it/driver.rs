//! Runs an extension as a process and exchanges frames with it.

use std::{
    io::{BufRead, BufReader, Write},
    path::PathBuf,
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use zot_protocol::{FromExtension, validate};

/// Timeout for every wait. It only expires if something hangs.
pub(crate) const HANG: Duration = Duration::from_secs(60);

/// Returns the path of the misbehaving extension, which cargo builds along with the tests.
pub(crate) fn probe() -> PathBuf {
    let mut path = std::env::current_exe().expect("the path of this test");
    path.pop();
    path.pop();
    path.push("examples/probe");
    assert!(
        path.exists(),
        "{} does not exist\nhint: run `cargo build -p zot-sdk --examples`",
        path.display()
    );
    path
}

/// A process, its stdin, and every line it writes.
pub(crate) struct Driven {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    stderr: Option<thread::JoinHandle<String>>,
    /// Frames received but not yet consumed.
    received: Vec<Value>,
}

impl Driven {
    /// Starts the probe and waits until it is ready.
    pub(crate) fn probe() -> Self {
        let mut driven = Self::start(Command::new(probe()));
        driven.send(&json!({
            "type": "hello_ack", "protocol_version": 1, "zot_version": "0", "provider": "p", "model": "m",
            "cwd": "/", "capabilities": ["call_tool", "tool_cancel"],
        }));
        driven.wait_for(|frame| frame["type"] == "ready");
        driven.received.clear();
        driven
    }

    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("start the extension");
        let stdout = BufReader::new(child.stdout.take().expect("the stream is piped"));
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in stdout.lines() {
                if sender.send(line.expect("stdout is UTF-8")).is_err() {
                    break;
                }
            }
        });
        let mut stderr = child.stderr.take().expect("the stream is piped");
        let stderr = thread::spawn(move || {
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut stderr, &mut bytes).expect("read stderr");
            String::from_utf8_lossy(&bytes).into_owned()
        });
        Self {
            stdin: child.stdin.take(),
            child,
            lines,
            stderr: Some(stderr),
            received: Vec::new(),
        }
    }

    pub(crate) fn pid(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.child)
    }

    pub(crate) fn send(&mut self, frame: &Value) {
        self.send_line(&frame.to_string());
    }

    pub(crate) fn send_line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        writeln!(stdin, "{line}").expect("write to stdin");
    }

    pub(crate) fn call(&mut self, id: &str, name: &str, args: &Value) {
        self.send(&json!({"type": "tool_call", "id": id, "name": name, "args": args}));
    }

    /// Calls a tool without arguments and returns its result.
    pub(crate) fn result(&mut self, name: &str) -> Value {
        self.call(name, name, &json!({}));
        self.reply("tool_result", name)
    }

    /// Sends a tool call to the interceptor and returns its decision.
    pub(crate) fn ask(&mut self, tool: &str) -> Value {
        let id = format!("ask-{tool}");
        self.send(&json!({
            "type": "event_intercept", "id": id, "event": "tool_call", "tool_id": "t", "tool_name": tool, "tool_args": {},
        }));
        self.reply("event_intercept_response", &id)
    }

    /// Runs a command and returns its response.
    pub(crate) fn command(&mut self, name: &str) -> Value {
        let id = format!("command-{name}-{}", self.received.len());
        self.send(&json!({"type": "command_invoked", "id": id, "name": name, "args": ""}));
        self.reply("command_response", &id)
    }

    pub(crate) fn reply(&mut self, kind: &str, id: &str) -> Value {
        self.wait_for(|frame| frame["type"] == kind && frame["id"] == id)
    }

    /// Waits for a matching frame, then removes and returns it.
    pub(crate) fn wait_for(&mut self, matches: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            if let Some(at) = self.received.iter().position(&matches) {
                return self.received.remove(at);
            }
            let left = HANG.saturating_sub(start.elapsed());
            match self.lines.recv_timeout(left) {
                Ok(line) => self.received.push(checked(&line)),
                Err(error) => panic!("{error}; received: {:#?}", self.received),
            }
        }
    }

    /// Closes the extension's stdin.
    pub(crate) fn close(&mut self) {
        self.stdin = None;
    }

    /// Waits until the extension exits. Returns its unconsumed frames, its status, its stderr, and
    /// the time it took.
    pub(crate) fn end(mut self) -> Ended {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("wait for the child") {
                break status;
            }
            assert!(start.elapsed() < HANG, "the extension did not exit");
            thread::sleep(Duration::from_millis(5));
        };
        let took = start.elapsed();
        let mut rest = std::mem::take(&mut self.received);
        loop {
            match self.lines.recv_timeout(HANG) {
                Ok(line) => rest.push(checked(&line)),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("stdout is still open"),
            }
        }
        let stderr = self.stderr.take().expect("stderr is read once");
        Ended {
            rest,
            status,
            stderr: stderr.join().expect("the reader thread did not panic"),
            took,
        }
    }

    /// Shuts the extension down and waits until it exits.
    pub(crate) fn shutdown(mut self) -> Ended {
        self.send(&json!({"type": "shutdown"}));
        self.close();
        self.end()
    }
}

impl Drop for Driven {
    fn drop(&mut self) {
        // A failing test must not leave a process behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How a process exited.
pub(crate) struct Ended {
    pub(crate) rest: Vec<Value>,
    pub(crate) status: ExitStatus,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
}

impl Ended {
    /// Asserts that the extension exited successfully within two seconds, with only these
    /// unconsumed frames.
    pub(crate) fn assert_clean(&self, rest: &[Value]) {
        assert!(self.status.success(), "{}: {}", self.status, self.stderr);
        assert!(self.took < Duration::from_secs(2), "{:?}", self.took);
        assert_eq!(self.rest, rest, "{}", self.stderr);
    }
}

/// Parses a line of stdout, which must be a frame.
fn checked(line: &str) -> Value {
    let frame = validate::frame::<FromExtension>(line.as_bytes());
    let frame = frame.unwrap_or_else(|refusal| panic!("{refusal}: {line}"));
    assert!(!matches!(frame, FromExtension::Unknown(_)), "{line}");
    serde_json::from_str(line).expect("parse JSON")
}

pub(crate) fn ack() -> Value {
    json!({"type": "shutdown_ack"})
}

/// Returns the text of a result.
pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"]
        .as_str()
        .expect("the content is text")
}
