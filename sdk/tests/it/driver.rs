//! An extension as a process, and a test that talks with it.

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

/// Longer than anything here takes; only a hang reaches it.
pub(crate) const HANG: Duration = Duration::from_secs(60);

/// The extension that misbehaves, built with the tests.
pub(crate) fn probe() -> PathBuf {
    let mut path = std::env::current_exe().expect("a test is a file");
    path.pop();
    path.pop();
    path.push("examples/probe");
    assert!(path.exists(), "hint: cargo build -p zot-sdk --examples");
    path
}

/// A process, its stdin, and every line that it says.
pub(crate) struct Driven {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    stderr: Option<thread::JoinHandle<String>>,
    /// What was heard and not asked for yet.
    heard: Vec<Value>,
}

impl Driven {
    /// The probe, ready.
    pub(crate) fn probe() -> Self {
        let mut driven = Self::start(Command::new(probe()));
        driven.send(&json!({
            "type": "hello_ack", "protocol_version": 1, "zot_version": "0", "provider": "p", "model": "m",
            "cwd": "/", "capabilities": ["call_tool", "tool_cancel"],
        }));
        driven.hear(|frame| frame["type"] == "ready");
        driven.heard.clear();
        driven
    }

    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in stdout.lines() {
                if sender.send(line.expect("UTF-8")).is_err() {
                    break;
                }
            }
        });
        let mut stderr = child.stderr.take().expect("piped");
        let stderr = thread::spawn(move || {
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut stderr, &mut bytes).expect("a pipe");
            String::from_utf8_lossy(&bytes).into_owned()
        });
        Self {
            stdin: child.stdin.take(),
            child,
            lines,
            stderr: Some(stderr),
            heard: Vec::new(),
        }
    }

    pub(crate) fn pid(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.child)
    }

    pub(crate) fn send(&mut self, frame: &Value) {
        self.send_line(&frame.to_string());
    }

    pub(crate) fn send_line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("not closed");
        writeln!(stdin, "{line}").expect("it reads");
    }

    pub(crate) fn call(&mut self, id: &str, name: &str, args: &Value) {
        self.send(&json!({"type": "tool_call", "id": id, "name": name, "args": args}));
    }

    /// Calls a tool without arguments; its result.
    pub(crate) fn result(&mut self, name: &str) -> Value {
        self.call(name, name, &json!({}));
        self.reply("tool_result", name)
    }

    /// Asks about a tool call; the decision.
    pub(crate) fn ask(&mut self, tool: &str) -> Value {
        let id = format!("ask-{tool}");
        self.send(&json!({
            "type": "event_intercept", "id": id, "event": "tool_call", "tool_id": "t", "tool_name": tool, "tool_args": {},
        }));
        self.reply("event_intercept_response", &id)
    }

    /// Runs a command; its response.
    pub(crate) fn command(&mut self, name: &str) -> Value {
        let id = format!("command-{name}-{}", self.heard.len());
        self.send(&json!({"type": "command_invoked", "id": id, "name": name, "args": ""}));
        self.reply("command_response", &id)
    }

    pub(crate) fn reply(&mut self, kind: &str, id: &str) -> Value {
        self.hear(|frame| frame["type"] == kind && frame["id"] == id)
    }

    /// The first frame that is the one, which is then forgotten.
    pub(crate) fn hear(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            if let Some(at) = self.heard.iter().position(&is_it) {
                return self.heard.remove(at);
            }
            let left = HANG.saturating_sub(start.elapsed());
            match self.lines.recv_timeout(left) {
                Ok(line) => self.heard.push(checked(&line)),
                Err(error) => panic!("{error}; heard {:#?}", self.heard),
            }
        }
    }

    /// Closes its stdin.
    pub(crate) fn close(&mut self) {
        self.stdin = None;
    }

    /// Waits for its end: what it said that nobody asked for, its status, its stderr, and how long it took.
    pub(crate) fn end(mut self) -> Ended {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                break status;
            }
            assert!(start.elapsed() < HANG, "does not end");
            thread::sleep(Duration::from_millis(5));
        };
        let took = start.elapsed();
        let mut rest = std::mem::take(&mut self.heard);
        loop {
            match self.lines.recv_timeout(HANG) {
                Ok(line) => rest.push(checked(&line)),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("its stdout is still open"),
            }
        }
        let stderr = self.stderr.take().expect("taken once");
        Ended {
            rest,
            status,
            stderr: stderr.join().expect("no panic"),
            took,
        }
    }

    /// Asks it to end, and waits for it.
    pub(crate) fn shutdown(mut self) -> Ended {
        self.send(&json!({"type": "shutdown"}));
        self.close();
        self.end()
    }
}

impl Drop for Driven {
    fn drop(&mut self) {
        // A test that fails leaves none behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How a process has ended.
pub(crate) struct Ended {
    pub(crate) rest: Vec<Value>,
    pub(crate) status: ExitStatus,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
}

impl Ended {
    /// In time, with a status of success, and nothing said that nobody asked for but this.
    pub(crate) fn well(&self, rest: &[Value]) {
        assert!(self.status.success(), "{}: {}", self.status, self.stderr);
        assert!(self.took < Duration::from_secs(2), "{:?}", self.took);
        assert_eq!(self.rest, rest, "{}", self.stderr);
    }
}

/// A line of its stdout, which is a frame or nothing may be there.
fn checked(line: &str) -> Value {
    let frame = validate::frame::<FromExtension>(line.as_bytes());
    let frame = frame.unwrap_or_else(|refusal| panic!("{refusal}: {line}"));
    assert!(!matches!(frame, FromExtension::Unknown(_)), "{line}");
    serde_json::from_str(line).expect("JSON")
}

pub(crate) fn ack() -> Value {
    json!({"type": "shutdown_ack"})
}

/// The text of a result.
pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().expect("a text")
}
