//! A transcript as data: its head and its steps.

use std::time::Duration;

use super::{Pattern, Template};

/// An exchange that can be played again.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Transcript {
    /// What it is and what it needs.
    pub head: Head,
    /// What happens, in order.
    pub steps: Vec<Step>,
}

/// The first line of a transcript.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Head {
    /// A short name. Absent: the file's.
    pub name: Option<String>,
    /// What it shows, in a sentence.
    pub about: Option<String>,
    /// The directory of the extension it is played against by default, relative to the transcript's own.
    pub extension: Option<String>,
    /// What the extension must have registered for the transcript to apply.
    pub needs: Needs,
    /// Types of frames that may come at any time and are passed over.
    pub ignore: Vec<String>,
}

/// What an extension must have registered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Needs {
    /// Tools, by name.
    pub tools: Vec<String>,
    /// Commands, by name.
    pub commands: Vec<String>,
    /// Events that it intercepts.
    pub intercept: Vec<String>,
}

impl Needs {
    /// Whether anything will do.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty() && self.commands.is_empty() && self.intercept.is_empty()
    }
}

/// One line of a transcript.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The line's number in its file, from 1.
    pub line: usize,
    /// What is done.
    pub verb: Verb,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq)]
pub enum Verb {
    /// The host says it.
    Send(Template),
    /// The extension says it.
    Expect(Expect),
    /// The extension says all of it, in any order.
    Unordered {
        /// The frames. Their `within` is that of the step.
        expects: Vec<Expect>,
        /// How long all of it may take.
        within: Option<Duration>,
    },
    /// Everything up to ready.
    UseHandshake,
    /// Time passes.
    Wait(Duration),
    /// Time passes, and nothing may come.
    Quiet(Duration),
    /// These bytes are written, without a newline.
    Raw(String),
    /// The next `send` or `raw` is written in pieces of so many bytes, then the rest.
    Split(Vec<usize>),
    /// For so long nothing is read.
    StallStdout(Duration),
    /// The extension's input ends.
    CloseStdin,
    /// The extension gets a signal.
    Signal(Signal),
    /// The extension ends.
    Exit {
        /// Against `{"code":0}` or `{"signal":"TERM"}`.
        how: Pattern,
        /// How long that may take.
        within: Option<Duration>,
    },
    /// A line of the extension's standard error.
    Stderr {
        /// Against the line, a text.
        line: Pattern,
        /// How long it may take to come.
        within: Option<Duration>,
    },
    /// A remark.
    Remark(String),
}

/// A frame that the extension says.
#[derive(Debug, Clone, PartialEq)]
pub struct Expect {
    /// The frame.
    pub frame: Pattern,
    /// How long it may take. Absent: [`super::DEFAULT_WITHIN`].
    pub within: Option<Duration>,
    /// Whether it may stay away.
    pub optional: bool,
}

impl From<Pattern> for Expect {
    fn from(frame: Pattern) -> Self {
        Self {
            frame,
            within: None,
            optional: false,
        }
    }
}

/// A signal that a transcript may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signal(&'static str);

impl Signal {
    /// All there are.
    pub const NAMES: [&'static str; 9] = [
        "TERM", "INT", "HUP", "QUIT", "KILL", "USR1", "USR2", "STOP", "CONT",
    ];

    /// By its name, without `SIG`.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES
            .iter()
            .find(|known| **known == name)
            .map(|name| Self(name))
    }

    /// Its name, without `SIG`.
    pub fn name(self) -> &'static str {
        self.0
    }
}
