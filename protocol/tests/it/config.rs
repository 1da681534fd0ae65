//! The configuration file: invalid fields are reported, and the rest is used.

use zot_protocol::{InterceptName, OnFailure, Reasoning, validate};

#[test]
fn a_complete_config_is_read() {
    let (config, refused) = validate::config(
        br#"{"provider":"demo","reasoning":"low","extensions":{"guard":{"on_failure":{"tool_call":"block"}}},
            "trusted":{"/p/.zot/extensions/x":{"digest":"sha256:00","allowed":false}}}"#,
    );
    assert!(refused.is_empty(), "{refused:?}");
    assert_eq!(config.reasoning, Some(Reasoning::Low));
    assert_eq!(
        config.extensions["guard"].on_failure[&InterceptName::ToolCall],
        OnFailure::Block
    );
    assert!(!config.trusted["/p/.zot/extensions/x"].allowed);
}

#[test]
fn invalid_fields_are_reported_and_ignored() {
    let (config, refused) = validate::config(
        br#"{"provider":7,"model":"m","reasoning":"maximal","extensions":{"a":{"on_failure":{"tool_call":"deny","turn_start":"block"}},"b":[]},
            "trusted":{"/p":{"digest":"d"}},"theme":"dark"}"#,
    );
    let mut said: Vec<String> = refused.iter().map(ToString::to_string).collect();
    said.sort();
    assert_eq!(
        said,
        [
            r#"/extensions/a/on_failure/tool_call: "deny" is not one of "allow", "block""#,
            "/extensions/b: a list is not an object",
            "/provider: 7 is not a string",
            r#"/reasoning: "maximal" is not one of "off", "low", "medium", "high""#,
            "/trusted/~1p/allowed: missing",
        ],
    );
    assert_eq!(
        (
            config.model.as_deref(),
            config.theme.as_deref(),
            config.provider
        ),
        (Some("m"), Some("dark"), None)
    );
    assert_eq!(
        config.extensions["a"].on_failure[&InterceptName::TurnStart],
        OnFailure::Block
    );
    assert!(config.trusted.is_empty());
}

#[test]
fn a_truncated_or_non_object_config_gives_defaults_and_an_error() {
    for (text, says) in [
        (
            &b"{\"provider\":\"de"[..],
            "not JSON: EOF while parsing a string at column 15",
        ),
        (&b"\0\0\0\0"[..], "not JSON: expected value at column 1"),
        (&b"[]"[..], "a list is not an object"),
    ] {
        let (config, refused) = validate::config(text);
        assert_eq!(config, zot_protocol::Config::default());
        assert_eq!(
            refused.iter().map(ToString::to_string).collect::<Vec<_>>(),
            [says]
        );
    }
}
