//! Frames as they pass into a transcript that can be played elsewhere.

mod handshake;
mod ids;

use std::time::Duration;

use serde_json::Value;

use self::ids::Ids;
use super::{
    DEFAULT_WITHIN, Expect, Head, Pattern, Place, Places, Step, Template, Transcript, Verb,
    scrub::Scrub,
};
use crate::Party;

/// Makes a transcript of the frames that it is told, one by one.
///
/// Ids get names. The paths of this machine become wildcards in what is expected and `$fill` in what is sent; times
/// become wildcards in what is expected; the value of a secret becomes a wildcard, or [`super::SECRET`] where it was
/// sent. `cwd`, `extension_dir` and `data_dir` are taken from `hello_ack` where they were not told.
#[derive(Debug, Clone)]
pub struct Recorder {
    head: Head,
    scrub: Scrub,
    ids: Ids,
    recorded: Vec<Recorded>,
    last: Duration,
}

/// One frame that has passed.
#[derive(Debug, Clone)]
struct Recorded {
    who: Party,
    kind: String,
    verb: Verb,
}

impl Recorder {
    /// Begins a transcript of this name.
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

    /// With a sentence on what it shows.
    #[must_use]
    pub fn about(mut self, about: impl Into<String>) -> Self {
        self.head.about = Some(about.into());
        self
    }

    /// With the paths of this machine, which are not written down.
    #[must_use]
    pub fn places(mut self, places: Places) -> Self {
        self.scrub.places = places;
        self
    }

    /// With a value that is not written down. One of less than four bytes is none.
    #[must_use]
    pub fn secret(mut self, value: impl Into<String>) -> Self {
        self.scrub.add_secret(value.into());
        self
    }

    /// A frame has passed, `at` since the start.
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
                    within: patience(took),
                    ..Expect::from(frame)
                })
            }),
        };
        // What is written down is escaped, so it compiles; if it ever did not, a remark says that something is missing.
        let verb = verb.unwrap_or_else(|error| {
            Verb::Remark(format!("a frame of type {kind:?} is left out: {error}"))
        });
        self.recorded.push(Recorded {
            who,
            kind: kind.to_owned(),
            verb,
        });
    }

    /// The transcript so far.
    pub fn transcript(&self) -> Transcript {
        let verbs = handshake::collapsed(&self.recorded);
        // The head is line 1.
        let steps = verbs.into_iter().zip(2..);
        Transcript {
            head: self.head.clone(),
            steps: steps.map(|(verb, line)| Step { line, verb }).collect(),
        }
    }

    /// The transcript.
    pub fn finish(self) -> Transcript {
        self.transcript()
    }

    /// What the extension must have for this to be played, and where this host says that things are.
    fn note_use(&mut self, kind: &str, frame: &Value) {
        let needs = &mut self.head.needs;
        let (list, key) = match kind {
            "tool_call" => (&mut needs.tools, "name"),
            "command_invoked" => (&mut needs.commands, "name"),
            "event_intercept" => (&mut needs.intercept, "event"),
            "hello_ack" => return self.learn_places(frame),
            _ => return,
        };
        if let Some(name) = frame.get(key).and_then(Value::as_str)
            && !list.iter().any(|known| known == name)
        {
            list.push(name.to_owned());
        }
    }

    fn learn_places(&mut self, hello_ack: &Value) {
        for place in [Place::Cwd, Place::ExtensionDir, Place::DataDir] {
            let told = hello_ack.get(place.name()).and_then(Value::as_str);
            if let Some(path) = told
                && self.scrub.places.get(place).is_none()
            {
                self.scrub.places.set(place, path);
            }
        }
    }
}

/// Twice what it took, where that is more than an `expect` waits by itself.
fn patience(took: Duration) -> Option<Duration> {
    let patience = took.saturating_mul(2);
    (patience > DEFAULT_WITHIN).then(|| Duration::from_secs(patience.as_secs().saturating_add(1)))
}
