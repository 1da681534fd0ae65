//! The running prompt.

use std::{collections::VecDeque, time::Instant};

use zot_protocol::{Object, ToolId};

use super::Thought;
use crate::tui::text::Stream;

/// Number of progress lines shown per tool call.
const MAX_PROGRESS_LINES: usize = 3;
/// Maximum number of bytes to keep from arguments that the model is still writing.
const MAX_DRAFT_BYTES: usize = 4 * 1024;

pub(crate) struct Turn {
    pub(crate) since: Instant,
    /// The prompt, until the agent has accepted it.
    pub(crate) prompt: Option<String>,
    /// Whether the user has written the prompt.
    pub(crate) is_users: bool,
    /// The text that was sent, and the text to show instead of it.
    pub(crate) sent: Option<(String, String)>,
    /// The number of the current model call, starting at 1, or 0 before the first call.
    pub(crate) step: u32,
    /// The spinner's label.
    pub(crate) label: &'static str,
    pub(crate) stream: Stream,
    /// Whether some lines of the streaming text are already in the scrollback.
    pub(crate) has_shown: bool,
    /// The reasoning that has not been printed yet.
    pub(crate) thought: Option<Thought>,
    /// When the model was last called or last wrote something. The next thought begins at this
    /// time.
    pub(crate) quiet_since: Instant,
    pub(crate) calls: Vec<Call>,
    /// When and why the model call is retried.
    pub(crate) retry: Option<Retry>,
    /// Whether the user has cancelled the turn.
    pub(crate) cancelled: bool,
    /// Whether the turn is a prompt, which accepts further messages while it runs, and not a
    /// compaction.
    pub(crate) is_steerable: bool,
    /// Messages that the agent has accepted, but not delivered to the model, oldest first. Each
    /// `user_message` or `steer_blocked` event removes one.
    pub(crate) steered: VecDeque<Steered>,
}

/// A message that the user has sent while the agent works.
#[derive(Debug, Clone, Default)]
pub(crate) struct Steered {
    /// The text for the model.
    pub(crate) sent: String,
    /// The text for the screen.
    pub(crate) shown: String,
    /// What the user has typed.
    pub(crate) text: String,
}

/// A delay before the model call is retried.
pub(crate) struct Retry {
    pub(crate) at: Instant,
    pub(crate) why: String,
}

/// A tool call that has no result yet.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) id: ToolId,
    pub(crate) name: String,
    /// The arguments, or `None` while the model is still writing them.
    pub(crate) args: Option<Object>,
    /// The part of the arguments that the model has written so far.
    pub(crate) draft: String,
    pub(crate) progress: VecDeque<String>,
}

impl Turn {
    pub(crate) fn new(label: &'static str, prompt: Option<String>, since: Instant) -> Self {
        Self {
            since,
            is_steerable: prompt.is_some(),
            steered: VecDeque::new(),
            prompt,
            is_users: false,
            sent: None,
            step: 0,
            label,
            stream: Stream::default(),
            has_shown: false,
            thought: None,
            quiet_since: since,
            calls: Vec::new(),
            retry: None,
            cancelled: false,
        }
    }

    /// Returns the thought that is being written, or begins one.
    pub(crate) fn thought(&mut self) -> &mut Thought {
        let since = self.quiet_since;
        self.thought.get_or_insert_with(|| Thought::begin(since))
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

    /// Appends to the arguments that the model is writing.
    pub(crate) fn write(&mut self, delta: &str) {
        if self.draft.len() < MAX_DRAFT_BYTES {
            self.draft.push_str(delta);
        }
    }

    /// Adds progress lines.
    pub(crate) fn add_progress(&mut self, text: &str) {
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            if self.progress.len() == MAX_PROGRESS_LINES {
                self.progress.pop_front();
            }
            self.progress.push_back(line.to_owned());
        }
    }
}
