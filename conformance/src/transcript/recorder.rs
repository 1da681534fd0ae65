//! Records frames as a transcript that can be replayed elsewhere.

mod handshake;
mod ids;

use std::time::Duration;

use serde_json::Value;

use self::ids::Ids;
use super::{
    DEFAULT_WITHIN, Expect, Head, Pattern, Places, Template, Transcript, Verb, scrub::Scrub,
};
use crate::Party;

/// Builds a transcript from frames.
///
/// Ids become names. Paths of this machine become wildcards in expected frames and `$fill` in sent
/// ones. Times become wildcards in expected frames. Secrets become wildcards, or [`super::SECRET`]
/// in sent frames. `cwd`, `extension_dir` and `data_dir` are taken from `hello_ack` if they are not
/// set.
#[derive(Debug, Clone)]
pub struct Recorder {
    head: Head,
    scrub: Scrub,
    ids: Ids,
    recorded: Vec<Recorded>,
    last: Duration,
}

/// One recorded frame.
#[derive(Debug, Clone)]
struct Recorded {
    who: Party,
    kind: String,
    verb: Verb,
}

impl Recorder {
    /// Starts a transcript with this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            head: Head {
                name: Some(name.into()),
                ..Head::default()
            },
            scrub: Scrub::default(),
            ids: Ids::default(),
            recorded: Vec::new(),
            last: Duration::ZERO,
        }
    }

    /// Sets the description.
    #[must_use]
    pub fn about(mut self, about: impl Into<String>) -> Self {
        self.head.about = Some(about.into());
        self
    }

    /// Sets the paths of this machine, which must not appear in the transcript.
    #[must_use]
    pub fn places(mut self, places: Places) -> Self {
        self.scrub.places = places;
        self
    }

    /// Adds a secret that must not appear in the transcript. Values shorter than four bytes are
    /// ignored.
    #[must_use]
    pub fn secret(mut self, value: impl Into<String>) -> Self {
        self.scrub.add_secret(value.into());
        self
    }

    /// Records a frame. `at` is when it was sent, measured from the start.
    pub fn frame(&mut self, who: Party, frame: &Value, at: Duration) {
        let kind = frame.get("type").and_then(Value::as_str).unwrap_or("");
        if who == Party::Host {
            self.note_use(kind, frame);
        }
        let mut written = match who {
            Party::Host => self.scrub.sent_frame(frame),
            Party::Extension => self.scrub.expected_frame(frame),
        };
        self.ids.name(who, kind, frame, &mut written);
        let took = at.saturating_sub(self.last);
        self.last = at;
        let verb = match who {
            Party::Host => Template::new(written).map(Verb::Send),
            Party::Extension => Pattern::new(written).map(|frame| {
                Verb::Expect(Expect {
                    within: timeout_for(took),
                    ..Expect::from(frame)
                })
            }),
        };
        // Values are escaped, so they should always compile. If one does not, leave a comment about
        // the missing frame.
        let verb = verb.unwrap_or_else(|error| {
            Verb::Comment(format!("omitted a frame of type {kind:?}: {error}"))
        });
        self.recorded.push(Recorded {
            who,
            kind: kind.to_owned(),
            verb,
        });
    }

    /// Returns the transcript.
    pub fn finish(self) -> Transcript {
        Transcript::new(self.head, handshake::collapsed(&self.recorded))
    }

    /// Records what the extension must register for a replay, and the directories in `hello_ack`.
    fn note_use(&mut self, kind: &str, frame: &Value) {
        let needs = &mut self.head.needs;
        let (list, key) = match kind {
            "tool_call" => (&mut needs.tools, "name"),
            "command_invoked" => (&mut needs.commands, "name"),
            "event_intercept" => (&mut needs.intercept, "event"),
            "hello_ack" => return self.scrub.places.learn(frame),
            _ => return,
        };
        if let Some(name) = frame.get(key).and_then(Value::as_str)
            && !list.iter().any(|known| known == name)
        {
            list.push(name.to_owned());
        }
    }
}

/// Returns twice the measured time, rounded up to seconds, if it exceeds the default timeout of an
/// `expect`.
fn timeout_for(took: Duration) -> Option<Duration> {
    let patience = took.saturating_mul(2);
    (patience > DEFAULT_WITHIN).then(|| Duration::from_secs(patience.as_secs().saturating_add(1)))
}
