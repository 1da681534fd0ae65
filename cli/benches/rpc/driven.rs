//! A process that answers lines with lines.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

pub(crate) struct Driven {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    line: String,
}

impl Driven {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("starts");
        Self {
            stdin: child.stdin.take().expect("piped"),
            stdout: BufReader::new(child.stdout.take().expect("piped")),
            child,
            line: String::new(),
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a line and waits for the next.
    pub(crate) fn ask(&mut self, line: &str) -> &str {
        self.stdin.write_all(line.as_bytes()).expect("written");
        self.line.clear();
        self.stdout.read_line(&mut self.line).expect("a line");
        &self.line
    }

    pub(crate) fn end(mut self) {
        drop(self.stdin);
        drop(self.stdout);
        self.child.wait().expect("ends");
    }
}
