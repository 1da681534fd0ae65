//! Queueing, aborting, and commands that are refused while zot is busy.

use serde_json::{Value, json};

use super::{driver::Rpc, script, types};
use crate::support::{World, wait_until};

/// Returns a turn that streams some text and then hangs until it is aborted.
fn endless() -> Value {
    json!([{"text": ["Well, "]}, {"delay_ms": 600_000}, {"text": "never"}])
}

fn of<'l>(lines: &'l [Value], name: &str) -> &'l Value {
    let mut named = lines.iter().filter(|line| line["type"] == name);
    let one = named
        .next()
        .unwrap_or_else(|| panic!("no {name}: {lines:?}"));
    assert_eq!(named.next(), None, "more than one {name}");
    one
}

#[test]
fn a_steering_message_is_delivered_before_the_next_model_call() {
    let world = World::new();
    let command = "until [ -e go ]; do sleep 0.02; done";
    let flags = script(
        &world,
        &[
            json!({"tool_call": {"name": "bash", "args": {"command": command}}}),
            json!({"text": "done"}),
        ],
    );
    let mut zot = Rpc::demo(&world, &flags);
    zot.data(&json!({"id": "a", "type": "prompt", "message": "begin"}));
    zot.until_event("turn_end");
    let steered = zot.ask(&json!({"id": "b", "type": "steer", "message": "on the way"}));
    assert_eq!(
        steered,
        json!({"type": "response", "id": "b", "command": "steer", "success": true})
    );
    let error = zot.error(&json!({"id": "c", "type": "steer", "message": " "}));
    assert_eq!(error, "/message: must not be blank if there are no images");
    std::fs::write(world.work().join("go"), "").expect("failed to write");
    let lines = zot.until_event("done");
    let types = types(&lines);
    let at = |name: &str| {
        types
            .iter()
            .position(|it| *it == name)
            .expect("no such event")
    };
    assert!(at("tool_result") < at("user_message") && at("user_message") < at("turn_start"));
    assert_eq!(
        of(&lines, "user_message")["content"][0]["text"],
        "on the way"
    );
    zot.end();
}

#[test]
fn a_blocked_steering_message_is_reported_in_order() {
    let world = World::new();
    let program = r#"
import json, sys
def emit(**frame): print(json.dumps(frame), flush=True)
emit(type="hello", name="picky", capabilities=["events"])
emit(type="subscribe", intercept=["user_message"])
emit(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "event_intercept":
        emit(type="event_intercept_response", id=frame["id"], block=frame["text"] == "no", reason="not that")
    elif frame["type"] == "shutdown":
        break
"#;
    let dir = world.installed("picky");
    std::fs::create_dir_all(&dir).expect("failed to create directory");
    let manifest = json!({"name": "picky", "exec": "python3", "args": ["main.py"]});
    std::fs::write(dir.join("extension.json"), manifest.to_string()).expect("failed to write");
    std::fs::write(dir.join("main.py"), program).expect("failed to write");
    let command = "until [ -e go ]; do sleep 0.02; done";
    let turns = [
        json!({"tool_call": {"name": "bash", "args": {"command": command}}}),
        json!({"text": "done"}),
    ];
    let flags = script(&world, &turns);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut zot = Rpc::start(&world, &[&["--provider", "demo"], &flags[..]].concat());
    zot.data(&json!({"id": "a", "type": "prompt", "message": "begin"}));
    zot.until_event("turn_end");
    for message in ["one", "no", "two"] {
        let steered = zot.ask(&json!({"id": "b", "type": "steer", "message": message}));
        assert_eq!(steered["success"], true, "{steered}");
    }
    std::fs::write(world.work().join("go"), "").expect("failed to write");
    let lines = zot.until_event("done");
    let ends = lines
        .iter()
        .filter_map(|line| match line["type"].as_str()? {
            "user_message" => line["content"][0]["text"].as_str(),
            "steer_blocked" => line["reason"].as_str(),
            _ => None,
        });
    assert_eq!(ends.collect::<Vec<_>>(), ["one", "not that", "two"]);
    zot.end();
}

#[test]
fn prompts_and_compactions_run_in_order_and_are_answered_when_they_start() {
    let world = World::new();
    let flags = script(
        &world,
        &[
            endless(),
            json!({"text": "two"}),
            json!({"text": "short"}),
            json!({"text": "three"}),
        ],
    );
    let mut zot = Rpc::demo(&world, &flags);
    zot.send(&json!({"id": "a", "type": "prompt", "message": "one"}));
    zot.until_event("text_delta");
    zot.send(&json!({"id": "b", "type": "prompt", "message": "two"}));
    zot.send(&json!({"id": "c", "type": "compact"}));
    zot.send(&json!({"id": "d", "type": "prompt", "message": "three"}));
    // The response to `get_state` shows that the commands before it have been read, but not
    // answered.
    let state = zot.data(&json!({"id": "s", "type": "get_state"}));
    assert_eq!(state["busy"], true);
    let answered = |zot: &Rpc| -> Vec<Value> {
        let responses = zot
            .received
            .iter()
            .filter(|line| line["type"] == "response");
        responses.map(|line| line["id"].clone()).collect()
    };
    assert_eq!(answered(&zot), ["a", "s"]);
    zot.data(&json!({"id": "x", "type": "abort"}));
    let lines = zot.until_event("done");
    assert_eq!(
        of(&lines, "turn_end"),
        &json!({"type": "turn_end", "stop": "aborted"})
    );
    assert_eq!(
        of(&lines, "assistant_message")["content"][0]["text"],
        "Well, "
    );
    let lines = zot.until_event("done");
    assert_eq!(
        (lines[0]["type"].as_str(), &lines[0]["id"]),
        (Some("response"), &json!("b"))
    );
    let lines = zot.until_event("done");
    assert_eq!(types(&lines), ["response", "compact_done", "done"]);
    assert_eq!(lines[0]["id"], "c");
    let lines = zot.until_event("done");
    assert_eq!(lines[0]["id"], "d");
    assert_eq!(super::text(&lines), "three");
    assert_eq!(answered(&zot), ["a", "s", "x", "b", "c", "d"]);
}

#[test]
fn zot_is_idle_once_done_is_sent() {
    let world = World::new();
    // Use a session, so that zot still has work to do after the last event.
    let session = world.path("session.jsonl");
    let mut zot = Rpc::demo(
        &world,
        &["--session".to_owned(), session.display().to_string()],
    );
    for round in 0..20 {
        zot.send(&json!({"id": format!("p{round}"), "type": "prompt", "message": "hello"}));
        zot.until_event("done");
        zot.data(&json!({"id": format!("r{round}"), "type": "set_reasoning", "reasoning": "low"}));
        zot.send(&json!({"id": format!("c{round}"), "type": "compact"}));
        zot.until_event("done");
        zot.data(&json!({"id": format!("x{round}"), "type": "clear"}));
    }
    let ended = zot.end();
    assert_eq!(ended.code, Some(0));
    assert!(session.is_file());
}

#[test]
fn changes_are_refused_while_busy() {
    let world = World::new();
    let mut zot = Rpc::demo(
        &world,
        &script(&world, &[endless(), json!({"text": "after"})]),
    );
    zot.send(&json!({"id": "p", "type": "prompt", "message": "one"}));
    zot.until_event("text_delta");
    for command in [
        json!({"id": "1", "type": "clear"}),
        json!({"id": "2", "type": "set_model", "model": "demo"}),
        json!({"id": "3", "type": "set_reasoning", "reasoning": "low"}),
        json!({"id": "4", "type": "reload_ext"}),
    ] {
        assert_eq!(zot.error(&command), "agent is busy", "{command}");
    }
    for read in [
        "get_state",
        "get_messages",
        "get_models",
        "get_commands",
        "get_extensions",
        "ping",
        "hello",
    ] {
        zot.data(&json!({"id": read, "type": read}));
    }
    zot.data(&json!({"id": "a", "type": "abort"}));
    zot.until_event("done");
    let state = zot.data(&json!({"id": "s", "type": "get_state"}));
    assert_eq!(
        (&state["busy"], &state["message_count"]),
        (&json!(false), &json!(2))
    );
    zot.data(&json!({"id": "5", "type": "clear"}));
}

#[test]
fn an_abort_while_tools_run_sends_a_result_for_each_call() {
    let world = World::new();
    let turn = json!({"tool_calls": [
        {"id": "t1", "name": "bash", "args": {"command": "echo begun; sleep 600"}},
        {"id": "t2", "name": "bash", "args": {"command": "echo second"}},
    ]});
    let mut zot = Rpc::demo(&world, &script(&world, &[turn]));
    zot.send(&json!({"id": "p", "type": "prompt", "message": "one"}));
    zot.until_event("tool_progress");
    zot.data(&json!({"id": "a", "type": "abort"}));
    let lines = zot.until_event("done");
    let results: Vec<&Value> = lines
        .iter()
        .filter(|line| line["type"] == "tool_result")
        .collect();
    let shown: Vec<(&Value, &Value, &Value)> = results
        .iter()
        .map(|it| (&it["id"], &it["is_error"], &it["status"]))
        .collect();
    let (yes, cancelled) = (json!(true), json!("cancelled"));
    assert_eq!(
        shown,
        [
            (&json!("t1"), &yes, &cancelled),
            (&json!("t2"), &yes, &cancelled)
        ]
    );
    // Aborting while idle has no effect.
    zot.data(&json!({"id": "b", "type": "abort"}));
    let ended = zot.end();
    assert_eq!(ended.received.last().expect("not printed")["id"], "b");
}

#[test]
fn reaching_max_steps_is_an_error_followed_by_done() {
    let world = World::new();
    let mut flags = script(
        &world,
        &[json!({"tool_call": {"name": "bash", "args": {"command": "true"}}})],
    );
    flags.extend(["--max-steps".to_owned(), "1".to_owned()]);
    let mut zot = Rpc::demo(&world, &flags);
    zot.send(&json!({"id": "p", "type": "prompt", "message": "one"}));
    let lines = zot.until_event("done");
    assert_eq!(types(&lines)[lines.len() - 2..], ["error", "done"]);
    assert_eq!(
        of(&lines, "error")["message"],
        "reached the limit of 1 model call"
    );
}

#[test]
fn a_prompt_can_contain_images() {
    let world = World::new();
    let mut zot = Rpc::demo(&world, &[]);
    let data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNgAAAAAgAB5Sfe/AAAAABJRU5ErkJggg==";
    let prompt = |id: &str, image: Value| json!({"id": id, "type": "prompt", "message": "", "images": [image]});
    zot.data(&prompt(
        "1",
        json!({"mime_type": "image/png", "data": data}),
    ));
    let lines = zot.until_event("done");
    let content = &of(&lines, "user_message")["content"];
    assert_eq!(
        content,
        &json!([{"type": "image", "mime_type": "image/png", "bytes": 67}])
    );
    for (image, why) in [
        (
            json!({"mime_type": "text/plain", "data": data}),
            "/images/0/mime_type: unsupported image type; expected one of: image/png",
        ),
        (
            json!({"mime_type": "image/png", "data": "no"}),
            "/images/0/data: invalid base64",
        ),
        (json!({"mime_type": "image/png"}), "/images/0/data: missing"),
    ] {
        let error = zot.error(&prompt("2", image));
        assert!(error.starts_with(why), "{error}");
    }
    let blank = zot.error(&json!({"id": "3", "type": "prompt", "message": " \n"}));
    assert_eq!(blank, "/message: must not be blank if there are no images");
    // None of these commands started a turn.
    assert_eq!(
        zot.data(&json!({"id": "s", "type": "get_state"}))["message_count"],
        2
    );
}

#[test]
fn nothing_is_stored_without_a_session_flag() {
    let world = World::new();
    let prompt = json!({"id": "p", "type": "prompt", "message": "remember 7"});
    let mut zot = Rpc::demo(&world, &[]);
    zot.data(&prompt);
    zot.until_event("done");
    assert_eq!(zot.end().code, Some(0));
    assert!(!world.path("zot/sessions").exists());

    let file = world.path("kept.jsonl");
    let flags = ["--session".to_owned(), file.display().to_string()];
    let mut zot = Rpc::demo(&world, &flags);
    zot.data(&prompt);
    zot.until_event("done");
    assert_eq!(zot.end().code, Some(0));
    let mut zot = Rpc::demo(&world, &flags);
    let messages = zot.data(&json!({"id": "m", "type": "get_messages"}));
    assert_eq!(messages["messages"][0]["content"][0]["text"], "remember 7");
    wait_until("the session file exists", || file.is_file());
}

#[test]
fn the_rpc_flag_is_equivalent_to_the_subcommand() {
    let world = World::new();
    let mut zot = Rpc::spawn(&mut world.zot_command(&["--rpc", "--provider", "demo"]));
    zot.data(&json!({"id": "1", "type": "ping"}));
    let ended = zot.end();
    assert_eq!((ended.code, &*ended.err), (Some(0), ""));
    for (args, code) in [
        (&["rpc", "--no-yolo", "--provider", "demo"][..], 2),
        (&["rpc", "a prompt"], 2),
        (&["--rpc", "--json"], 2),
        // No API key is configured.
        (&["rpc"], 1),
    ] {
        let ran = world.zot(args);
        assert_eq!((ran.code, &*ran.out), (Some(code), ""), "{args:?}");
    }
}

#[test]
fn get_state_returns_the_id_of_a_saved_session() {
    let world = World::new();
    let state = json!({"id": "1", "type": "get_state"});
    let mut zot = Rpc::demo(&world, &[]);
    assert_eq!(zot.data(&state).get("session_id"), None, "nothing is saved");
    zot.end();

    let flags = ["--provider", "demo", "--session", "talk.jsonl"];
    let mut zot = Rpc::start(&world, &flags);
    let id = zot.data(&state)["session_id"].clone();
    zot.data(&json!({"id": "2", "type": "prompt", "message": "hello"}));
    zot.until_event("done");
    assert_eq!(zot.data(&state)["session_id"], id);
    zot.end();
    let stored = std::fs::read_to_string(world.work().join("talk.jsonl")).expect("not saved");
    let head: Value = serde_json::from_str(stored.lines().next().expect("empty")).expect("JSON");
    assert!(id.is_string(), "{id}");
    assert_eq!(head["id"], id, "{head}");
}
