//! A prompt that is being worked on.

use std::{collections::VecDeque, time::Instant};

use zot_protocol::{Object, ToolId};

use crate::tui::text::Stream;

/// So many lines of a tool's progress are shown.
const PROGRESS: usize = 3;
/// So much of the arguments is shown while the model writes them.
const DRAFT: usize = 4 * 1024;

/// A prompt that is being worked on.
pub(crate) struct Turn {
    pub(crate) since: Instant,
    /// What was asked, until the agent has taken it in.
    pub(crate) prompt: Option<String>,
    /// Which call of the model this is, from 1; 0 before the first.
    pub(crate) step: u32,
    /// What goes on, where nothing else says it.
    pub(crate) what: &'static str,
    pub(crate) stream: Stream,
    /// Whether lines of the text that arrives are the terminal's already.
    pub(crate) has_shown: bool,
    pub(crate) calls: Vec<Call>,
    /// Whether it is to end.
    pub(crate) cancelled: bool,
}

/// A call of a tool that has no result yet.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) id: ToolId,
    pub(crate) name: String,
    /// `None` while the model writes them.
    pub(crate) args: Option<Object>,
    /// The arguments as far as they are written.
    pub(crate) draft: String,
    pub(crate) progress: VecDeque<String>,
}

impl Turn {
    pub(crate) fn new(what: &'static str, prompt: Option<String>, since: Instant) -> Self {
        Self {
            since,
            prompt,
            step: 0,
            what,
            stream: Stream::default(),
            has_shown: false,
            calls: Vec::new(),
            cancelled: false,
        }
    }

    pub(crate) fn call(&mut self, id: &ToolId) -> Option<&mut Call> {
        self.calls.iter_mut().find(|call| call.id == *id)
    }
}

impl Call {
    pub(crate) fn new(id: ToolId, name: String) -> Self {
        Self {
            id,
            name,
            args: None,
            draft: String::new(),
            progress: VecDeque::new(),
        }
    }

    /// The model writes on.
    pub(crate) fn write(&mut self, delta: &str) {
        if self.draft.len() < DRAFT {
            self.draft.push_str(delta);
        }
    }

    /// A line, or several, of its progress.
    pub(crate) fn progressed(&mut self, text: &str) {
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            if self.progress.len() == PROGRESS {
                self.progress.pop_front();
            }
            self.progress.push_back(line.to_owned());
        }
    }
}
