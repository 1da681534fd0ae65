//! Invalid frames and their error messages. The table is `data/refused.ndjson`, which the
//! third-party validators also read.

use serde_json::Value;
use zot_protocol::{FromExtension, FromHost, rpc, validate};
use zot_test_support::recordings::lines;

pub(crate) const TABLE: &str = include_str!("../data/refused.ndjson");

fn refusal(set: &str, line: &[u8]) -> Option<validate::Refusal> {
    match set {
        "from-extension" => validate::frame::<FromExtension>(line).err(),
        "from-host" => validate::frame::<FromHost>(line).err(),
        "rpc/command" => validate::frame::<rpc::Command>(line).err(),
        "manifest" => validate::manifest(line).err(),
        other => panic!("no such set: {other}"),
    }
}

#[test]
fn every_invalid_frame_has_the_expected_error_message() {
    let mut table = String::new();
    for mut row in lines(TABLE) {
        let set = row["set"].as_str().expect("a set");
        let said =
            refusal(set, row["frame"].to_string().as_bytes()).map(|refusal| refusal.to_string());
        row["says"] = said.map_or(Value::Null, Value::from);
        table.push_str(&format!("{row}\n"));
    }
    if table != TABLE {
        for (is, was) in table
            .lines()
            .zip(TABLE.lines())
            .filter(|(is, was)| is != was)
        {
            eprintln!("table: {was}\nnow:   {is}\n");
        }
        panic!("protocol/tests/data/refused.ndjson is out of date");
    }
    assert!(lines(TABLE).len() >= 40);
    assert!(
        lines(TABLE).iter().all(|row| row["says"].is_string()),
        "every row must be rejected"
    );
}

#[test]
fn a_refusal_contains_the_type_and_id() {
    let line = br#"{"content":[{"type":"txt"}],"id":"7","type":"tool_result"}"#;
    let refusal = refusal("from-extension", line).expect("refused");
    assert_eq!(refusal.frame_type.as_deref(), Some("tool_result"));
    assert_eq!(refusal.id.as_ref().map(zot_protocol::Id::as_str), Some("7"));
    assert_eq!(refusal.pointer, "/content/0/type");
    let frame =
        serde_json::to_value(zot_protocol::FromHost::from(refusal.to_frame())).expect("serialises");
    validate::value::<FromHost>(&frame).expect("the `error` frame is valid");
    assert_eq!(
        frame["message"],
        r#"tool_result: /content/0/type: "txt" is not one of "text", "image""#
    );
}

#[test]
fn a_malformed_response_with_block_still_blocks() {
    let says = |line: &[u8]| refusal("from-extension", line).expect("refused").says_block;
    assert!(says(
        br#"{"type":"event_intercept_response","id":"1","block":true,"modified_args":5}"#
    ));
    assert!(says(
        b"{\"type\":\"event_intercept_response\",\"id\":\"1\",\"reason\":\"\xff\",\"block\":true}"
    ));
    assert!(says(
        br#"{"type":"event_intercept_response","id":"1","block":true,"block":false}"#
    ));
    assert!(!says(
        br#"{"type":"event_intercept_response","id":"1","block":"true"}"#
    ));
    assert!(!says(
        br#"{"type":"event_intercept_response","id":"1","modified_args":{"block":true},"x":}"#
    ));
}

#[test]
fn the_id_and_block_are_read_from_any_invalid_line() {
    let told = |line: &str| {
        let refusal = refusal("from-extension", line.as_bytes()).expect("refused");
        (refusal.id.map(|id| id.0), refusal.says_block)
    };
    for line in [
        r#"{"id":"i1","block":true}"#,
        r#"{"type":5,"id":"i1","block":true}"#,
        r#"{"type":null,"id":"i1","block":true}"#,
        r#"{"type":"event_intercept_response","id":"i1","block":true,"reason":5}"#,
        r#"{"type":"event_intercept_response","id":"i1","block":true,"reason":"cut o"#,
    ] {
        assert_eq!(told(line), (Some("i1".into()), true), "{line}");
    }
    assert_eq!(
        told(r#"{"type":"tool_result","id":"i1","block":true}"#),
        (Some("i1".into()), false),
        "`block` means something else in other frames"
    );
}

#[test]
fn refusal_kinds_distinguish_invalid_frames_from_garbage() {
    use validate::RefusalKind::{Invalid, Malformed, NotJson};
    let kind = |line: &[u8]| refusal("from-extension", line).expect("refused").kind;
    assert_eq!(kind(b"Loading..."), NotJson);
    assert_eq!(kind(b"{\"type\":\"submit\",\"text\":\"\xff\"}"), Malformed);
    assert_eq!(
        kind(br#"{"type":"submit","text":"a","text":"b"}"#),
        Malformed
    );
    assert_eq!(kind(br#"{"type":"submit","text":5}"#), Invalid);
}

#[test]
fn an_unknown_event_round_trips() {
    let line = r#"{"type":"event","event":"future","x":1}"#;
    let frame: FromHost = serde_json::from_str(line).expect("unknown events decode");
    assert_eq!(serde_json::to_string(&frame).expect("serialises"), line);
}

#[test]
fn file_errors_have_line_numbers_and_a_byte_order_mark_is_ignored() {
    let refusal =
        validate::manifest(b"{\n  \"name\": \"x\",\n  \"type\": \"y\",\n}").expect_err("refused");
    assert_eq!(
        refusal.to_string(),
        "not JSON: trailing comma at line 4, column 1"
    );
    validate::manifest(b"\xef\xbb\xbf{\"name\":\"x\",\"exec\":\"x\"}").expect("valid");
}

#[test]
fn invalid_json_is_reported_with_its_column() {
    let table: &[(&[u8], &str)] = &[
        (b"", "not JSON: EOF while parsing a value at column 0"),
        (b"Loading model...", "not JSON: expected value at column 1"),
        (
            b"{\"type\":\"ready\"",
            "ready: not JSON: EOF while parsing an object at column 15",
        ),
        (
            b"{\"type\":\"ready\"}}",
            "ready: not JSON: trailing characters at column 17",
        ),
        (
            b"{\"type\":\"ready\"} {\"type\":\"ready\"}",
            "ready: not JSON: trailing characters at column 18",
        ),
        (
            b"{'type':'ready'}",
            "not JSON: key must be a string at column 2",
        ),
        (
            b"{\"type\":\"submit\",\"text\":\"a\tb\"}",
            "submit: not JSON: control character (\\u0000-\\u001F) found while parsing a string at column 27",
        ),
        (
            b"{\"type\":\"submit\",\"text\":\"\\ud800\"}",
            "submit: not JSON: unexpected end of hex escape at column 32",
        ),
        (
            b"{\"type\":\"submit\",\"text\":\"\\udc00\"}",
            "submit: not JSON: lone leading surrogate in hex escape at column 31",
        ),
        (
            b"{\"type\":\"submit\",\"text\":\"\xff\"}",
            "submit: invalid UTF-8 at byte 26",
        ),
        (
            b"{\"type\":\"submit\",\"n\":1e999}",
            "submit: not JSON: number out of range at column 26",
        ),
        (
            b"{\"type\":\"submit\",\"n\":NaN}",
            "submit: not JSON: expected value at column 22",
        ),
        (
            b"{\"type\":\"submit\",\"text\":\"a\",\"text\":\"b\"}",
            "submit: /text: duplicate key",
        ),
        (
            b"{\"type\":\"tool_result\",\"id\":\"1\",\"content\":[{},{\"a/b\":{\"x\":1,\"x\":2}}]}",
            "tool_result: /content/1/a~1b/x: duplicate key",
        ),
        (b"[]", "a list is not an object"),
        (b"null", "null is not an object"),
        (b"\"hello\"", "\"hello\" is not an object"),
        (b"{}", "/type: missing"),
        (b"{\"type\":null}", "/type: null is not a string"),
        (
            b"{\"type\":\"a\\u001b[31m\nb",
            "not JSON: control character (\\u0000-\\u001F) found while parsing a string at line 2, column 0",
        ),
    ];
    for (line, message) in table {
        let said = refusal("from-extension", line).map(|refusal| refusal.to_string());
        assert_eq!(
            said.as_deref(),
            Some(*message),
            "{}",
            String::from_utf8_lossy(line)
        );
    }
}

#[test]
fn agent_output_is_validated_by_event_type_or_command() {
    for (line, wrong) in [
        (r#"{"type":"done"}"#, None),
        (r#"{"type":"dawn","new":1}"#, None),
        (r#"{"type":"turn_end","stop":"end_turn"}"#, None),
        (r#"{"type":"turn_end"}"#, Some("turn_end: /stop: missing")),
        (
            r#"{"type":"response","id":"9","command":"ping","success":true,"data":{"pong":true}}"#,
            None,
        ),
        (
            r#"{"type":"response","command":"dance","success":false,"error":"unknown command"}"#,
            None,
        ),
        (
            r#"{"type":"response","command":"abort","success":true}"#,
            None,
        ),
        (
            r#"{"type":"response","command":"ping","success":true}"#,
            Some("response: "),
        ),
        (
            r#"{"type":"response","command":"dance","success":true}"#,
            Some("response: "),
        ),
    ] {
        match (validate::output(line.as_bytes()), wrong) {
            (Ok(_), None) => {}
            (Err(refusal), Some(wrong)) => {
                assert!(refusal.to_string().starts_with(wrong), "{refusal}");
            }
            (read, _) => panic!("{line}: {read:?}"),
        }
    }
}
