//! Real sessions of the Go program: for the same inputs our host says the same frames.
//!
//! Left aside are ids, the fields that this protocol adds, and the value of `stop`; and where the Go program's order is
//! a matter of luck, the order is the one in which things happen.

use std::{fs, path::Path, sync::Arc};

use serde_json::{Value, json};
use zot_protocol::{
    CommandInvoked, Event, FromExtension, FromHost, HelloAck, Tagged, ToolCall, limits::AUTO_READY,
    validate,
};

use crate::support::{Said, Stage, shared, until, within};

/// The frames of a recording: those of the host, and the extension's answers.
struct Recording {
    said: Vec<Value>,
    commands: usize,
    answers: Vec<Value>,
}

impl Recording {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).expect("a text");
        let (mut said, mut answers, mut commands) = (Vec::new(), Vec::new(), 0);
        for line in text.lines() {
            let record: Value = serde_json::from_str(line).expect("a line of JSON");
            let frame = record["frame"].clone();
            match record["dir"].as_str() {
                Some(">") => said.push(frame),
                Some("<") if frame.get("id").is_some() => answers.push(frame),
                Some("<") => commands += usize::from(frame["type"] == "register_command"),
                other => panic!("no such direction: {other:?}"),
            }
        }
        in_order(&mut said);
        Self {
            said,
            commands,
            answers,
        }
    }

    /// What the extension answered to a request.
    fn answer(&self, request: &Value) -> FromExtension {
        let answer = self.answers.iter().find(|it| it["id"] == request["id"]);
        let line = answer.expect("answered").to_string();
        validate::frame(line.as_bytes()).expect("a frame")
    }
}

/// Puts each step into the order in which things happen: what the model said, that it has said it, what comes of it.
fn in_order(frames: &mut [Value]) {
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

/// A frame without what is left aside.
fn plain(frame: &Value) -> Value {
    let mut frame = frame.as_object().expect("an object").clone();
    // Where a frame refers to a tool call of the model it has `tool_id`, which stays.
    frame.remove("id");
    let aside: &[&str] = match frame["type"].as_str() {
        Some("hello_ack") => &[
            "extension_dir",
            "data_dir",
            "capabilities",
            "supported_events",
            "supported_intercepts",
        ],
        _ => &[],
    };
    for field in aside {
        frame.remove(*field);
    }
    if let Some(stop) = frame.get_mut("stop") {
        *stop = json!("(aside)");
    }
    // The Go program leaves empty arguments out.
    if frame["type"] == "command_invoked" && frame.get("args") == Some(&json!("")) {
        frame.remove("args");
    }
    frame.into()
}

/// Does to a host what made the Go program say `frame`, and compares what comes of it.
async fn drive(stage: &Stage, frame: &Value, recording: &Recording) {
    match validate::frame::<FromHost>(frame.to_string().as_bytes()).expect("a frame") {
        FromHost::HelloAck(_) => {}
        FromHost::CommandInvoked(CommandInvoked { name, args, .. }) => {
            let ours = stage.host.command(&name, &args).await.expect("answers");
            let FromExtension::CommandResponse(theirs) = recording.answer(frame) else {
                panic!("not an answer to a command");
            };
            assert_eq!(
                (ours.action, ours.display, ours.prompt),
                (theirs.action, theirs.display, theirs.prompt)
            );
        }
        FromHost::ToolCall(ToolCall { name, args, .. }) => {
            let ours = stage.host.tool(&name, args, |_| {}).await.expect("answers");
            let FromExtension::ToolResult(theirs) = recording.answer(frame) else {
                panic!("not an answer to a tool call");
            };
            assert_eq!(ours.content, theirs.content);
        }
        FromHost::Event(Event::SessionStart(_)) => stage.host.start_session(),
        FromHost::Event(event) => stage.host.tell(&event),
        FromHost::EventIntercept(asked) => {
            let ours = stage.host.intercept(asked.event.clone()).await.result;
            let FromExtension::EventInterceptResponse(theirs) = recording.answer(frame) else {
                panic!("not an answer to an interception");
            };
            match ours {
                Ok(event) => assert!(!theirs.block && event == asked.event),
                Err(block) => assert_eq!((theirs.block, theirs.reason), (true, Some(block.reason))),
            }
        }
        FromHost::Shutdown(_) => stage.host.shutdown().await,
        other => panic!("nothing here makes a host say {:?}", other.name()),
    }
}

async fn replay(path: &Path) {
    let recording = Recording::read(path);
    let name = path.file_stem().expect("a name").to_string_lossy();
    let ack = &recording.said[0];
    let field = |name: &str| ack[name].as_str().expect("a text");
    let said = Arc::new(Said::default());
    let stage = Stage::set_up(|config| {
        // Not all of them say that they are ready.
        config.limits.auto_ready = AUTO_READY;
        config.ack = HelloAck::new(
            1,
            field("zot_version"),
            field("provider"),
            field("model"),
            field("cwd"),
        );
        config.tap = Some(Arc::<Said>::clone(&said));
    });
    let plays = stage.script(&name, "replay.py", vec![path.display().to_string()]);
    let stats = within("load", stage.host.load(vec![plays])).await;
    assert_eq!((stats.ready, stats.errors.len()), (1, 0), "{stats:?}");
    until("all is registered", || {
        stage.host.registry().commands().len() == recording.commands
    })
    .await;
    for frame in &recording.said {
        within(&frame.to_string(), drive(&stage, frame, &recording)).await;
    }
    let ours: Vec<Value> = said.to(&name).iter().map(plain).collect();
    let theirs: Vec<Value> = recording.said.iter().map(plain).collect();
    assert_eq!(ours, theirs, "{}", path.display());
    assert!(stage.notes.all().is_empty(), "{:?}", stage.notes.all());
}

#[tokio::test]
async fn the_same_inputs_give_the_same_frames() {
    let Some(folder) = shared("recordings") else {
        return;
    };
    let mut paths: Vec<_> = fs::read_dir(folder)
        .expect("readable")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|it| it == "ndjson"))
        .collect();
    paths.sort();
    assert!(paths.len() >= 3, "{paths:?}");
    for path in paths {
        // By its true name: an extension works in a folder of its own.
        replay(&path.canonicalize().expect("there")).await;
    }
}

#[test]
fn a_step_is_put_in_order() {
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
    in_order(&mut frames);
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
