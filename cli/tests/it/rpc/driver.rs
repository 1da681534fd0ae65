//! A driver that sees to it that every line is what the published schemas say.

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use serde_json::Value;
use zot_protocol::{
    rpc::{Event, Output},
    validate,
};

use crate::support::World;

/// How long anything may take on a machine that has other things to do.
const PATIENCE: Duration = Duration::from_secs(60);

/// A `zot rpc` that runs.
pub(crate) struct Rpc {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: mpsc::Receiver<Value>,
    stderr: Option<JoinHandle<String>>,
    /// Everything it has said, in order.
    pub(crate) said: Vec<Value>,
    /// What was said and not waited for yet.
    unseen: Vec<Value>,
}

/// How one ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) err: String,
    /// Everything it has said, in order.
    pub(crate) said: Vec<Value>,
}

impl Rpc {
    /// The demo model, without extensions.
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
            said: Vec::new(),
            unseen: Vec::new(),
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a command. That it has ended meanwhile shows in what follows.
    pub(crate) fn send(&mut self, command: &Value) {
        self.raw(format!("{command}\n").as_bytes());
    }

    /// Sends bytes.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("stdin is closed");
        let _ = stdin.write_all(bytes).and_then(|()| stdin.flush());
    }

    /// There is nothing more to say.
    pub(crate) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// What it says next; `None` at the end.
    pub(crate) fn next(&mut self) -> Option<Value> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => {
                self.said.push(line.clone());
                Some(line)
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => None,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("silent since:\n{}", self.shown()),
        }
    }

    fn shown(&self) -> String {
        let lines: Vec<String> = self.said.iter().map(ToString::to_string).collect();
        lines.join("\n")
    }

    /// The lines up to the first that is meant, and that one. Lines that were passed over before count.
    pub(crate) fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Vec<Value> {
        if let Some(at) = self.unseen.iter().position(&is_it) {
            return self.unseen.drain(..=at).collect();
        }
        let mut lines = std::mem::take(&mut self.unseen);
        loop {
            let Some(line) = self.next() else {
                panic!("it ended before what was waited for:\n{}", self.shown());
            };
            let is_last = is_it(&line);
            lines.push(line);
            if is_last {
                return lines;
            }
        }
    }

    /// The lines up to an event of this type.
    pub(crate) fn until_event(&mut self, name: &str) -> Vec<Value> {
        self.until(|line| line["type"] == name)
    }

    /// The response to a command; what came before it is still to be seen.
    pub(crate) fn response(&mut self, id: &str) -> Value {
        let mut lines = self.until(|line| line["type"] == "response" && line["id"] == id);
        let response = lines.pop().expect("no response");
        self.unseen.splice(0..0, lines);
        response
    }

    /// Sends a command and gives the response.
    pub(crate) fn ask(&mut self, command: &Value) -> Value {
        self.send(command);
        self.response(command["id"].as_str().expect("missing `id`"))
    }

    /// Sends a command, which must work, and gives its data.
    pub(crate) fn data(&mut self, command: &Value) -> Value {
        let mut response = self.ask(command);
        assert_eq!(response["success"], true, "{response}");
        response["data"].take()
    }

    /// Sends a command, which must fail, and gives the reason.
    pub(crate) fn error(&mut self, command: &Value) -> String {
        let response = self.ask(command);
        assert_eq!(response["success"], false, "{response}");
        response["error"].as_str().expect("should be a string").to_owned()
    }

    /// Closes its input and waits for its end.
    pub(crate) fn end(mut self) -> Ended {
        self.close_stdin();
        while self.next().is_some() {}
        self.ended()
    }

    /// Waits for its end without closing its input.
    pub(crate) fn ended(mut self) -> Ended {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("failed to wait") {
                break status;
            }
            assert!(start.elapsed() < PATIENCE, "it does not end");
            thread::sleep(Duration::from_millis(2));
        };
        while self.next().is_some() {}
        let stderr = self.stderr.take().expect("stderr already joined");
        Ended {
            code: status.code(),
            err: stderr.join().expect("not valid UTF-8"),
            said: std::mem::take(&mut self.said),
        }
    }
}

impl Drop for Rpc {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A line as JSON, if the schemas that are published allow it.
pub(crate) fn checked(line: &[u8]) -> Value {
    let shown = String::from_utf8_lossy(line);
    match validate::output(line) {
        Ok(Output::Event(Event::Unknown(_))) => panic!("an event that nobody knows: {shown}"),
        Ok(_) => serde_json::from_slice(line).expect("invalid JSON"),
        Err(refusal) => panic!("{refusal}: {shown}"),
    }
}

/// A `zot rpc` whose answers nobody reads, for a while.
pub(crate) struct Unread {
    child: Child,
    stdin: Option<ChildStdin>,
}

impl Unread {
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

    /// Sends a line again and again until no more is taken for a while, and gives how often.
    pub(crate) fn flood(&mut self, line: &[u8]) -> usize {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let patience = Timespec {
            tv_sec: 2,
            tv_nsec: 0,
        };
        let stdin = self.stdin.as_mut().expect("stdin is closed");
        let line = [line, b"\n"].concat();
        for count in 0.. {
            let mut polled = [PollFd::new(&*stdin, PollFlags::OUT)];
            if poll(&mut polled, Some(&patience)).expect("failed to poll") == 0 {
                return count;
            }
            stdin.write_all(&line).expect("failed to write");
        }
        unreachable!("a line at a time")
    }

    /// Closes its input, and reads everything.
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
