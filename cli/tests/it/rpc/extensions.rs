//! Extensions as a driver sees them.

use std::{fs, path::Path};

use serde_json::{Value, json};

use super::{driver::Rpc, types};
use crate::support::{
    World,
    model::{Model, Reply},
    wait_until,
};

/// A command that sends more frames after its response.
const NOTES: &str = r#"    notes)
      respond '"action":"noop"'
      say '{"type":"notify","level":"warn","message":"between turns"}'
      say '{"type":"clear_notes"}'
      say '{"type":"call_tool","id":"x","name":"steps","args":{}}'
      ;;
"#;

/// Installs `kit.sh`, which covers every kind of answer, under this name.
pub(super) fn install(world: &World, name: &str) {
    let dir = world.installed(name);
    fs::create_dir_all(&dir).expect("failed to create directory");
    let manifest = json!({"name": name, "exec": "sh", "args": ["kit.sh"]});
    fs::write(dir.join("extension.json"), manifest.to_string()).expect("failed to write");
    let script = include_str!("../../fixtures/kit.sh")
        .replace("insert panel", "notes insert panel")
        .replace(
            "    insert) respond",
            &format!("{NOTES}    insert) respond"),
        );
    fs::write(dir.join("kit.sh"), script).expect("failed to write");
}

fn start(world: &World) -> Rpc {
    Rpc::start(world, &["--provider", "demo"])
}

fn run(zot: &mut Rpc, name: &str, args: &str) -> Value {
    zot.data(&json!({"id": name, "type": "run_command", "name": name, "args": args}))
}

#[test]
fn a_command_responds_with_its_action() {
    let world = World::new();
    install(&world, "kit");
    let mut zot = start(&world);
    let shown = run(&mut zot, "show", "a  b");
    assert_eq!(shown, json!({"action": "display", "display": "a  b"}));
    let lines = zot.until_event("ext_display");
    assert_eq!(
        lines.last(),
        Some(&json!({"type": "ext_display", "extension": "kit", "text": "a  b"}))
    );
    let inserted = run(&mut zot, "insert", "");
    assert_eq!(
        inserted,
        json!({"action": "insert", "insert": "git status"})
    );
    assert_eq!(run(&mut zot, "quiet", ""), json!({"action": "noop"}));
    let panel = run(&mut zot, "panel", "");
    assert_eq!(panel["action"], "open_panel");
    assert_eq!(panel["open_panel"]["title"], "Todo");
    let failed = zot.error(&json!({"id": "f", "type": "run_command", "name": "/fail"}));
    assert_eq!(failed, "no such city");
    let unknown = zot.error(&json!({"id": "u", "type": "run_command", "name": "nope"}));
    assert_eq!(unknown, "no extension has the command `/nope`");
    let own = zot.error(&json!({"id": "o", "type": "run_command", "name": "clear"}));
    assert_eq!(
        own,
        "`/clear` is a built-in command; run_command runs only extension commands"
    );
    assert_eq!(
        zot.data(&json!({"id": "s", "type": "get_state"}))["message_count"],
        0
    );
}

#[test]
fn a_prompt_from_a_command_is_queued() {
    let world = World::new();
    install(&world, "kit");
    let mut zot = start(&world);
    // The command may be answered before the first prompt ends, but the prompt that it submits must
    // wait.
    zot.send(&json!({"id": "first", "type": "prompt", "message": "/call bash {\"command\": \"sleep 0.2\"}"}));
    let ran = run(&mut zot, "prompt", "");
    let text = "Greet \u{1b}[31mAda\u{1b}[0m.";
    assert_eq!(ran, json!({"action": "prompt", "prompt": text}));
    let before = zot.until_event("done");
    assert_eq!(
        before
            .iter()
            .filter(|line| line["type"] == "user_message")
            .count(),
        1
    );
    let lines = zot.until_event("done");
    let user = lines.iter().find(|line| line["type"] == "user_message");
    assert_eq!(user.expect("no such event")["content"][0]["text"], text);
    let order: Vec<&Value> = zot
        .received
        .iter()
        .filter(|line| line["type"] == "done" || line["id"] == "prompt")
        .collect();
    assert_eq!(
        types(&order.into_iter().cloned().collect::<Vec<_>>()),
        ["done", "response", "done"]
    );
}

#[test]
fn notifications_arrive_between_turns() {
    let world = World::new();
    install(&world, "kit");
    let mut zot = start(&world);
    let lines = zot.until_event("ext_notify");
    assert_eq!(
        lines,
        [
            json!({"type": "ext_notify", "extension": "kit", "level": "info", "message": "a session began"})
        ]
    );
    run(&mut zot, "notes", "");
    let lines = zot.until_event("ext_clear_notes");
    assert_eq!(
        lines,
        [
            json!({"type": "ext_notify", "extension": "kit", "level": "warn", "message": "between turns"}),
            json!({"type": "ext_clear_notes", "extension": "kit"}),
        ]
    );
}

#[test]
fn after_a_reload_the_next_turn_can_call_the_new_tool() {
    let world = World::new();
    install(&world, "kit");
    let mut zot = start(&world);
    let call = |id: &str, tool: &str| json!({"id": id, "type": "prompt", "message": format!("/call {tool} {{}}")});
    let result = |zot: &mut Rpc, tool: &str| {
        zot.data(&call(tool, tool));
        let lines = zot.until_event("done");
        let mut results = lines
            .into_iter()
            .filter(|line| line["type"] == "tool_result");
        results.next().expect("no result")
    };
    assert_eq!(result(&mut zot, "steps")["status"], "completed");

    let path = world.installed("kit").join("kit.sh");
    let changed = fs::read_to_string(&path).expect("failed to read");
    fs::write(&path, changed.replace("steps", "strides")).expect("failed to write");
    assert_eq!(
        zot.data(&json!({"id": "r", "type": "reload_ext"}))["ready"],
        1
    );
    let all = zot.data(&json!({"id": "e", "type": "get_extensions"}));
    let tools = all["extensions"][0]["tools"]
        .as_array()
        .expect("should be an array");
    assert!(tools.contains(&json!("strides")) && !tools.contains(&json!("steps")));
    let new = result(&mut zot, "strides");
    assert_eq!(
        (&new["status"], &new["extension"]),
        (&json!("completed"), &json!("kit"))
    );
    assert_eq!(result(&mut zot, "steps")["status"], "failed");

    fs::write(world.installed("kit").join("extension.json"), "{").expect("failed to write");
    let stats = zot.data(&json!({"id": "r2", "type": "reload_ext"}));
    assert_eq!(
        (&stats["stopped"], &stats["loaded"]),
        (&json!(1), &json!(0))
    );
}

/// Returns the tools offered to the model in the last request.
fn offered(model: &Model) -> Vec<String> {
    let body = model.requests().pop().expect("no request").json();
    let tools = body["tools"].as_array().expect("should be an array").iter();
    let names = tools.map(|tool| {
        tool["function"]["name"]
            .as_str()
            .expect("no name")
            .to_owned()
    });
    names.collect()
}

#[test]
fn after_a_reload_the_model_is_offered_the_new_tool() {
    let world = World::new();
    install(&world, "kit");
    let model = Model::start(vec![Reply::Text("well".to_owned())]);
    let mut zot = Rpc::spawn(
        world
            .zot_command(&["rpc"])
            .args(model.flags())
            .args(["--api-key", "a-key"]),
    );
    let turn = |zot: &mut Rpc, id: &str| {
        zot.data(&json!({"id": id, "type": "prompt", "message": "hello"}));
        zot.until_event("done");
        offered(&model)
    };
    let before = turn(&mut zot, "1");
    let path = world.installed("kit").join("kit.sh");
    let changed = fs::read_to_string(&path).expect("failed to read");
    fs::write(&path, changed.replace("steps", "strides")).expect("failed to write");
    assert_eq!(
        turn(&mut zot, "2"),
        before,
        "the tools changed without a reload"
    );
    zot.data(&json!({"id": "r", "type": "reload_ext"}));
    let has = |tools: &[String], name: &str| tools.iter().any(|tool| tool == name);
    assert!(
        has(&before, "steps") && !has(&before, "strides"),
        "{before:?}"
    );
    let after = turn(&mut zot, "3");
    assert!(has(&after, "strides") && !has(&after, "steps"), "{after:?}");
}

/// The response to a client that asks during startup lists the extensions that are still starting,
/// and an event tells the client when to ask again.
#[test]
fn extensions_that_are_starting_are_named_and_ext_changed_follows() {
    let world = World::new();
    install(&world, "kit");
    let gate = world.path("gate");
    slow(&world, &gate);
    let mut zot = start(&world);
    let all = zot.data(&json!({"id": "e", "type": "get_extensions"}));
    let states = |all: &Value| -> Vec<(String, String)> {
        let all = all["extensions"].as_array().expect("should be an array");
        let of = |it: &Value, key: &str| it[key].as_str().expect("should be a string").to_owned();
        all.iter()
            .map(|it| (of(it, "name"), of(it, "state")))
            .collect()
    };
    let slow_is = |state: &str| ("slow".to_owned(), state.to_owned());
    assert_eq!(states(&all)[1], slow_is("starting"), "{all}");
    let commands = zot.data(&json!({"id": "c", "type": "get_commands"}));
    let starting = commands["starting"].as_array().expect("should be an array");
    assert!(starting.contains(&json!("slow")), "{commands}");

    fs::write(&gate, "").expect("failed to write");
    zot.until_event("ext_changed");
    // The event may have been for the kit, so wait for the slow extension.
    wait_until("the slow extension is ready", || {
        states(&zot.data(&json!({"id": "e2", "type": "get_extensions"})))[1] == slow_is("ready")
    });
    let commands = zot.data(&json!({"id": "c2", "type": "get_commands"}));
    assert_eq!(commands.get("starting"), None, "{commands}");
    let late =
        json!({"name": "late", "description": "", "source": "extension", "extension": "slow"});
    let listed = commands["commands"].as_array().expect("should be an array");
    assert!(listed.contains(&late), "{commands}");
    // Nothing has changed since, so there is no further event.
    let ended = zot.end();
    let after = ended.received.iter().skip_while(|it| it["id"] != "c2");
    assert!(
        after.skip(1).all(|it| it["type"] != "ext_changed"),
        "{:#?}",
        ended.received
    );
}

#[test]
fn no_tools_also_disables_extension_tools() {
    let world = World::new();
    install(&world, "kit");
    for (flag, works) in [
        ("--no-tools", false),
        ("--tools=bash", false),
        ("--tools=steps", true),
    ] {
        let mut zot = Rpc::start(&world, &["--provider", "demo", flag]);
        zot.data(&json!({"id": "1", "type": "prompt", "message": "/call steps {}"}));
        let lines = zot.until_event("done");
        let result = lines.iter().find(|line| line["type"] == "tool_result");
        assert_eq!(result.expect("no such event")["is_error"], !works, "{flag}");
    }
}

/// Writes an extension that sends `hello` only once a file exists.
fn slow(world: &World, gate: &Path) {
    let dir = world.installed("slow");
    fs::create_dir_all(&dir).expect("failed to create directory");
    let manifest = json!({"name": "slow", "exec": "sh", "args": ["slow.sh"]});
    fs::write(dir.join("extension.json"), manifest.to_string()).expect("failed to write");
    let script = format!(
        "while [ ! -e '{}' ]; do sleep 0.05; done\n\
         echo '{{\"type\":\"hello\",\"name\":\"slow\"}}'\n\
         echo '{{\"type\":\"register_command\",\"name\":\"late\"}}'\n\
         echo '{{\"type\":\"ready\"}}'\n\
         while read -r line; do case $line in *shutdown*) exit;; esac; done\n",
        gate.display()
    );
    fs::write(dir.join("slow.sh"), script).expect("failed to write");
}

#[test]
fn zot_answers_while_extensions_are_starting() {
    let world = World::new();
    let gate = world.path("gate");
    slow(&world, &gate);
    let mut zot = start(&world);
    // These are all answered before the turn starts, because the turn waits for the extension.
    zot.data(&json!({"id": "h", "type": "hello"}));
    zot.data(&json!({"id": "p", "type": "prompt", "message": "hello"}));
    let state = zot.data(&json!({"id": "s", "type": "get_state"}));
    assert_eq!(
        (&state["busy"], &state["message_count"]),
        (&json!(true), &json!(0))
    );
    wait_until("the extension is starting", || {
        let all = zot.data(&json!({"id": "e", "type": "get_extensions"}));
        all["extensions"][0]["state"] == "starting"
    });
    fs::write(&gate, "").expect("failed to write");
    zot.until_event("done");
    wait_until("the extension is ready", || {
        let all = zot.data(&json!({"id": "e2", "type": "get_extensions"}));
        all["extensions"][0]["state"] == "ready"
    });
    let commands = zot.data(&json!({"id": "c", "type": "get_commands"}));
    let last = commands["commands"].as_array().and_then(|all| all.last());
    assert_eq!(last.expect("list is empty")["name"], "late");
}
