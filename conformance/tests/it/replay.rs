//! `zot-conform replay`, and the transcripts of a run.

use serde_json::json;

use crate::stage::Stage;

const GREETS: &str = r#"{"zt":1,"about":"it greets","needs":{"commands":["greet"]}}
{"use":"handshake"}
{"send":{"type":"command_invoked","id":{"$new":"a"},"name":"greet","args":"you"}}
{"expect":{"type":"command_response","id":{"$ref":"a"},"display":"hello [..]"}}
"#;

/// Every verb there is.
const ALL: &str = r##"{"zt":1,"about":"every verb","ignore":["notify"]}
{"#":"up to ready"}
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
{"stderr":{"$re":"^asked"}}
{"exit":{"code":7},"within":"20s"}
{"close_stdin":true}
"##;

#[test]
fn every_verb_is_played() {
    let stage = Stage::moody(&[]);
    stage.transcript("all", ALL);
    let said = stage
        .conform(&["replay", "ext/conform/all.zt.ndjson"])
        .exits(0);
    assert!(said.out.contains("conforms: 1 pass"), "{}", said.out);
}

#[test]
fn each_kind_of_step_can_fail() {
    let stage = Stage::moody(&[]);
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
        let said = stage
            .conform(&["replay", "ext/conform/x.zt.ndjson"])
            .exits(1);
        let (_, told) = said.out.split_once("✗ transcript/x matches").expect("told");
        all.push_str(&format!("{step}\n{}\n", told.trim()));
    }
    insta::assert_snapshot!(all);
}

#[test]
fn what_differs_is_shown_with_line_and_place() {
    let stage = Stage::moody(&["--greeting", "good day"]);
    stage.transcript("greets", GREETS);
    let said = stage
        .conform(&["replay", "ext/conform/greets.zt.ndjson"])
        .exits(1);
    insta::assert_snapshot!(said.all());
}

#[test]
fn silence_is_explained() {
    let stage = Stage::moody(&["--buffered"]);
    let greets = GREETS.replace("[..]\"}}", "[..]\"},\"within\":\"500ms\"}");
    stage.transcript("greets", &greets);
    let said = stage
        .conform(&["replay", "ext/conform/greets.zt.ndjson"])
        .exits(1);
    assert!(
        said.out.contains("stdout is block-buffered"),
        "{}",
        said.out
    );
    assert!(said.out.contains("flush=True"), "{}", said.out);
}

#[test]
fn a_rule_that_is_broken_meanwhile_counts() {
    let stage = Stage::moody(&["--twice"]);
    stage.transcript("greets", GREETS);
    let said = stage
        .conform(&["replay", "ext/conform/greets.zt.ndjson"])
        .exits(1);
    assert!(
        said.out.contains("ROB-10: a second reply to"),
        "{}",
        said.out
    );
}

#[test]
fn what_it_does_not_register_cannot_be_played() {
    let stage = Stage::moody(&["--no-command"]);
    stage.transcript("greets", GREETS);
    let said = stage
        .conform(&["replay", "ext/conform/greets.zt.ndjson"])
        .exits(2);
    assert!(
        said.err
            .starts_with("transcript/greets: it does not register the command `/greet`\n"),
        "{}",
        said.err
    );
}

#[test]
fn what_is_wrong_with_a_transcript_is_said_before_anything_starts() {
    let stage = Stage::moody(&[]);
    for (lines, why) in [
        (
            "{\"zt\":1}\n{\"sned\":{}}\n",
            "error: ext/conform/x.zt.ndjson:2: unknown verb `sned`; did you mean `send`?\n",
        ),
        (
            "{\"zt\":1}\n\n{\"send\":{\"type\":\"tool_call\",\"id\":\"1\",\"args\":{}}}\n",
            "error: ext/conform/x.zt.ndjson:3: no host sends this: tool_call: ",
        ),
    ] {
        stage.transcript("x", lines);
        for args in [
            &["replay", "ext/conform/x.zt.ndjson"][..],
            &["ext"],
            &["accept", "ext/conform/x.zt.ndjson"],
        ] {
            let said = stage.conform(args).exits(2);
            assert!(said.err.starts_with(why), "{args:?}: {}", said.err);
        }
    }
}

#[test]
fn the_extension_is_found_or_named() {
    let stage = Stage::moody(&[]);
    stage.transcript("greets", GREETS);
    stage
        .conform(&["replay", "ext/conform/greets.zt.ndjson", "ext"])
        .exits(0);
    std::fs::copy(
        stage.path("ext/conform/greets.zt.ndjson"),
        stage.path("a.zt.ndjson"),
    )
    .unwrap();
    let said = stage.conform(&["replay", "a.zt.ndjson"]).exits(2);
    assert_eq!(
        said.err,
        "error: `a.zt.ndjson` does not name its extension\nhint: pass the extension's directory after it\n"
    );
    let named = GREETS.replacen("{\"zt\":1", "{\"zt\":1,\"extension\":\"ext\"", 1);
    std::fs::write(stage.path("b.zt.ndjson"), named).unwrap();
    stage.conform(&["replay", "b.zt.ndjson"]).exits(0);
    let said = stage.conform(&["replay", "no-such-id"]).exits(2);
    assert_eq!(
        said.err,
        "error: no file and no saved failure is named `no-such-id`\n"
    );
    let said = stage.conform(&["replay", "a.zt.ndjson", "home"]).exits(2);
    assert!(said.err.contains("named `home`"), "{}", said.err);
}

#[test]
fn a_run_plays_what_is_selected() {
    let stage = Stage::moody(&[]);
    stage.transcript("greets", GREETS);
    stage.transcript("other", &GREETS.replace("hello", "bye"));
    let said = stage
        .conform(&["ext", "--only", "transcript/gr*", "--only", "CMD-01"])
        .exits(0);
    assert!(said.out.contains("conforms: 2 pass"), "{}", said.out);
    let said = stage
        .conform(&[
            "ext",
            "--only",
            "transcript/*",
            "--skip",
            "transcript/other",
        ])
        .exits(0);
    assert!(said.out.contains("conforms: 1 pass"), "{}", said.out);
    let said = stage.conform(&["ext", "--only", "transcript/*"]).exits(1);
    assert!(said.out.contains("1 pass"), "{}", said.out);
    assert!(
        said.out
            .contains("repeat: zot-conform replay ext/conform/other.zt.ndjson\n"),
        "{}",
        said.out
    );
}

#[test]
fn what_cannot_start_plays_nothing() {
    let stage = Stage::moody(&["--no-such-mood"]);
    stage.transcript("greets", GREETS);
    let said = stage
        .conform(&["replay", "ext/conform/greets.zt.ndjson"])
        .exits(3);
    assert!(said.out.contains("blocked by HEL-01"), "{}", said.out);
    assert!(said.out.contains("unrecognized arguments"), "{}", said.out);
}

/// The harness on both ends of one transcript.
#[test]
fn a_transcript_plays_both_ways() {
    let stage = Stage::empty();
    let file = stage.path("ext/conform/greets.zt.ndjson");
    let args = json!(["replay", "--as-extension", file]);
    stage.manifest(
        &json!({"name": "moody", "exec": env!("CARGO_BIN_EXE_zot-conform"), "args": args}),
    );
    let shutdown = "{\"send\":{\"type\":\"shutdown\"}}\n{\"expect\":{\"type\":\"shutdown_ack\"}}\n{\"exit\":{\"code\":0}}\n";
    stage.transcript("greets", &format!("{GREETS}{shutdown}"));
    stage
        .conform(&["replay", "ext/conform/greets.zt.ndjson"])
        .exits(0);
    // Without an end of its own it waits for the host's.
    stage.transcript("greets", GREETS);
    stage
        .conform(&["replay", "ext/conform/greets.zt.ndjson"])
        .exits(0);
}

#[test]
fn a_host_that_says_something_else_is_told_so() {
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
        let said = stage.conform_with(&args, &input).exits(1);
        all.push_str(&format!("{input}---\n{}{}\n", said.out, said.err));
    }
    insta::assert_snapshot!(all);
    let asked = r#"{"type":"command_invoked","id":"7","name":"greet","args":"you"}"#;
    let said = stage.conform_with(&args, &format!("{ack}\n{asked}\n"));
    let said = said.exits(0);
    assert!(
        said.out
            .ends_with("{\"type\":\"command_response\",\"id\":\"7\",\"display\":\"hello \"}\n"),
        "{}",
        said.out
    );
}
