//! The frames that lead to a failure, and smaller variants of them.

use std::time::Duration;

use serde_json::{Value, json};
use zot_protocol::{FromHost, Object, validate};

use crate::{
    Party, arguments,
    check::Plan,
    reply::Reply,
    surface::text,
    transcript::{
        Bindings, Expect, Needs, Pattern, Recorder, Template, Transcript, Verb, play::missing,
        smaller, validate_sends,
    },
};

/// Frame types that an extension may send at any time, unrelated to the request.
const UNSOLICITED: [&str; 9] = [
    "notify",
    "clear_notes",
    "tool_progress",
    "open_panel",
    "panel_render",
    "panel_close",
    "submit",
    "call_tool",
    "call_tool_cancel",
];
/// Fields of a request that shrinking must not change.
const KEPT_FIELDS: [&str; 6] = ["type", "id", "name", "event", "tool_id", "tool_name"];

/// The host's frames after the handshake. The last one is a request without a reply.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Case {
    frames: Vec<Value>,
    /// The timeout for the reply.
    pub(super) limit: Duration,
    /// Whether the extension registers everything that the frames name. Otherwise, the transcript
    /// must not list those names as needed.
    is_registered: bool,
}

impl Case {
    /// Creates a reproducible case; `None` if the last frame is not a request or a frame cannot be
    /// written to a transcript.
    pub(super) fn of(plan: &Plan, mut frames: Vec<Value>) -> Option<Self> {
        // Drop replies to the extension: in the next process, the extension may not have made the
        // call.
        frames.retain(|frame| !matches!(text(frame, "type"), "tool_result" | "error"));
        let limit = plan.patience(&Reply::to(frames.last()?)?);
        let mut case = Self {
            frames,
            limit,
            is_registered: true,
        };
        let needs = case.transcript(limit).head.needs;
        case.is_registered = missing(&needs, &plan.survey.surface).is_empty();
        validate_sends(&case.transcript(limit)).ok()?;
        Some(case)
    }

    /// Returns the name of the tool in the last frame.
    pub(super) fn tool(&self) -> &str {
        let last = self.frames.last();
        last.filter(|frame| text(frame, "type") == "tool_call")
            .map_or("", |frame| text(frame, "name"))
    }

    /// Returns the frames with stable ids, one per line.
    pub(super) fn input(&self) -> String {
        let mut bindings = Bindings::default();
        let steps = self.transcript(self.limit).steps;
        let frames = steps.iter().filter_map(|step| match &step.verb {
            Verb::Send(template) => template.fill(&mut bindings).ok(),
            _ => None,
        });
        let frames: Vec<String> = frames.map(|frame| frame.to_string()).collect();
        frames.join("\n")
    }

    /// Converts the case to a transcript: replies are optional for all requests but the last.
    pub(super) fn transcript(&self, within: Duration) -> Transcript {
        let mut recorder = Recorder::new("");
        for frame in &self.frames {
            recorder.frame(Party::Host, frame, Duration::ZERO);
        }
        let written = recorder.finish();
        let mut head = written.head;
        head.name = None;
        if !self.is_registered {
            head.needs = Needs::default();
        }
        head.ignore = UNSOLICITED.map(str::to_owned).to_vec();
        let mut verbs = vec![Verb::UseHandshake];
        let last = self.frames.len() - 1;
        for (index, (step, frame)) in written.steps.into_iter().zip(&self.frames).enumerate() {
            let reply = match &step.verb {
                Verb::Send(template) => reply(frame, template),
                _ => None,
            };
            verbs.push(step.verb);
            verbs.extend(reply.map(|frame| {
                Verb::Expect(Expect {
                    within: (index == last).then_some(within),
                    optional: index != last,
                    frame,
                })
            }));
        }
        Transcript::new(head, verbs)
    }

    /// Returns cases with fewer frames before the last.
    pub(super) fn fewer(&self) -> Vec<Self> {
        let whole = self.transcript(self.limit);
        let lines = |transcript: &Transcript| -> Vec<usize> {
            let sends = transcript.steps.iter();
            let sends = sends.filter(|step| matches!(step.verb, Verb::Send(_)));
            sends.map(|step| step.line).collect()
        };
        let all = lines(&whole);
        let mut found: Vec<Self> = Vec::new();
        for candidate in smaller(&whole) {
            let kept = lines(&candidate);
            if kept.last() != all.last() || kept.len() == all.len() {
                continue;
            }
            let frames = all.iter().zip(&self.frames);
            let frames = frames.filter(|(line, _)| kept.contains(line));
            let case = Self {
                frames: frames.map(|(_, frame)| frame.clone()).collect(),
                ..self.clone()
            };
            if !found.contains(&case) {
                found.push(case);
            }
        }
        found
    }

    /// Returns cases with a simpler last frame. Valid arguments stay valid and invalid ones stay
    /// invalid, because a failure on valid arguments is not the same as one on invalid arguments.
    pub(super) fn simpler(&self, plan: &Plan) -> Vec<Self> {
        let Some(Value::Object(last)) = self.frames.last() else {
            return Vec::new();
        };
        let (fixed, payload): (Object, Object) = last
            .clone()
            .into_iter()
            .partition(|(key, _)| KEPT_FIELDS.contains(&key.as_str()));
        let fits = |frame: &Value| {
            let tool = plan
                .survey
                .surface
                .tools
                .iter()
                .find(|it| it.name == self.tool());
            let arguments = tool.and_then(|tool| tool.arguments.as_ref().ok());
            let args = frame.get("args").and_then(Value::as_object);
            Some(arguments?.is_valid(args?))
        };
        let fitted = fits(&last.clone().into());
        let mut found = Vec::new();
        for less in arguments::smaller(&payload) {
            if less.len() < payload.len() {
                continue;
            }
            let mut frame = fixed.clone();
            frame.extend(less);
            // Keep the order of the fields.
            let frame: Object = last
                .keys()
                .map(|key| (key.clone(), frame[key].clone()))
                .collect();
            let frame = Value::Object(frame);
            if validate::value::<FromHost>(&frame).is_ok() && fits(&frame) == fitted {
                let mut case = self.clone();
                case.frames.pop();
                case.frames.push(frame);
                found.push(case);
            }
        }
        found
    }
}

/// Returns a pattern for any reply to a request.
fn reply(frame: &Value, template: &Template) -> Option<Pattern> {
    let reply = Reply::to(frame)?;
    let id = &template.source()["id"];
    let name = id.get("$new").or(id.get("$ref"));
    let id = name.map_or_else(|| id.clone(), |name| json!({"$ref": name}));
    Pattern::new(json!({"type": reply.kind, "id": id})).ok()
}
