//! A child process that writes one line for each line it reads.

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
            .expect("start the process");
        Self {
            stdin: child.stdin.take().expect("stdin is piped"),
            stdout: BufReader::new(child.stdout.take().expect("stdout is piped")),
            child,
            line: String::new(),
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a line and returns the response.
    pub(crate) fn ask(&mut self, line: &str) -> &str {
        self.stdin.write_all(line.as_bytes()).expect("write a line");
        self.line.clear();
        self.stdout.read_line(&mut self.line).expect("read a line");
        &self.line
    }

    pub(crate) fn end(mut self) {
        drop(self.stdin);
        drop(self.stdout);
        self.child.wait().expect("wait for the process");
    }
}
