//! Sends every command and receives every event at least once.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use zot_protocol::{
    Tagged,
    rpc::{Command, Event},
};

use super::{driver::Rpc, extensions, script, text, types};
use crate::support::World;

#[test]
fn every_command_is_answered_and_every_event_is_sent() {
    let world = World::new();
    extensions::install(&world, "kit");
    let mut flags = script(
        &world,
        &[
            json!({"thinking": ["Hm."], "signature": "s", "text": "Let me see.", "tool_call": {"id": "t1", "name": "steps"}}),
            json!({"text": ["It ", "is ", "done."], "usage": {"input": 90, "output": 4, "cache_read": 10, "cache_write": 5}}),
            json!({"text": "A summary."}),
            json!({"error": "overloaded"}),
            json!({"cut_off": true}),
            json!({"error": "out of order"}),
        ],
    );
    flags.extend(["--provider".to_owned(), "demo".to_owned()]);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut zot = Rpc::start(&world, &flags);

    check_hello_and_ping(&mut zot);
    check_a_turn(&world, &mut zot);
    check_compaction_and_failures(&mut zot);
    check_state_changes(&mut zot);
    check_extensions(&world, &mut zot);

    let ended = zot.end();
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let answered: BTreeSet<&str> = ended
        .received
        .iter()
        .filter_map(|line| line["command"].as_str())
        .collect();
    assert_eq!(answered, Command::NAMES.iter().copied().collect());
    let told: BTreeSet<&str> = types(&ended.received)
        .into_iter()
        .filter(|name| *name != "response")
        .collect();
    // Only `zot --json` sends `session`. `steer_blocked` has a test of its own.
    let elsewhere = ["session", "steer_blocked"];
    let events = Event::NAMES.iter().copied();
    assert_eq!(
        told,
        events.filter(|name| !elsewhere.contains(name)).collect()
    );
}

fn check_hello_and_ping(zot: &mut Rpc) {
    let hello = zot.data(&json!({"id": "0", "type": "hello"}));
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        hello,
        json!({"protocol_version": 1, "version": version, "provider": "demo", "model": "demo"})
    );
    let ping = zot.ask(&json!({"id": "9", "type": "ping"}));
    assert_eq!(
        ping,
        json!({"type": "response", "id": "9", "command": "ping", "success": true, "data": {"pong": true}})
    );
}

fn check_a_turn(world: &World, zot: &mut Rpc) {
    let started =
        zot.data(&json!({"id": "1", "type": "prompt", "message": "fix it", "images": []}));
    assert_eq!(started, json!({"started": true}));
    let lines = zot.until_event("done");
    let turn: Vec<&str> = types(&lines)
        .into_iter()
        .filter(|name| !name.starts_with("ext_"))
        .collect();
    let expected = [
        "user_message",
        "turn_start",
        "assistant_start",
        "thinking_delta",
        "thinking_end",
        "text_delta",
        "text_delta",
        "text_delta",
        "tool_use_start",
        "tool_use_args",
        "tool_use_args",
        "tool_use_end",
        "usage",
        "assistant_message",
        "tool_call",
        "turn_end",
        "tool_progress",
        "tool_result",
        "turn_start",
        "assistant_start",
        "text_delta",
        "text_delta",
        "text_delta",
        "usage",
        "assistant_message",
        "turn_end",
        "done",
    ];
    assert_eq!(turn, expected);
    assert_eq!(text(&lines), "Let me see.It is done.");
    let of = |name: &str| {
        lines
            .iter()
            .rfind(|line| line["type"] == name)
            .expect("no such event")
    };
    assert_eq!(
        of("turn_end"),
        &json!({"type": "turn_end", "stop": "end_turn"})
    );
    let result = of("tool_result");
    assert_eq!(
        (&result["extension"], &result["status"]),
        (&json!("kit"), &json!("completed"))
    );
    assert_eq!(of("tool_call")["args"], json!({}));

    let state = zot.data(&json!({"id": "4", "type": "get_state"}));
    let cwd = world.work().canonicalize().expect("failed to canonicalize");
    assert_eq!(
        (&state["message_count"], &state["busy"]),
        (&json!(4), &json!(false))
    );
    assert_eq!(
        (&state["provider"], &state["model"]),
        (&json!("demo"), &json!("demo"))
    );
    assert_eq!(state["cwd"].as_str(), cwd.to_str());
    assert_eq!(state["usage"], of("usage")["cumulative"]);
    let messages = zot.data(&json!({"id": "5", "type": "get_messages"}));
    let messages = messages["messages"].as_array().expect("should be an array");
    let roles: Vec<&Value> = messages.iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant"]);
    assert_eq!(messages[2]["content"][0]["call_id"], "t1");
}

fn check_compaction_and_failures(zot: &mut Rpc) {
    let compact = zot.data(&json!({"id": "3", "type": "compact"}));
    assert_eq!(compact, json!({"started": true}));
    let lines = zot.until_event("done");
    assert_eq!(types(&lines), ["compact_done", "done"]);
    assert_eq!(lines[0]["summary"], "A summary.");
    zot.data(&json!({"id": "3b", "type": "compact"}));
    let failed = zot.until_event("done");
    assert_eq!(types(&failed), ["error", "done"]);

    zot.data(&json!({"id": "1b", "type": "prompt", "message": "again"}));
    let failed = zot.until_event("done");
    let retry = failed.iter().find(|line| line["type"] == "retry");
    assert_eq!(retry.expect("no such event")["attempt"], 1);
    let end = failed
        .iter()
        .find(|line| line["type"] == "turn_end")
        .expect("no such event");
    assert_eq!(end["stop"], "error");
    assert!(
        end["error"]
            .as_str()
            .expect("missing `error`")
            .contains("out of order"),
        "{end}"
    );
}

fn check_state_changes(zot: &mut Rpc) {
    let error = zot.error(&json!({"id": "16", "type": "steer", "message": "now"}));
    assert_eq!(error, "no prompt is running");
    let abort = zot.ask(&json!({"id": "2", "type": "abort"}));
    assert_eq!(
        abort,
        json!({"type": "response", "id": "2", "command": "abort", "success": true})
    );
    let clear = zot.ask(&json!({"id": "6", "type": "clear"}));
    assert_eq!(
        clear,
        json!({"type": "response", "id": "6", "command": "clear", "success": true})
    );
    let state = zot.data(&json!({"id": "4b", "type": "get_state"}));
    assert_eq!(state["message_count"], 0);

    let models = zot.data(&json!({"id": "8", "type": "get_models"}));
    assert_eq!(models["models"][0]["id"], "demo");
    let set = zot.data(&json!({"id": "7", "type": "set_model", "model": "demo"}));
    assert_eq!(set, json!({"model": "demo"}));
    let wrong = zot.error(&json!({"id": "7b", "type": "set_model", "model": "claude-opus-4-5"}));
    assert!(
        wrong.contains("demo has no model `claude-opus-4-5`\nhint: known models: demo"),
        "{wrong}"
    );
    let set = zot.data(&json!({"id": "10", "type": "set_reasoning", "reasoning": "high"}));
    assert_eq!(set, json!({"reasoning": "high"}));
}

fn check_extensions(world: &World, zot: &mut Rpc) {
    let commands = zot.data(&json!({"id": "11", "type": "get_commands"}));
    let commands = commands["commands"].as_array().expect("should be an array");
    let of_kit =
        json!({"name": "show", "description": "", "source": "extension", "extension": "kit"});
    assert!(commands.contains(&of_kit), "{commands:?}");
    assert_eq!(
        (&commands[0]["name"], &commands[0]["source"]),
        (&json!("help"), &json!("builtin"))
    );
    let extensions = zot.data(&json!({"id": "13", "type": "get_extensions"}));
    let kit = &extensions["extensions"][0];
    assert_eq!(
        (&kit["name"], &kit["state"]),
        (&json!("kit"), &json!("ready"))
    );
    assert!(
        kit["tools"]
            .as_array()
            .expect("should be an array")
            .contains(&json!("steps"))
    );

    zot.data(&json!({"id": "12", "type": "run_command", "name": "show", "args": "berlin"}));
    zot.data(&json!({"id": "12b", "type": "run_command", "name": "notes"}));
    zot.until_event("ext_tool_result");
    let script = world.installed("kit").join("kit.sh");
    let changed = std::fs::read_to_string(&script).expect("failed to read");
    std::fs::write(&script, changed.replace("steps", "strides")).expect("failed to write");
    let reload = zot.data(&json!({"id": "14", "type": "reload_ext"}));
    assert_eq!(
        reload,
        json!({"stopped": 1, "loaded": 1, "ready": 1, "errors": []})
    );
    zot.until_event("ext_changed");
}
