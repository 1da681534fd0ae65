//! Recorded sessions of the original Go program: for the same inputs, our host sends the same
//! frames.
//!
//! The comparison ignores ids, fields that only this protocol version has, and the value of `stop`.
//! Where the Go program's order is nondeterministic, frames are sorted into causal order.

use std::sync::Arc;

use serde_json::{Value, json};
use zot_protocol::{
    CommandInvoked, Event, FromExtension, FromHost, HelloAck, Tagged, ToolCall, limits::AUTO_READY,
    validate,
};
use zot_test_support::recordings::{Recording, recordings};

use crate::support::{HostFixture, SentFrames, until, within};

/// The frames of a recording: the host's frames, and the extension's answers.
struct Session {
    sent: Vec<Value>,
    commands: usize,
    answers: Vec<Value>,
}

impl Session {
    fn sorted(recording: &Recording) -> Self {
        let (mut sent, mut answers, mut commands) = (Vec::new(), Vec::new(), 0);
        for (from_extension, frame) in recording.frames() {
            if !from_extension {
                sent.push(frame);
            } else if frame.get("id").is_some() {
                answers.push(frame);
            } else {
                commands += usize::from(frame["type"] == "register_command");
            }
        }
        sort_steps(&mut sent);
        Self {
            sent,
            commands,
            answers,
        }
    }

    /// The extension's recorded answer to a request.
    fn answer(&self, request: &Value) -> FromExtension {
        let answer = self.answers.iter().find(|it| it["id"] == request["id"]);
        let line = answer.expect("answered").to_string();
        validate::frame(line.as_bytes()).unwrap()
    }
}

/// Sorts the frames of each step into causal order: message, tool calls, end of the turn, results.
fn sort_steps(frames: &mut [Value]) {
    let is_start = |frame: &Value| frame["type"] == "event" && frame["event"] == "turn_start";
    let rank = |frame: &Value| match (frame["type"].as_str(), frame["event"].as_str()) {
        (Some("event"), Some("turn_start")) => 0,
        (Some("event_intercept"), Some("turn_start")) => 1,
        (_, Some("assistant_message")) => 2,
        (Some("event"), Some("tool_call")) => 3,
        (Some("event"), Some("turn_end")) => 4,
        (Some("event_intercept"), Some("tool_call")) => 5,
        (_, Some("tool_result")) => 6,
        _ => 7,
    };
    let starts: Vec<usize> = (0..frames.len())
        .filter(|&at| is_start(&frames[at]))
        .chain([frames.len()])
        .collect();
    for step in starts.windows(2) {
        frames[step[0]..step[1]].sort_by_key(rank);
    }
}

/// Removes the fields that the comparison ignores.
fn without_ignored_fields(frame: &Value) -> Value {
    let mut frame = frame.as_object().unwrap().clone();
    // Frames about one of the model's tool calls also have `tool_id`, which is compared.
    frame.remove("id");
    let ignored: &[&str] = match frame["type"].as_str() {
        Some("hello_ack") => &[
            "extension_dir",
            "data_dir",
            "capabilities",
            "supported_events",
            "supported_intercepts",
        ],
        _ => &[],
    };
    for field in ignored {
        frame.remove(*field);
    }
    if let Some(stop) = frame.get_mut("stop") {
        *stop = json!("(ignored)");
    }
    // The Go program omits empty arguments.
    if frame["type"] == "command_invoked" && frame.get("args") == Some(&json!("")) {
        frame.remove("args");
    }
    frame.into()
}

/// Makes the host send `frame`, and compares its result with the recorded one.
async fn drive(fixture: &HostFixture, frame: &Value, recording: &Session) {
    match validate::frame::<FromHost>(frame.to_string().as_bytes()).unwrap() {
        FromHost::HelloAck(_) => {}
        FromHost::CommandInvoked(CommandInvoked { name, args, .. }) => {
            let ours = fixture.host.command(&name, &args).await.expect("answers");
            let FromExtension::CommandResponse(theirs) = recording.answer(frame) else {
                panic!("not an answer to a command");
            };
            assert_eq!(
                (ours.action, ours.display, ours.prompt),
                (theirs.action, theirs.display, theirs.prompt)
            );
        }
        FromHost::ToolCall(ToolCall { name, args, .. }) => {
            let ours = fixture
                .host
                .tool(&name, args, |_| {})
                .await
                .expect("answers");
            let FromExtension::ToolResult(theirs) = recording.answer(frame) else {
                panic!("not an answer to a tool call");
            };
            assert_eq!(ours.content, theirs.content);
        }
        FromHost::Event(Event::SessionStart(_)) => fixture.host.start_session(),
        FromHost::Event(event) => fixture.host.send_event(&event),
        FromHost::EventIntercept(asked) => {
            let ours = fixture.host.intercept(asked.event.clone()).await.result;
            let FromExtension::EventInterceptResponse(theirs) = recording.answer(frame) else {
                panic!("not an answer to an interception");
            };
            match ours {
                Ok(event) => assert!(!theirs.block && event == asked.event),
                Err(block) => assert_eq!((theirs.block, theirs.reason), (true, Some(block.reason))),
            }
        }
        FromHost::Shutdown(_) => fixture.host.shutdown().await,
        other => panic!("unsupported frame {:?}", other.name()),
    }
}

async fn replay(recorded: &Recording) {
    let name = &recorded.name;
    let recording = Session::sorted(recorded);
    let ack = &recording.sent[0];
    let field = |name: &str| ack[name].as_str().unwrap();
    let sent = Arc::new(SentFrames::default());
    let fixture = HostFixture::set_up(|config| {
        // Some recorded extensions never send `ready`, so use the real timeout, which is short.
        config.limits.auto_ready = AUTO_READY;
        config.ack = HelloAck::new(
            1,
            field("zot_version"),
            field("provider"),
            field("model"),
            field("cwd"),
        );
        config.tap = Some(Arc::<SentFrames>::clone(&sent));
    });
    let plays = fixture.script(name, "replay.py", vec![recorded.path.display().to_string()]);
    let stats = within("load", fixture.host.load(vec![plays])).await;
    assert_eq!((stats.ready, stats.errors.len()), (1, 0), "{stats:?}");
    until("all commands are registered", || {
        fixture.host.registry().commands().len() == recording.commands
    })
    .await;
    for frame in &recording.sent {
        within(&frame.to_string(), drive(&fixture, frame, &recording)).await;
    }
    let ours: Vec<Value> = sent.to(name).iter().map(without_ignored_fields).collect();
    let theirs: Vec<Value> = recording.sent.iter().map(without_ignored_fields).collect();
    assert_eq!(ours, theirs, "{name}");
    assert!(fixture.notes.all().is_empty(), "{:?}", fixture.notes.all());
}

#[tokio::test]
async fn the_host_sends_the_same_frames_as_the_go_program() {
    for recording in recordings() {
        replay(&recording).await;
    }
}

#[test]
fn frames_of_a_step_are_sorted() {
    let event = |event: &str| json!({"type": "event", "event": event});
    let asked = json!({"type": "event_intercept", "event": "tool_call"});
    let mut frames = vec![
        event("turn_start"),
        asked.clone(),
        event("turn_end"),
        event("tool_call"),
        event("turn_start"),
        event("turn_end"),
    ];
    sort_steps(&mut frames);
    let expected = [
        event("turn_start"),
        event("tool_call"),
        event("turn_end"),
        asked,
        event("turn_start"),
        event("turn_end"),
    ];
    assert_eq!(frames, expected);
}
