//! The baseline: the same extension on a bare pipe, without a host.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use super::this;

pub(crate) struct Bare {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    line: String,
}

impl Bare {
    pub(crate) fn start() -> Self {
        let mut child = Command::new(this())
            .arg("--echo")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            stdin,
            stdout,
            line: String::new(),
        }
    }

    /// Starts `count` extensions and waits until all are ready.
    pub(crate) fn ready(count: usize) -> Vec<Self> {
        let mut bare: Vec<Self> = (0..count).map(|_| Self::start()).collect();
        bare.iter_mut().for_each(Self::until_ready);
        bare
    }

    fn until_ready(&mut self) {
        while !self.line.contains("ready") {
            self.read();
        }
    }

    fn read(&mut self) {
        self.line.clear();
        self.stdout.read_line(&mut self.line).unwrap();
    }

    pub(crate) fn ask(&mut self, line: &str) {
        self.stdin.write_all(line.as_bytes()).unwrap();
        self.read();
    }

    pub(crate) fn end(mut self) {
        drop(self.stdin);
        self.child.wait().unwrap();
    }
}
