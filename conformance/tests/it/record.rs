//! `zot-conform record`.

use crate::stage::Stage;

const SCRIPT: &str = r#"# frames of a host
/greet world
/note
call repeat {"text":"ab","times":3}
call repeat
event turn_start
intercept tool_call {"tool_id":"t1","tool_name":"bash","tool_args":{"command":"rm -rf /"}}
{"send":{"type":"command_invoked","id":{"$new":"mine"},"name":"greet","args":"you"}}
{"type":"command_invoked","id":"as-it-is","name":"greet","args":"${HOME}"}
{"wait":"10ms"}
shutdown
"#;

#[test]
fn a_script_is_recorded_as_a_replayable_transcript() {
    let stage = Stage::configurable(&[]);
    std::fs::write(stage.path("script"), SCRIPT).unwrap();
    let output = stage.conform(&[
        "record",
        "ext",
        "-o",
        "ext/conform/all.zt.ndjson",
        "--script",
        "script",
    ]);
    assert_eq!(
        output.all(),
        "✓ ext/conform/all.zt.ndjson: 9 frames to the extension, 9 from it\nexit Some(0)\n"
    );
    insta::assert_snapshot!(stage.read("ext/conform/all.zt.ndjson"));
    stage
        .conform(&["replay", "ext/conform/all.zt.ndjson"])
        .exits(0);
    // A transcript is also a valid script.
    let again = ["record", "ext", "-o", "b.zt.ndjson", "--script"];
    let again: Vec<&str> = again
        .iter()
        .chain(&["ext/conform/all.zt.ndjson"])
        .copied()
        .collect();
    stage.conform(&again).exits(0);
    let steps = |text: String| {
        text.split_once('\n')
            .map(|(_, steps)| steps.to_owned())
            .unwrap()
    };
    assert_eq!(
        steps(stage.read("b.zt.ndjson")),
        steps(stage.read("ext/conform/all.zt.ndjson"))
    );
}

#[test]
fn piped_input_is_a_script() {
    let stage = Stage::configurable(&[]);
    let args = ["record", "ext", "-o", "new/folder/a.zt.ndjson"];
    stage.conform_with(&args, "/greet you\nquit\n").exits(0);
    assert_eq!(
        stage.read("new/folder/a.zt.ndjson"),
        r#"{"zt":1,"name":"a","needs":{"commands":["greet"]}}
{"use":"handshake"}
{"send":{"type":"command_invoked","id":{"$new":"command1"},"name":"greet","args":"you"}}
{"expect":{"type":"command_response","id":{"$ref":"command1"},"action":"display","display":"hello you"}}
"#
    );
    let output = stage.conform_with(&args, "/greet me\n").exits(2);
    assert_eq!(
        output.err,
        "error: `new/folder/a.zt.ndjson` already exists\nhint: use --force to overwrite it\n"
    );
    let forced: Vec<&str> = args.iter().chain(&["--force"]).copied().collect();
    stage.conform_with(&forced, "/greet me\n").exits(0);
    assert!(stage.read("new/folder/a.zt.ndjson").contains("hello me"));
}

#[test]
fn an_invalid_line_writes_no_transcript() {
    let stage = Stage::configurable(&["--crash"]);
    let args = ["record", "ext", "-o", "a.zt.ndjson"];
    let mut all = String::new();
    for line in [
        "/gret you",
        "call nothing",
        "call repeat [1]",
        "call",
        "dance",
        "{\"frame\":1}",
        "{\"type\":\"tool_call\",\"id\":\"1\",\"args\":{}}",
        "{\"send\":{\"type\":\"shutdown\",\"x\":{\"$ref\":\"nobody\"}}}",
    ] {
        let output = stage.conform_with(&args, line).exits(2);
        all.push_str(&format!("{line}\n  {}", output.err));
    }
    let crash = "/greet you\ncall repeat {\"text\":\"a\",\"times\":101}\n";
    let output = stage.conform_with(&args, crash).exits(1);
    all.push_str(&output.err);
    insta::assert_snapshot!(all);
    assert!(!stage.path("a.zt.ndjson").exists());
}

#[test]
fn a_broken_rule_is_a_warning() {
    let stage = Stage::configurable(&["--twice"]);
    let args = ["record", "ext", "-o", "a.zt.ndjson"];
    let output = stage.conform_with(&args, "/greet you\n").exits(0);
    assert!(
        output.err.starts_with("warning: ROB-10: a second reply"),
        "{}",
        output.err
    );
}

/// A Python script provides the pseudo-terminal for the input.
#[test]
fn typed_lines_are_recorded() {
    let stage = Stage::configurable(&[]);
    let output = std::process::Command::new("python3")
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/fixtures/type_lines.py"
        ))
        .arg("/greet you\n/gret\ncall repeat\nshutdown\n")
        .arg(env!("CARGO_BIN_EXE_zot-conform"))
        .args(["record", "ext", "-o", "a.zt.ndjson"])
        .current_dir(stage.path("."))
        .output()
        .expect("python3");
    let output = String::from_utf8(output.stdout).expect("valid UTF-8");
    for words in [
        "call TOOL [JSON]",
        "the extension has no command `gret`",
        "a.zt.ndjson: 3 frames to the extension, 3 from it",
    ] {
        assert!(output.contains(words), "{words}: {output}");
    }
    stage.conform(&["replay", "a.zt.ndjson", "ext"]).exits(0);
}
