//! The data model of a transcript: its header and its steps.

use std::time::Duration;

use rustix::process::Signal as System;

use super::{Pattern, Template};

/// A recorded exchange that can be replayed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Transcript {
    pub head: Head,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

impl Transcript {
    /// Creates a transcript with one line per step.
    pub(crate) fn new(head: Head, verbs: Vec<Verb>) -> Self {
        // The header is line 1.
        let steps = verbs.into_iter().zip(2..);
        Self {
            head,
            steps: steps.map(|(verb, line)| Step { line, verb }).collect(),
        }
    }
}

/// The first line of a transcript.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Head {
    /// A short name. Defaults to the name of the file.
    pub name: Option<String>,
    /// A one-sentence description.
    pub about: Option<String>,
    /// The default extension directory, relative to the transcript's directory.
    pub extension: Option<String>,
    /// What the extension must have registered for the transcript to apply.
    pub needs: Needs,
    /// Types of frames that may arrive at any time and are ignored.
    pub ignore: Vec<String>,
}

/// What an extension must have registered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Needs {
    /// Tools, by name.
    pub tools: Vec<String>,
    /// Commands, by name.
    pub commands: Vec<String>,
    /// Intercepted events.
    pub intercept: Vec<String>,
}

impl Needs {
    /// Reports whether there are no requirements.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty() && self.commands.is_empty() && self.intercept.is_empty()
    }
}

/// One line of a transcript.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The line number in the file, from 1.
    pub line: usize,
    pub verb: Verb,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq)]
pub enum Verb {
    /// Sends a frame from the host.
    Send(Template),
    /// Expects a frame from the extension.
    Expect(Expect),
    /// Expects several frames from the extension, in any order.
    Unordered {
        /// The frames. They use the `within` of the step.
        expects: Vec<Expect>,
        /// Deadline for all of them.
        within: Option<Duration>,
    },
    /// Performs the handshake up to `ready`.
    UseHandshake,
    /// Waits.
    Wait(Duration),
    /// Waits, and fails if a frame arrives.
    Quiet(Duration),
    /// Writes these bytes, without a newline.
    Raw(String),
    /// Writes the next `send` or `raw` in pieces of these sizes in bytes, then the rest.
    Split(Vec<usize>),
    /// Does not read stdout for this long.
    StallStdout(Duration),
    /// Closes the extension's stdin.
    CloseStdin,
    /// Sends a signal to the extension.
    Signal(Signal),
    /// Expects the extension to exit.
    Exit {
        /// Pattern for `{"code":0}` or `{"signal":"TERM"}`.
        how: Pattern,
        /// Deadline for exiting.
        within: Option<Duration>,
    },
    /// Expects a line on the extension's stderr.
    Stderr {
        /// Pattern for the line, a string.
        line: Pattern,
        /// Deadline for the line.
        within: Option<Duration>,
    },
    /// A comment.
    Comment(String),
}

impl Verb {
    /// Returns the patterns that the step expects, in order.
    pub(crate) fn expected(&self) -> Vec<&Pattern> {
        match self {
            Self::Expect(expect) => vec![&expect.frame],
            Self::Unordered { expects, .. } => expects.iter().map(|it| &it.frame).collect(),
            Self::Exit { how: pattern, .. } | Self::Stderr { line: pattern, .. } => vec![pattern],
            _ => Vec::new(),
        }
    }
}

/// An expected frame from the extension.
#[derive(Debug, Clone, PartialEq)]
pub struct Expect {
    pub frame: Pattern,
    /// Deadline. Defaults to [`super::DEFAULT_WITHIN`].
    pub within: Option<Duration>,
    /// Whether the frame may be missing.
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

/// A signal that a transcript can send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signal {
    /// The name, without `SIG`.
    pub name: &'static str,
    pub(crate) system: System,
}

impl Signal {
    /// All supported signals.
    pub(crate) const ALL: [Self; 9] = [
        Self::new("TERM", System::TERM),
        Self::new("INT", System::INT),
        Self::new("HUP", System::HUP),
        Self::new("QUIT", System::QUIT),
        Self::new("KILL", System::KILL),
        Self::new("USR1", System::USR1),
        Self::new("USR2", System::USR2),
        Self::new("STOP", System::STOP),
        Self::new("CONT", System::CONT),
    ];

    const fn new(name: &'static str, system: System) -> Self {
        Self { name, system }
    }
}
