//! `zot-conform replay`, and the transcripts in a run.

use serde_json::json;

use crate::stage::Stage;

const GREETS: &str = r#"{"zt":1,"about":"replies with a greeting","needs":{"commands":["greet"]}}
{"use":"handshake"}
{"send":{"type":"command_invoked","id":{"$new":"a"},"name":"greet","args":"you"}}
{"expect":{"type":"command_response","id":{"$ref":"a"},"display":"hello [..]"}}
"#;

/// All verbs.
const ALL: &str = r##"{"zt":1,"about":"every verb","ignore":["notify"]}
{"#":"the handshake"}
{"use":"handshake"}
{"send":{"type":"command_invoked","id":{"$new":"a"},"name":"note","args":"x"}}
{"expect":{"type":"tool_progress"},"optional":true,"within":"50ms"}
{"expect":{"type":"command_response","id":{"$ref":"a"},"display":{"$re":"x$"}}}
{"split":[1,10]}
{"send":{"type":"tool_call","id":{"$new":"b"},"name":"repeat","args":{"text":"ü"}}}
{"send":{"type":"tool_call","id":{"$new":"c"},"name":"repeat","args":{"text":"z","times":2}}}
{"unordered":[{"type":"tool_result","id":{"$ref":"c"},"content":[{"text":"zz"}]},{"expect":{"type":"tool_progress"},"optional":true},{"type":"tool_result","id":{"$ref":"b"}}],"within":"20s"}
{"raw":"this is "}
{"raw":"no frame\n"}
{"stderr":"not a frame: this is no frame"}
{"quiet":"50ms"}
{"raw":"{\"type\":\"command_invoked\",\"id\":\"by-hand\",\"name\":\"greet\",\"args\":\"\"}\n"}
{"expect":{"type":"command_response","id":"by-hand","display":"hello"}}
{"send":{"type":"command_invoked","id":{"$new":"d"},"name":"ask","args":"notes"}}
{"expect":{"type":"call_tool","id":{"$cap":"theirs"},"args":{"path":"notes"}}}
{"send":{"type":"tool_result","id":{"$ref":"theirs"},"name":"read","content":[{"type":"text","text":"milk"}],"is_error":false}}
{"expect":{"type":"command_response","id":{"$ref":"d"}}}
{"stall_stdout":"100ms"}
{"send":{"type":"command_invoked","id":{"$new":"e"},"name":"greet","args":"late"}}
{"expect":{"type":"command_response","id":{"$ref":"e"}}}
{"wait":"10ms"}
{"signal":"TERM"}
{"stderr":{"$re":"^terminated"}}
{"exit":{"code":7},"within":"20s"}
{"close_stdin":true}
"##;

#[test]
fn every_verb_is_played() {
    let stage = Stage::configurable(&[]);
    stage.transcript("all", ALL);
    let output = stage
        .conform(&["replay", "ext/conform/all.zt.ndjson"])
        .exits(0);
    assert!(output.out.contains("conforms: 1 pass"), "{}", output.out);
}

#[test]
fn each_kind_of_step_can_fail() {
    let stage = Stage::configurable(&[]);
    let ask = r#"{"send":{"type":"command_invoked","id":{"$new":"a"},"name":"note","args":"x"}}"#;
    let mut all = String::new();
    for step in [
        r#"{"expect":{"type":"command_response","id":{"$ref":"a"}}}"#,
        r#"{"expect":{"type":"notify","level":"warn"}}"#,
        r#"{"unordered":[{"type":"notify"},{"type":"command_response","id":{"$ref":"a"},"display":"bye"}]}"#,
        r#"{"unordered":[{"type":"notify"},{"type":"command_response"},{"type":"submit"}],"within":"4s"}"#,
        r#"{"quiet":"20s"}"#,
        r#"{"exit":{"code":0},"within":"100ms"}"#,
        r#"{"stderr":"nothing of the kind","within":"100ms"}"#,
        r#"{"expect":{"type":"notify","id":{"$cap":"n"},"message":{"$any":true}},"within":"20s"}"#,
    ] {
        let lines = format!("{{\"zt\":1}}\n{{\"use\":\"handshake\"}}\n{ask}\n{step}\n");
        stage.transcript("x", &lines);
        let output = stage
            .conform(&["replay", "ext/conform/x.zt.ndjson"])
            .exits(1);
        let (_, failure) = output
            .out
            .split_once("✗ transcript/x matches")
            .expect("the finding");
        all.push_str(&format!("{step}\n{}\n", failure.trim()));
    }
    insta::assert_snapshot!(all);
}

#[test]
fn a_mismatch_is_shown_with_line_and_pointer() {
    let stage = Stage::configurable(&["--greeting", "good day"]);
    stage.transcript("greets", GREETS);
    let output = stage
        .conform(&["replay", "ext/conform/greets.zt.ndjson"])
        .exits(1);
    insta::assert_snapshot!(output.all());
}

#[test]
fn a_missing_reply_is_diagnosed() {
    let stage = Stage::configurable(&["--buffered"]);
    let greets = GREETS.replace("[..]\"}}", "[..]\"},\"within\":\"500ms\"}");
    stage.transcript("greets", &greets);
    let output = stage
        .conform(&["replay", "ext/conform/greets.zt.ndjson"])
        .exits(1);
    assert!(
        output.out.contains("stdout is block-buffered"),
        "{}",
        output.out
    );
    assert!(output.out.contains("flush=True"), "{}", output.out);
}

#[test]
fn a_rule_broken_during_replay_is_a_failure() {
    let stage = Stage::configurable(&["--twice"]);
    stage.transcript("greets", GREETS);
    let output = stage
        .conform(&["replay", "ext/conform/greets.zt.ndjson"])
        .exits(1);
    assert!(
        output.out.contains("ROB-10: a second reply to"),
        "{}",
        output.out
    );
}

#[test]
fn a_transcript_with_unmet_needs_is_not_exercised() {
    let stage = Stage::configurable(&["--no-command"]);
    stage.transcript("greets", GREETS);
    let output = stage
        .conform(&["replay", "ext/conform/greets.zt.ndjson"])
        .exits(2);
    assert!(
        output
            .err
            .starts_with("transcript/greets: it does not register the command `/greet`\n"),
        "{}",
        output.err
    );
}

#[test]
fn an_invalid_transcript_is_reported_before_anything_starts() {
    let stage = Stage::configurable(&[]);
    for (lines, why) in [
        (
            "{\"zt\":1}\n{\"sned\":{}}\n",
            "error: ext/conform/x.zt.ndjson:2: unknown verb `sned`; did you mean `send`?\n",
        ),
        (
            "{\"zt\":1}\n\n{\"send\":{\"type\":\"tool_call\",\"id\":\"1\",\"args\":{}}}\n",
            "error: ext/conform/x.zt.ndjson:3: not a valid host frame: tool_call: ",
        ),
    ] {
        stage.transcript("x", lines);
        for args in [
            &["replay", "ext/conform/x.zt.ndjson"][..],
            &["ext"],
            &["accept", "ext/conform/x.zt.ndjson"],
        ] {
            let output = stage.conform(args).exits(2);
            assert!(output.err.starts_with(why), "{args:?}: {}", output.err);
        }
    }
}

#[test]
fn the_extension_is_found_or_must_be_given() {
    let stage = Stage::configurable(&[]);
    stage.transcript("greets", GREETS);
    stage
        .conform(&["replay", "ext/conform/greets.zt.ndjson", "ext"])
        .exits(0);
    std::fs::copy(
        stage.path("ext/conform/greets.zt.ndjson"),
        stage.path("a.zt.ndjson"),
    )
    .unwrap();
    let output = stage.conform(&["replay", "a.zt.ndjson"]).exits(2);
    assert_eq!(
        output.err,
        "error: `a.zt.ndjson` does not specify its extension\nhint: pass the extension's directory after the transcript\n"
    );
    let named = GREETS.replacen("{\"zt\":1", "{\"zt\":1,\"extension\":\"ext\"", 1);
    std::fs::write(stage.path("b.zt.ndjson"), named).unwrap();
    stage.conform(&["replay", "b.zt.ndjson"]).exits(0);
    let output = stage.conform(&["replay", "no-such-id"]).exits(2);
    assert_eq!(
        output.err,
        "error: no file or saved failure named `no-such-id`\n"
    );
    let output = stage.conform(&["replay", "a.zt.ndjson", "home"]).exits(2);
    assert!(output.err.contains("named `home`"), "{}", output.err);
}

#[test]
fn a_run_plays_the_selected_transcripts() {
    let stage = Stage::configurable(&[]);
    stage.transcript("greets", GREETS);
    stage.transcript("other", &GREETS.replace("hello", "bye"));
    let output = stage
        .conform(&["ext", "--only", "transcript/gr*", "--only", "CMD-01"])
        .exits(0);
    assert!(output.out.contains("conforms: 2 pass"), "{}", output.out);
    let output = stage
        .conform(&[
            "ext",
            "--only",
            "transcript/*",
            "--skip",
            "transcript/other",
        ])
        .exits(0);
    assert!(output.out.contains("conforms: 1 pass"), "{}", output.out);
    let output = stage.conform(&["ext", "--only", "transcript/*"]).exits(1);
    assert!(output.out.contains("1 pass"), "{}", output.out);
    assert!(
        output
            .out
            .contains("repeat: zot-conform replay ext/conform/other.zt.ndjson\n"),
        "{}",
        output.out
    );
}

#[test]
fn transcripts_are_blocked_if_the_extension_cannot_start() {
    let stage = Stage::configurable(&["--no-such-flags"]);
    stage.transcript("greets", GREETS);
    let output = stage
        .conform(&["replay", "ext/conform/greets.zt.ndjson"])
        .exits(3);
    assert!(output.out.contains("blocked by HEL-01"), "{}", output.out);
    assert!(
        output.out.contains("unrecognized arguments"),
        "{}",
        output.out
    );
}

/// The harness plays both the host and the extension.
#[test]
fn a_transcript_plays_both_ways() {
    let stage = Stage::empty();
    let file = stage.path("ext/conform/greets.zt.ndjson");
    let args = json!(["replay", "--as-extension", file]);
    stage.manifest(
        &json!({"name": "configurable", "exec": env!("CARGO_BIN_EXE_zot-conform"), "args": args}),
    );
    let shutdown = "{\"send\":{\"type\":\"shutdown\"}}\n{\"expect\":{\"type\":\"shutdown_ack\"}}\n{\"exit\":{\"code\":0}}\n";
    stage.transcript("greets", &format!("{GREETS}{shutdown}"));
    stage
        .conform(&["replay", "ext/conform/greets.zt.ndjson"])
        .exits(0);
    // Without an `exit` step, the extension waits for the host to shut it down.
    stage.transcript("greets", GREETS);
    stage
        .conform(&["replay", "ext/conform/greets.zt.ndjson"])
        .exits(0);
}

#[test]
fn a_host_that_deviates_from_the_transcript_fails() {
    let stage = Stage::empty();
    stage.transcript("greets", GREETS);
    let args = ["replay", "--as-extension", "ext/conform/greets.zt.ndjson"];
    let ack = r#"{"type":"hello_ack","protocol_version":1,"zot_version":"1","provider":"p","model":"m","cwd":"/w"}"#;
    let mut all = String::new();
    for input in [
        format!(
            "{ack}\n{}\n",
            r#"{"type":"command_invoked","id":"7","name":"greet","args":"me"}"#
        ),
        format!("{ack}\n{}\n", r#"{"type":"shutdown"}"#),
        format!("{ack}\n"),
        "{\"type\":\"hello_ack\"}\n".to_owned(),
        "hello?\n".to_owned(),
    ] {
        let output = stage.conform_with(&args, &input).exits(1);
        all.push_str(&format!("{input}---\n{}{}\n", output.out, output.err));
    }
    insta::assert_snapshot!(all);
    let asked = r#"{"type":"command_invoked","id":"7","name":"greet","args":"you"}"#;
    let output = stage.conform_with(&args, &format!("{ack}\n{asked}\n"));
    let output = output.exits(0);
    assert!(
        output
            .out
            .ends_with("{\"type\":\"command_response\",\"id\":\"7\",\"display\":\"hello \"}\n"),
        "{}",
        output.out
    );
}
