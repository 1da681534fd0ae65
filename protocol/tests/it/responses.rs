//! Every response round-trips.

use serde_json::{Value, json};
use zot_protocol::{Tagged, rpc, validate};

/// Returns the response data of each command as JSON, or `null` if there is none.
fn data() -> Vec<(&'static str, Value)> {
    let usage =
        json!({"input": 1, "output": 2, "cache_read": 3, "cache_write": 4, "cost_usd": 0.5});
    vec![
        (
            "hello",
            json!({"protocol_version": 1, "version": "0.1.0", "provider": "demo", "model": "demo"}),
        ),
        ("prompt", json!({"started": true})),
        ("steer", Value::Null),
        ("abort", Value::Null),
        ("compact", json!({"started": true})),
        (
            "get_state",
            json!({"provider": "demo", "model": "demo", "cwd": "/w", "message_count": 12, "busy": false, "usage": usage}),
        ),
        (
            "get_messages",
            json!({"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}], "time": "2026-04-19T11:30:00Z"}]}),
        ),
        ("clear", Value::Null),
        ("set_model", json!({"model": "demo"})),
        (
            "get_models",
            json!({"models": [{"id": "demo", "provider": "demo", "context_window": 200_000, "max_output": 8192, "reasoning": true}]}),
        ),
        ("ping", json!({"pong": true})),
        ("set_reasoning", json!({"reasoning": "high"})),
        (
            "get_commands",
            json!({"commands": [{"name": "now", "description": "", "source": "extension", "extension": "clock"}]}),
        ),
        (
            "run_command",
            json!({"action": "display", "display": "23:42"}),
        ),
        (
            "get_extensions",
            json!({"extensions": [{"name": "clock", "version": "1.0.0", "state": "failed", "commands": ["now"], "tools": [], "intercepts": [], "error": "exit status 1"}]}),
        ),
        (
            "reload_ext",
            json!({"stopped": 2, "loaded": 2, "ready": 1, "errors": [{"extension": "clock", "reason": "no hello within 30 s"}]}),
        ),
    ]
}

#[test]
fn every_response_round_trips() {
    let data = data();
    assert_eq!(
        data.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
        rpc::Command::NAMES,
        "one response per command"
    );
    assert_eq!(rpc::Data::COMMANDS, rpc::Command::NAMES);

    let validator = |name: &str| {
        let documents = zot_protocol::schema::documents();
        let schema = documents
            .into_iter()
            .find(|document| document.name == name)
            .expect("the schema is published")
            .schema;
        validate::ToolSchema::compile(schema.as_object().expect("an object")).expect("compiles")
    };
    let any = validator("rpc/response");
    for (command, data) in data {
        let schema = validator(&format!("rpc/response/{command}"));
        let mut good = json!({"type": "response", "id": "1", "command": command, "success": true, "data": data});
        if data.is_null() {
            good.as_object_mut()
                .expect("an object")
                .shift_remove("data");
        }
        let bad = json!({"type": "response", "command": command, "success": false, "error": "agent is busy"});
        for line in [good, bad] {
            schema
                .check(&line)
                .unwrap_or_else(|mismatch| panic!("{line}: {mismatch}"));
            any.check(&line)
                .unwrap_or_else(|mismatch| panic!("{line}: {mismatch}"));
            let output: rpc::Output = serde_json::from_value(line.clone()).expect("decodes");
            assert!(
                matches!(&output, rpc::Output::Response(response) if !matches!(response.outcome, Ok(rpc::Data::Unknown(_))))
            );
            assert_eq!(serde_json::to_value(&output).expect("serialises"), line);
        }
        // A success without data and a failure without an error message are invalid.
        assert!(
            schema
                .check(&json!({"type": "response", "command": command, "success": false}))
                .is_err()
        );
        assert!(
            data.is_null()
                || schema
                    .check(&json!({"type": "response", "command": command, "success": true}))
                    .is_err()
        );
    }
    let refused = json!({"type": "response", "command": "", "success": false, "error": "not JSON: expected value at column 1"});
    any.check(&refused).expect("a refusal is a response");
    assert_eq!(
        serde_json::to_value(
            serde_json::from_value::<rpc::Output>(refused.clone()).expect("decodes")
        )
        .expect("serialises"),
        refused
    );
}
