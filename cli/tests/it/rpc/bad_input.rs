//! Invalid lines are answered with an error and do not end zot.

use serde_json::json;

use super::{driver::Rpc, types};
use crate::support::{World, memory::resident};

#[test]
fn an_invalid_line_is_answered_with_the_reason() {
    let world = World::new();
    let mut zot = Rpc::demo(&world, &[]);
    for (line, command, id, why) in [
        ("{\"type\":\"pi", "", None, "not JSON: "),
        ("Hello!", "", None, "not JSON: expected value at column 1"),
        ("[1]", "", None, "a list is not an object"),
        ("{}", "", None, "/type: missing"),
        (r#"{"id":"a"}"#, "", Some("a"), "/type: missing"),
        (
            r#"{"type":7,"id":"a"}"#,
            "",
            Some("a"),
            "/type: 7 is not a string",
        ),
        (
            r#"{"type":"dance","id":"a"}"#,
            "dance",
            Some("a"),
            "unknown command",
        ),
        (
            r#"{"type":"ping","id":7}"#,
            "ping",
            None,
            "/id: 7 is not a string",
        ),
        (
            r#"{"type":"prompt","id":"a"}"#,
            "prompt",
            Some("a"),
            "/message: missing",
        ),
        (
            r#"{"type":"prompt","id":"a","message":["x"]}"#,
            "prompt",
            Some("a"),
            "/message: ",
        ),
        (
            r#"{"type":"prompt","id":"a","message":"x","images":[{"mime_type":1,"data":""}]}"#,
            "prompt",
            Some("a"),
            "/images/0/mime_type: 1 is not a string",
        ),
        (
            r#"{"type":"set_reasoning","id":"a","reasoning":"wild"}"#,
            "set_reasoning",
            Some("a"),
            "/reasoning: ",
        ),
        (
            r#"{"type":"ping","id":"a","id":"b"}"#,
            "ping",
            None,
            "/id: duplicate key",
        ),
    ] {
        zot.raw(format!("{line}\n").as_bytes());
        let response = zot.next().expect("no answer");
        assert_eq!(response["success"], false, "{line}");
        assert_eq!(response["command"], command, "{line}");
        assert_eq!(response["id"].as_str(), id, "{line}");
        let error = response["error"].as_str().expect("should be a string");
        assert!(error.starts_with(why), "{line}: {error}");
    }
    zot.raw(b"{\"type\":\"ping\",\"id\":\"\xff\"}\n");
    let error = zot.next().expect("no answer");
    assert!(
        error["error"]
            .as_str()
            .expect("should be a string")
            .starts_with("invalid UTF-8"),
        "{error}"
    );
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    zot.raw(format!("{{\"type\":\"ping\",\"x\":{deep}}}\n").as_bytes());
    let error = zot.next().expect("no answer");
    assert!(
        error["error"]
            .as_str()
            .expect("should be a string")
            .contains("nested"),
        "{error}"
    );
    zot.data(&json!({"id": "1", "type": "ping"}));
    let ended = zot.end();
    assert_eq!((ended.code, &*ended.err), (Some(0), ""));
}

#[test]
fn blank_lines_crlf_a_bom_and_unknown_fields_are_accepted() {
    let world = World::new();
    let mut zot = Rpc::demo(&world, &[]);
    zot.raw(b"\xef\xbb\xbf\r\n  \n{\"id\":\"1\",\"type\":\"ping\",\"new\":{\"field\":[]}}\r\n\n");
    assert_eq!(zot.response("1")["success"], true);
    // A line can arrive byte by byte and without a final newline.
    for byte in br#"{"id":"2","type":"ping"}"# {
        zot.raw(&[*byte]);
    }
    zot.close_stdin();
    assert_eq!(zot.response("2")["success"], true);
    assert_eq!(zot.end().code, Some(0));
}

/// Returns a `prompt` command of exactly this many bytes.
fn prompt_line(bytes: usize) -> Vec<u8> {
    let around = r#"{"id":"p","type":"prompt","message":""}"#.len();
    let message = "x".repeat(bytes - around);
    json!({"id": "p", "type": "prompt", "message": message})
        .to_string()
        .into_bytes()
}

#[test]
fn lines_longer_than_16_mib_are_skipped() {
    const MOST: usize = 16 * 1024 * 1024;
    let world = World::new();
    let mut zot = Rpc::demo(&world, &[]);
    let mut line = prompt_line(MOST);
    assert_eq!(line.len(), MOST);
    line.push(b'\n');
    zot.raw(&line);
    assert_eq!(zot.response("p")["success"], true);
    zot.until_event("done");

    line.insert(MOST - 3, b'x');
    zot.raw(&line);
    let refused = zot.next().expect("no answer");
    let why = "line is longer than 16 MiB and was skipped";
    assert_eq!(
        refused,
        json!({"type": "response", "command": "", "success": false, "error": why})
    );

    // An unterminated line is also skipped, and is not kept in memory.
    let before = resident(zot.pid());
    let chunk = vec![b'x'; MOST];
    for _ in 0..16 {
        zot.raw(&chunk);
    }
    let refused = zot.next().expect("no answer");
    assert_eq!(refused["error"], why);
    zot.raw(b"\n");
    zot.data(&json!({"id": "1", "type": "ping"}));
    let more = resident(zot.pid()).saturating_sub(before);
    assert!(more < 2 * MOST as u64, "{more} bytes more");
}

#[test]
fn zot_stops_reading_commands_while_its_output_is_not_read() {
    let world = World::new();
    let mut command = world.zot_command(&["rpc", "--provider", "demo", "--no-ext"]);
    let mut zot = super::driver::UnreadRpc::spawn(&mut command);
    // The responses exceed all buffers, so at some point zot stops reading commands.
    let sent = zot.flood(br#"{"type":"get_models","id":"a"}"#);
    assert!(sent < 200_000, "{sent}");
    let held = resident(zot.pid());
    assert!(held < 64 * 1024 * 1024, "{held}");
    let responses = zot.read_all();
    assert_eq!(responses.len(), sent, "responses were lost");
    assert!(types(&responses).iter().all(|it| *it == "response"));
}
