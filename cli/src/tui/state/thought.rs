//! The model's reasoning, which is folded to one line unless the user wants to see it.

use std::time::{Duration, Instant};

/// Maximum number of bytes to keep of one thought.
const MAX_BYTES: usize = 256 * 1024;
/// Maximum number of folded thoughts to keep.
const MAX_FOLDED: usize = 50;

/// The model's reasoning before a part of its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Thought {
    /// When it began. `None` if it comes from a stored conversation.
    since: Option<Instant>,
    until: Option<Instant>,
    /// The text, sanitised.
    pub(crate) text: String,
    /// Whether the provider withholds some of the text.
    pub(crate) is_redacted: bool,
}

/// How to show reasoning, and the thoughts that were folded since the last prompt.
#[derive(Debug, Default)]
pub(crate) struct Thoughts {
    /// Whether reasoning is shown in full.
    pub(crate) are_shown: bool,
    folded: Vec<Thought>,
}

impl Thoughts {
    /// Stores a thought that was printed on one line, unless it has no text to show.
    pub(crate) fn fold(&mut self, thought: Thought) {
        if thought.text.trim().is_empty() {
            return;
        }
        if self.folded.len() == MAX_FOLDED {
            self.folded.remove(0);
        }
        self.folded.push(thought);
    }

    /// Drops the folded thoughts. A thought must not appear below the answer to another prompt.
    pub(crate) fn clear(&mut self) {
        self.folded.clear();
    }

    /// Takes the folded thoughts in order, each with its place among them if there are several.
    pub(crate) fn unfold(&mut self) -> Vec<(Thought, Option<Place>)> {
        let count = self.folded.len();
        let place = |number| (count > 1).then_some(Place { number, count });
        let numbered = self.folded.drain(..).zip(1..);
        numbered.map(|(it, number)| (it, place(number))).collect()
    }
}

/// The place of a thought among several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) number: usize,
    pub(crate) count: usize,
}

impl Thought {
    /// Begins a thought.
    pub(crate) fn begin(now: Instant) -> Self {
        Self {
            since: Some(now),
            ..Self::stored()
        }
    }

    /// Creates an empty thought of a stored conversation.
    pub(crate) fn stored() -> Self {
        Self {
            since: None,
            until: None,
            text: String::new(),
            is_redacted: false,
        }
    }

    /// Adds a piece of sanitised text.
    pub(crate) fn add(&mut self, piece: &str) {
        let room = MAX_BYTES.saturating_sub(self.text.len());
        self.text
            .push_str(&piece[..piece.floor_char_boundary(room)]);
    }

    /// Ends a block of the thought. Another can follow.
    pub(crate) fn end_block(&mut self, is_redacted: bool, now: Instant) {
        self.is_redacted |= is_redacted;
        self.until = self.since.map(|_| now);
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.add("\n");
        }
    }

    /// Returns how long the model thought, if that is known.
    pub(crate) fn duration(&self) -> Option<Duration> {
        Some(self.until?.saturating_duration_since(self.since?))
    }
}
