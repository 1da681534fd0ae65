//! `zot-conform accept`.

use crate::stage::Stage;

const BEFORE: &str = r##"{"zt":1, "about":"spaces stay"}
{"use":"handshake"}

{"#":"different greetings"}
{"send":{"type":"command_invoked","id":{"$new":"a"},"name":"greet","args":"you"}}
{"expect":{"type":"command_response", "id":{"$ref":"a"}, "action":{"$any":true}, "display":"hello you"}}
{"send":{"type":"command_invoked","id":{"$new":"b"},"name":"greet","args":""}}
{"expect":{"type":"command_response", "id":{"$ref":"b"}, "display":"[..]"}}
{"send":{"type":"shutdown"}}
{"expect":{"type":"shutdown_ack"}}
{"exit":{"code":1}}
"##;

#[test]
fn accept_updates_changed_lines_and_keeps_the_rest() {
    let stage = Stage::configurable(&["--greeting", "good day"]);
    stage.transcript("x", BEFORE);
    let file = "ext/conform/x.zt.ndjson";
    stage.conform(&["replay", file]).exits(1);
    let output = stage.conform(&["accept", file]).exits(0);
    assert_eq!(output.out, format!("✓ {file}: 2 lines changed\n"));
    let changed: Vec<String> = BEFORE
        .lines()
        .zip(stage.read(file).lines())
        .filter(|(before, after)| before != after)
        .map(|(_, after)| after.to_owned())
        .collect();
    assert_eq!(
        changed,
        [
            r#"{"expect":{"type":"command_response","id":{"$ref":"a"},"action":{"$any":true},"display":"good day you"}}"#,
            r#"{"exit":{"code":0}}"#,
        ]
    );
    stage.conform(&["replay", file]).exits(0);
    let output = stage.conform(&["accept", file]).exits(0);
    assert_eq!(
        output.out,
        format!("✓ {file}: everything matches; nothing to accept\n")
    );
}

#[test]
fn a_frame_of_another_type_is_not_accepted() {
    let stage = Stage::configurable(&[]);
    let other = BEFORE.replace(
        "\"name\":\"greet\",\"args\":\"you\"",
        "\"name\":\"note\",\"args\":\"you\"",
    );
    stage.transcript("x", &other);
    let output = stage
        .conform(&["accept", "ext/conform/x.zt.ndjson"])
        .exits(1);
    assert!(
        output.err.starts_with("error: ext/conform/x.zt.ndjson:6: expected `command_response` to `/note`, got `notify`\n"),
        "{}",
        output.err
    );
    assert_eq!(stage.read("ext/conform/x.zt.ndjson"), other);
}
