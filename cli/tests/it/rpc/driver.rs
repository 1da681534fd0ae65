//! A driver that validates every line against the published schemas.

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rustix::process::Signal;
use serde_json::Value;
use zot_protocol::{
    rpc::{Event, Output},
    validate,
};

use crate::support::{World, process};

/// Timeout for any single step, long enough for a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A running `zot rpc`.
pub(crate) struct Rpc {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: mpsc::Receiver<Value>,
    stderr: Option<JoinHandle<String>>,
    /// Every line received so far, in order.
    pub(crate) received: Vec<Value>,
    /// Lines received but not yet returned by `until`.
    unseen: Vec<Value>,
}

/// The exit code and output of a `zot rpc` that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) err: String,
    /// Every line received, in order.
    pub(crate) received: Vec<Value>,
}

impl Rpc {
    /// Starts zot with the demo model and no extensions.
    pub(crate) fn demo(world: &World, flags: &[String]) -> Self {
        let mut command = world.zot_command(&["rpc", "--provider", "demo", "--no-ext"]);
        command.args(flags);
        Self::spawn(&mut command)
    }

    pub(crate) fn start(world: &World, args: &[&str]) -> Self {
        Self::spawn(&mut world.zot_command(&[&["rpc"], args].concat()))
    }

    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("failed to start zot");
        let (to, lines) = mpsc::channel();
        let stdout = BufReader::new(child.stdout.take().expect("should be piped"));
        thread::spawn(move || {
            for line in stdout.split(b'\n') {
                let line = line.expect("failed to read a line");
                let _ = to.send(checked(&line));
            }
        });
        let mut stderr = child.stderr.take().expect("should be piped");
        let stderr = thread::spawn(move || {
            let mut text = String::new();
            let _ = stderr.read_to_string(&mut text);
            text
        });
        Self {
            stdin: child.stdin.take(),
            child,
            lines,
            stderr: Some(stderr),
            received: Vec::new(),
            unseen: Vec::new(),
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        process::signal(&self.child, signal);
    }

    /// Sends a command. Write errors are ignored; the next read reports that zot has ended.
    pub(crate) fn send(&mut self, command: &Value) {
        self.raw(format!("{command}\n").as_bytes());
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("stdin is closed");
        let _ = stdin.write_all(bytes).and_then(|()| stdin.flush());
    }

    pub(crate) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Returns the next line, or `None` at the end of output.
    pub(crate) fn next(&mut self) -> Option<Value> {
        match self.lines.recv_timeout(TIMEOUT) {
            Ok(line) => {
                self.received.push(line.clone());
                Some(line)
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => None,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("no output after:\n{}", self.shown()),
        }
    }

    fn shown(&self) -> String {
        let lines: Vec<String> = self.received.iter().map(ToString::to_string).collect();
        lines.join("\n")
    }

    /// Returns the lines up to and including the first match, starting with the lines that
    /// `response` skipped.
    pub(crate) fn until(&mut self, matches: impl Fn(&Value) -> bool) -> Vec<Value> {
        if let Some(at) = self.unseen.iter().position(&matches) {
            return self.unseen.drain(..=at).collect();
        }
        let mut lines = std::mem::take(&mut self.unseen);
        loop {
            let Some(line) = self.next() else {
                panic!("zot ended before the expected line:\n{}", self.shown());
            };
            let is_last = matches(&line);
            lines.push(line);
            if is_last {
                return lines;
            }
        }
    }

    /// Returns the lines up to an event of this type.
    pub(crate) fn until_event(&mut self, name: &str) -> Vec<Value> {
        self.until(|line| line["type"] == name)
    }

    /// Waits for the response to a command. Lines before it stay available to `until`.
    pub(crate) fn response(&mut self, id: &str) -> Value {
        let mut lines = self.until(|line| line["type"] == "response" && line["id"] == id);
        let response = lines.pop().expect("no response");
        self.unseen.splice(0..0, lines);
        response
    }

    /// Sends a command and returns its response.
    pub(crate) fn ask(&mut self, command: &Value) -> Value {
        self.send(command);
        self.response(command["id"].as_str().expect("missing `id`"))
    }

    /// Sends a command that must succeed, and returns its data.
    pub(crate) fn data(&mut self, command: &Value) -> Value {
        let mut response = self.ask(command);
        assert_eq!(response["success"], true, "{response}");
        response["data"].take()
    }

    /// Sends a command that must fail, and returns the error.
    pub(crate) fn error(&mut self, command: &Value) -> String {
        let response = self.ask(command);
        assert_eq!(response["success"], false, "{response}");
        response["error"]
            .as_str()
            .expect("should be a string")
            .to_owned()
    }

    /// Closes stdin and waits for zot to end.
    pub(crate) fn end(mut self) -> Ended {
        self.close_stdin();
        while self.next().is_some() {}
        self.ended()
    }

    /// Waits for zot to end without closing stdin.
    pub(crate) fn ended(mut self) -> Ended {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("failed to wait") {
                break status;
            }
            assert!(start.elapsed() < TIMEOUT, "zot does not end");
            thread::sleep(Duration::from_millis(2));
        };
        while self.next().is_some() {}
        let stderr = self.stderr.take().expect("stderr already joined");
        Ended {
            code: status.code(),
            err: stderr.join().expect("stderr reader panicked"),
            received: std::mem::take(&mut self.received),
        }
    }
}

impl Drop for Rpc {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Parses a line that must match the published schemas.
pub(crate) fn checked(line: &[u8]) -> Value {
    let shown = String::from_utf8_lossy(line);
    match validate::output(line) {
        Ok(Output::Event(Event::Unknown(_))) => panic!("unknown event: {shown}"),
        Ok(_) => serde_json::from_slice(line).expect("invalid JSON"),
        Err(refusal) => panic!("{refusal}: {shown}"),
    }
}

/// Parses the complete output of a run.
pub(crate) fn checked_lines(output: &[u8]) -> Vec<Value> {
    let lines = output.split(|byte| *byte == b'\n');
    lines.filter(|line| !line.is_empty()).map(checked).collect()
}

/// A `zot rpc` whose output is not read at first.
pub(crate) struct UnreadRpc {
    child: Child,
    stdin: Option<ChildStdin>,
}

impl UnreadRpc {
    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("failed to start zot");
        let stdin = child.stdin.take();
        Self { child, stdin }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a line repeatedly until zot has read nothing for two seconds. Returns the number of
    /// lines sent.
    pub(crate) fn flood(&mut self, line: &[u8]) -> usize {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let timeout = Timespec {
            tv_sec: 2,
            tv_nsec: 0,
        };
        let stdin = self.stdin.as_mut().expect("stdin is closed");
        let line = [line, b"\n"].concat();
        for count in 0.. {
            let mut polled = [PollFd::new(&*stdin, PollFlags::OUT)];
            if poll(&mut polled, Some(&timeout)).expect("failed to poll") == 0 {
                return count;
            }
            stdin.write_all(&line).expect("failed to write");
        }
        unreachable!("the loop only ends by returning")
    }

    /// Closes stdin and reads all output.
    pub(crate) fn read_all(mut self) -> Vec<Value> {
        self.stdin = None;
        let stdout = BufReader::new(self.child.stdout.take().expect("should be piped"));
        let lines = stdout
            .split(b'\n')
            .map(|line| checked(&line.expect("failed to read a line")))
            .collect();
        assert_eq!(self.child.wait().expect("failed to wait").code(), Some(0));
        lines
    }
}
