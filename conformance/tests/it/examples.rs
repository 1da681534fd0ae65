//! The examples pass every check, and match their transcripts and the recordings of the Go host.

use std::fs;

use serde_json::Value;
use zot_conform::transcript::{Recorder, Verb, from_recording, parse};
use zot_test_support::recordings::recording;

use crate::stage::{Stage, example};

/// Returns the outcomes that are neither `pass` nor `not_applicable`, without their exchanges.
fn unexpected(report: &Value) -> Vec<String> {
    let outcomes = report["outcomes"].as_array().expect("an array").iter();
    outcomes
        .filter(|it| !matches!(it["verdict"].as_str(), Some("pass" | "not_applicable")))
        .map(|it| format!("{} {} {}", it["id"], it["verdict"], it["findings"]))
        .collect()
}

/// Checks an example with the full profile and replays all of its transcripts.
fn conforms(name: &str) {
    let Some(stage) = example(name) else { return };
    // Retry with a larger time scale, because the machine may be busy.
    let run_with_scale = |scale: &str| {
        let args = ["ext", "--profile", "full", "--strict", "--report", "json"];
        let output = stage.conform(&[&args[..], &["--timeout-scale", scale]].concat());
        serde_json::from_str::<Value>(&output.out).expect("JSON")
    };
    let mut report = run_with_scale("3");
    if !unexpected(&report).is_empty() {
        eprintln!("retrying: {name} {:#?}", unexpected(&report));
        report = run_with_scale("12");
    }
    assert!(unexpected(&report).is_empty(), "{:#?}", unexpected(&report));
    let outcomes = report["outcomes"].as_array().expect("an array");
    let held = outcomes.iter().find(|it| it["id"] == "MAN-05");
    let held = held.expect("every check is in the report");
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

/// Converts a recording to a transcript, adapts it where our extension differs from the Go one on
/// purpose, accepts the text of our extension, and replays it. Ids, actions, blocks, and the order
/// and types of frames must stay the same as in the recording.
fn replays(
    name: &str,
    adapt: impl Fn(String) -> String,
    prepare: impl Fn(&Stage),
) -> Option<String> {
    let stage = example(name)?;
    prepare(&stage);
    let recorded = from_recording(Recorder::new(name), &recording(name).text).unwrap();
    let adapted = adapt(recorded.to_text());
    fs::write(stage.path("go.zt.ndjson"), &adapted).unwrap();
    stage.conform(&["accept", "go.zt.ndjson", "ext"]).exits(0);
    stage.conform(&["replay", "go.zt.ndjson", "ext"]).exits(0);
    let accepted = stage.read("go.zt.ndjson");
    assert_eq!(structure(&accepted), structure(&adapted));
    Some(accepted)
}

/// Returns the structure of a transcript, without its text.
fn structure(text: &str) -> Vec<String> {
    let steps = parse(text).unwrap().steps;
    let fields = |source: &Value| {
        let kept = ["type", "id", "action", "block"].map(|key| source[key].to_string());
        kept.join(" ")
    };
    let steps = steps.iter().map(|step| match &step.verb {
        Verb::Send(template) => format!("send {}", template.source()),
        Verb::Expect(expect) => fields(expect.frame.source()),
        other => format!("{other:?}"),
    });
    steps.collect()
}

#[test]
fn our_clock_replays_the_go_recording() {
    // The Go clock has /now and /uptime, which submits a prompt; ours has /timer, which does not.
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
fn our_guard_replays_the_go_recording() {
    // Our guard also notifies the user, and allows deleting a directory tree in /tmp.
    let adapt = |text: String| {
        text.replacen("{\"zt\":1,", "{\"zt\":1,\"ignore\":[\"notify\"],", 1)
            .replace("rm -rf /tmp/foo", "rm -rf ~")
    };
    let Some(accepted) = replays("guard", adapt, |_| {}) else {
        return;
    };
    // Like the Go guard, ours allows the first call and blocks the second.
    assert!(
        accepted.contains(r#""id":{"$ref":"intercept2"},"block":true,"reason":"guard: blocked"#),
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
fn our_weather_replays_the_go_recording() {
    // Our weather extension reports progress, so the replay ignores `tool_progress`. The service that
    // it queries is unreachable here, so it returns an error result, which matches the recording.
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
