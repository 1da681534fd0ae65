//! The examples keep every rule and play their transcripts, and the recordings of the Go host against our equivalents.

use std::{fs, path::Path};

use serde_json::Value;
use zot_conform::transcript::{Recorder, Verb, from_recording, parse};

use crate::stage::{Stage, example};

/// What neither passed nor cannot apply, without what went over the wire for it.
fn odd(report: &Value) -> Vec<String> {
    let outcomes = report["outcomes"].as_array().expect("a list").iter();
    outcomes
        .filter(|it| !matches!(it["verdict"].as_str(), Some("pass" | "not_applicable")))
        .map(|it| format!("{} {} {}", it["id"], it["verdict"], it["findings"]))
        .collect()
}

/// Every MUST and every SHOULD that can apply, hostile arguments included, and all the transcripts of an example.
fn conforms(name: &str) {
    let Some(stage) = example(name) else { return };
    // With patience, and with more where that was not enough: what is tried here is the extension, not a busy machine.
    let patient = |scale: &str| {
        let args = ["ext", "--profile", "full", "--strict", "--report", "json"];
        let said = stage.conform(&[&args[..], &["--timeout-scale", scale]].concat());
        serde_json::from_str::<Value>(&said.out).expect("JSON")
    };
    let mut report = patient("3");
    if !odd(&report).is_empty() {
        eprintln!("again: {name} {:#?}", odd(&report));
        report = patient("12");
    }
    assert!(odd(&report).is_empty(), "{:#?}", odd(&report));
    let outcomes = report["outcomes"].as_array().expect("a list");
    let held = outcomes.iter().find(|it| it["id"] == "MAN-05");
    let held = held.expect("every check is told of");
    assert_eq!(held["verdict"], "pass", "under its own permissions: {held}");
    let transcripts = fs::read_dir(stage.path("ext/conform")).unwrap().count();
    let played = outcomes.iter().filter(|it| {
        let id = it["id"].as_str().unwrap_or_default();
        id.starts_with("transcript/") && it["verdict"] == "pass"
    });
    assert_eq!(played.count(), transcripts);
    assert!(transcripts > 0);
    eprintln!(
        "{name}: {} s",
        report["took_ms"].as_f64().unwrap_or_default() / 1e3
    );
}

#[test]
fn hello_conforms() {
    conforms("hello");
}

#[test]
fn guard_conforms() {
    conforms("guard");
}

#[test]
fn weather_conforms() {
    conforms("weather");
}

#[test]
fn redact_conforms() {
    conforms("redact");
}

#[test]
fn todo_conforms() {
    conforms("todo");
}

#[test]
fn hello_py_conforms() {
    conforms("hello-py");
}

#[test]
fn audit_conforms() {
    conforms("audit");
}

#[test]
fn clock_conforms() {
    conforms("clock");
}

#[test]
fn scratchpad_conforms() {
    conforms("scratchpad");
}

#[test]
fn fortune_conforms() {
    conforms("fortune");
}

/// Makes a transcript of a recording, adapts what the two extensions differ in by design, lets `accept` take our words,
/// and plays it. Ids, actions, blocks, the order of frames and their types must be those of the recording all the same.
fn replays(
    name: &str,
    adapt: impl Fn(String) -> String,
    prepare: impl Fn(&Stage),
) -> Option<String> {
    let recording = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../shared/recordings")
        .join(format!("{name}.ndjson"));
    let Ok(recording) = fs::read_to_string(recording) else {
        eprintln!("skipped: shared/recordings not found");
        return None;
    };
    let stage = example(name)?;
    prepare(&stage);
    let recorded = from_recording(Recorder::new(name), &recording).unwrap();
    let adapted = adapt(recorded.to_text());
    fs::write(stage.path("go.zt.ndjson"), &adapted).unwrap();
    stage.conform(&["accept", "go.zt.ndjson", "ext"]).exits(0);
    stage.conform(&["replay", "go.zt.ndjson", "ext"]).exits(0);
    let accepted = stage.read("go.zt.ndjson");
    assert_eq!(bones(&accepted), bones(&adapted));
    Some(accepted)
}

/// What a transcript says apart from its words.
fn bones(text: &str) -> Vec<String> {
    let steps = parse(text).unwrap().steps;
    let bone = |source: &Value| {
        let kept = ["type", "id", "action", "block"].map(|key| source[key].to_string());
        kept.join(" ")
    };
    let steps = steps.iter().map(|step| match &step.verb {
        Verb::Send(template) => format!("send {}", template.source()),
        Verb::Expect(expect) => bone(expect.frame.source()),
        other => format!("{other:?}"),
    });
    steps.collect()
}

#[test]
fn our_clock_replays_the_recording_of_the_go_one() {
    // Theirs has /now and /uptime, which prompts; ours has /timer, which does not.
    let adapt = |text: String| {
        text.replace(r#"["now","uptime"]"#, r#"["timer"]"#)
            .replace(r#""name":"now""#, r#""name":"timer","args":"5m tea""#)
            .replace(r#""name":"uptime""#, r#""name":"timer","args":"1h""#)
            .replace(
                r#""action":"prompt","prompt""#,
                r#""action":"display","display""#,
            )
    };
    let Some(accepted) = replays("clock", adapt, |_| {}) else {
        return;
    };
    assert!(accepted.contains("\"in 5m: tea\""), "{accepted}");
}

#[test]
fn our_guard_replays_the_recording_of_the_go_one() {
    // Ours tells the user, too, and lets a tree in /tmp go.
    let adapt = |text: String| {
        text.replacen("{\"zt\":1,", "{\"zt\":1,\"ignore\":[\"notify\"],", 1)
            .replace("rm -rf /tmp/foo", "rm -rf ~")
    };
    let Some(accepted) = replays("guard", adapt, |_| {}) else {
        return;
    };
    // Both refuse the same call and let the same one pass.
    assert!(
        accepted.contains(r#""id":{"$ref":"intercept2"},"block":true,"reason":"guard: refused"#),
        "{accepted}"
    );
    assert!(
        accepted.contains(
            r#"{"expect":{"type":"event_intercept_response","id":{"$ref":"intercept1"}}}"#
        ),
        "{accepted}"
    );
}

#[test]
fn our_weather_replays_the_recording_of_the_go_one() {
    // Ours says how far it is, and asks a service, which is not there in a test: what it says then is a result as well.
    let adapt =
        |text: String| text.replacen("{\"zt\":1,", "{\"zt\":1,\"ignore\":[\"tool_progress\"],", 1);
    let prepare = |stage: &Stage| {
        let mut manifest: Value = serde_json::from_str(&stage.read("ext/extension.json")).unwrap();
        manifest["exec"] = "/usr/bin/env".into();
        manifest["args"] = serde_json::json!([
            "WEATHER_PLACES_URL=http://127.0.0.1:1/search",
            "WEATHER_FORECAST_URL=http://127.0.0.1:1/forecast",
            "bin/weather",
        ]);
        stage.manifest(&manifest);
    };
    replays("weather", adapt, prepare);
}
