//! Parsing and parse errors.

use zot_conform::transcript::{ParseError, Verb, parse};

/// All verbs and all matchers, as formatted by `to_text`.
const ALL: &str = r##"{"zt":1,"name":"all","about":"every verb","extension":"..","needs":{"tools":["t"],"commands":["c"],"intercept":["tool_call"]},"ignore":["notify"]}
{"#":"a comment"}
{"use":"handshake"}
{"split":[3,10]}
{"send":{"type":"tool_call","id":{"$new":"a"},"name":"t","args":{"path":{"$fill":"${cwd}/x"},"$$ref":{"$lit":"[..]"}}}}
{"expect":{"type":"tool_result","id":{"$ref":"a"},"content":{"$contains":[{"text":"16 [..]"}]},"is_error":{"$absent":true}},"within":"5s","optional":true}
{"unordered":[{"type":"notify","level":{"$oneOf":["info","warn"]},"message":{"$re":"^a"}},{"expect":{"type":"open_panel","panel":{"$exact":true,"id":{"$cap":"p","as":{"$type":"string"}}}},"optional":true}],"within":"1500ms"}
{"expect":{"type":"call_tool","id":{"$cap":"x"},"args":{"$schema":{"type":"object"}},"name":{"$any":true}}}
{"wait":"100ms"}
{"quiet":"200ms"}
{"raw":"{\"type\":\"event\"}\n"}
{"stall_stdout":"3s"}
{"close_stdin":true}
{"signal":"TERM"}
{"stderr":"panic: [..]","within":"1s"}
{"exit":{"code":0},"within":"2s"}
"##;

#[test]
fn every_verb_round_trips() {
    let transcript = parse(ALL).unwrap();
    assert_eq!(transcript.to_text(), ALL);
    assert_eq!(transcript.steps[0].line, 2);
    assert_eq!(transcript.head.needs.tools, ["t"]);
    assert_eq!(parse(&transcript.to_text()).unwrap(), transcript);
}

#[test]
fn blank_lines_a_byte_order_mark_and_carriage_returns_are_ignored() {
    let transcript = parse("\u{feff}\r\n{\"zt\":1}\r\n\r\n{\"wait\":\"1m\"}\r\n").unwrap();
    assert_eq!(transcript.steps[0].line, 4);
    assert!(matches!(transcript.steps[0].verb, Verb::Wait(span) if span.as_secs() == 60));
}

#[test]
fn an_item_of_unordered_is_a_frame_or_an_expect() {
    let text = "{\"zt\":1}\n{\"unordered\":[{\"expect\":{\"type\":\"a\"}},{\"type\":\"a\"}]}";
    let transcript = parse(text).unwrap();
    let Verb::Unordered { expects, .. } = &transcript.steps[0].verb else {
        panic!("{transcript:?}")
    };
    assert_eq!(expects[0], expects[1]);
}

/// Returns the error for a transcript with this second line.
fn wrong(line: &str) -> String {
    let ParseError { line: at, why } = parse(&format!("{{\"zt\":1}}\n{line}\n")).expect_err(line);
    assert_eq!(at, 2, "{why}");
    why
}

#[test]
fn parse_errors_name_the_line() {
    let cases = [
        r#"{"sned":{}}"#,
        r#"{"frobnicate":1}"#,
        r"{}",
        r"[1]",
        r#"{"send":{}"#,
        r#"{"send":{"type":"a","type":"b"}}"#,
        r#"{"zt":1}"#,
        r#"{"send":"x"}"#,
        r#"{"send":{},"within":"1s"}"#,
        r#"{"expect":{},"witin":"1s"}"#,
        r#"{"expect":{},"within":5}"#,
        r#"{"expect":{},"within":"5 s"}"#,
        r#"{"wait":"99999999999999999999s"}"#,
        r#"{"expect":{"a":[{"$tpye":"string"}]}}"#,
        r#"{"expect":{"$defs":{}}}"#,
        r#"{"expect":{"a":{"$type":"strin"}}}"#,
        r#"{"expect":{"a":{"$re":"("}}}"#,
        r#"{"expect":{"a":{"$schema":{"type":"objekt"}}}}"#,
        r#"{"expect":{"a":{"$any":false}}}"#,
        r#"{"expect":{"a":{"$any":true,"b":1}}}"#,
        r#"{"expect":{"$exact":true,"$re":"x"}}"#,
        r#"{"expect":{"a":[{"$absent":true}]}}"#,
        r#"{"expect":{"a":{"$oneOf":[]}}}"#,
        r#"{"expect":{"a":{"$new":"x"}}}"#,
        r#"{"expect":{"a":{"$cap":"x y"}}}"#,
        r#"{"send":{"a":{"$any":true}}}"#,
        r#"{"send":{"a":"b [..]"}}"#,
        r#"{"send":{"a":{"$fill":"${cdw}"}}}"#,
        r#"{"send":{"id":{"$ref":"a"}}}"#,
        r#"{"send":{"id":{"$new":"a"},"b":{"$new":"a"}}}"#,
        r#"{"use":"handshak"}"#,
        r#"{"unordered":[]}"#,
        r#"{"unordered":[{"expct":{}}]}"#,
        r#"{"unordered":[{"expect":{},"within":"1s"}]}"#,
        r#"{"split":[0]}"#,
        r#"{"split":[1]}"#,
        r#"{"close_stdin":false}"#,
        r#"{"signal":"SIGTERM"}"#,
        r#"{"exit":{"cod":0}}"#,
        r#"{"stderr":5}"#,
    ];
    let messages: Vec<String> = cases
        .iter()
        .map(|case| format!("{case}\n    {}", wrong(case)))
        .collect();
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn a_transcript_starts_with_its_header() {
    let why = |text: &str| parse(text).unwrap_err().to_string();
    let messages = [
        why(""),
        why("\n\n{\"send\":{}}"),
        why("{\"zt\":2}"),
        why("{\"zt\":1,\"nmae\":\"x\"}"),
        why("{\"zt\":1,\"needs\":{\"tool\":[]}}"),
        why("{\"zt\":1,\"ignore\":\"notify\"}"),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn a_name_is_bound_once_and_before_use() {
    let text = r#"{"zt":1}
{"send":{"id":{"$new":"a"}}}
{"expect":{"id":{"$cap":"a"}}}
"#;
    assert_eq!(
        parse(text).unwrap_err().to_string(),
        "line 3: `a` is already bound on line 2"
    );
    let text = r#"{"zt":1}
{"expect":{"id":{"$ref":"a"}}}
{"send":{"id":{"$new":"a"}}}
"#;
    assert_eq!(
        parse(text).unwrap_err().to_string(),
        "line 2: `a` is not bound: no `$new` or `$cap` before this line binds it"
    );
    let alternatives = r#"{"zt":1}
{"expect":{"$oneOf":[{"id":{"$cap":"a"}},{"panel_id":{"$cap":"a"}}]}}
{"send":{"id":{"$ref":"a"}}}
"#;
    assert!(parse(alternatives).is_ok());
}
