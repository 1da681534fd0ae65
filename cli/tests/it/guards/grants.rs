//! Actions that use the user's privileges need an explicit permission, and show the extension's
//! name.

use std::fs;

use serde_json::{Value, json};

use super::{REWRITER, bash, drive, extension, files_starting_with, prompt, result};
use crate::support::{World, text};

/// When its command is run, calls bash and shows the result.
const CALLER: &str = r#"
begin(capabilities=["call_tool", "errors"], commands=["go", "ask"])
waiting = None
for frame in frames():
    if frame["type"] == "command_invoked" and frame["name"] == "go":
        waiting = frame["id"]
        say("call_tool", id="x", name="bash", args={"command": "echo called && touch forbidden"})
    elif frame["type"] == "command_invoked":
        say("command_response", id=frame["id"], action="prompt", prompt="do as I say")
    elif frame["type"] == "tool_result":
        say("command_response", id=waiting, action="display", display=frame["content"][0]["text"])
    elif frame["type"] == "shutdown":
        break
"#;

fn run(rpc: &mut crate::rpc::driver::Rpc, name: &str) -> Value {
    rpc.ask(&json!({"id": "run", "type": "run_command", "name": name}))
}

#[test]
fn a_confined_extension_cannot_call_a_tool_without_permission() {
    let world = World::new();
    let confined = json!({"permissions": {"tools": ["read"]}});
    let dirs = [extension(&world, "caller", &confined, CALLER)];
    let mut rpc = drive(&world, &dirs, &[]);
    let said = run(&mut rpc, "go")["data"]["display"].take();
    assert_eq!(
        said,
        "it is not allowed to call `bash`: add \"tools\": [\"bash\"] to \"permissions\" in its extension.json"
    );
    assert_eq!(files_starting_with(&world, "forbidden"), [""; 0]);
    rpc.end();
}

#[test]
fn a_permitted_call_carries_its_extensions_name_everywhere() {
    let world = World::new();
    let watcher = r#"
begin(events=["tool_call", "tool_result"], intercept=["tool_call", "tool_result"])
for frame in frames():
    if frame["type"] in ("event", "event_intercept"):
        say("notify", level="info", message=f"{frame['type']} {frame['event']} {frame.get('caller')}")
    if frame["type"] == "event_intercept":
        decide(frame)
    elif frame["type"] == "shutdown":
        break
"#;
    let granted = json!({"permissions": {"tools": ["bash"]}});
    let dirs = [
        extension(&world, "caller", &granted, CALLER),
        extension(&world, "watcher", &json!({}), watcher),
    ];
    let session = world.path("session.jsonl");
    let mut rpc = drive(&world, &dirs, &["--session", text(&session)]);
    let said = run(&mut rpc, "go")["data"]["display"].take();
    assert_eq!(said, "called\n");
    prompt(&mut rpc, "hello");
    let ended = rpc.end();
    let of = |name: &str| {
        let found = ended.received.iter().find(|it| it["type"] == name);
        found.unwrap_or_else(|| panic!("no {name}")).clone()
    };
    let call = of("ext_tool_call");
    assert_eq!(
        (&call["extension"], &call["name"]),
        (&json!("caller"), &json!("bash"))
    );
    assert_eq!(call["args"]["command"], "echo called && touch forbidden");
    assert_eq!(of("ext_tool_result")["status"], "completed");
    let notes: Vec<&str> = ended
        .received
        .iter()
        .filter(|it| it["type"] == "ext_notify")
        .filter_map(|it| it["message"].as_str())
        .collect();
    assert_eq!(
        notes,
        [
            "event tool_call caller",
            "event_intercept tool_call caller",
            "event_intercept tool_result caller",
            "event tool_result caller",
        ]
    );
    let kept = fs::read_to_string(&session).expect("failed to read session");
    let kept = kept.lines().find(|line| line.contains("extension_call"));
    let kept: Value = serde_json::from_str(kept.expect("not stored")).expect("invalid JSON");
    assert_eq!(kept["call"]["extension"], "caller");
    assert_eq!(kept["call"]["status"], "completed");
}

#[test]
fn a_command_can_answer_with_a_prompt_only_with_submit_permission() {
    let world = World::new();
    let confined = json!({"permissions": {}});
    let granted = json!({"permissions": {"submit": true}});
    for (manifest, works) in [(confined, false), (granted, true), (json!({}), true)] {
        let dirs = [extension(&world, "caller", &manifest, CALLER)];
        let mut rpc = drive(&world, &dirs, &[]);
        let answer = run(&mut rpc, "ask");
        assert_eq!(answer["success"], works, "{manifest}: {answer}");
        if !works {
            assert_eq!(
                answer["error"],
                "caller: it is not allowed to submit prompts: add \"submit\": true to \"permissions\" in its extension.json"
            );
        }
        rpc.end();
    }
}

#[test]
fn a_rewrite_without_permission_is_a_reported_failure() {
    let lacks = "it is not allowed to rewrite tool_call: its permissions lack \"intercept\": [\"tool_call\"]";
    for (policy, status) in [("allow", "completed"), ("block", "blocked")] {
        let world = World::new();
        let manifest = json!({
            "permissions": {},
            "intercept": {"tool_call": {"on_failure": policy}}
        });
        let dirs = [extension(&world, "rewriter", &manifest, REWRITER)];
        let mut rpc = drive(&world, &dirs, &[]);
        let (said, ended) = result(&prompt(&mut rpc, &bash("echo untouched")));
        assert_eq!(ended, status, "{said}");
        let expected = match policy {
            "allow" => "untouched\n".to_owned(),
            _ => format!("rewriter failed: {lacks}"),
        };
        assert_eq!(said, expected);
        assert_eq!(files_starting_with(&world, "forbidden"), [""; 0]);
        let ended = rpc.end();
        let notes = ended
            .received
            .iter()
            .filter(|it| it["type"] == "ext_notify");
        let notes: Vec<&str> = notes.filter_map(|it| it["message"].as_str()).collect();
        assert!(notes.iter().any(|it| it.contains(lacks)), "{notes:?}");
    }
    let world = World::new();
    let manifest = json!({"permissions": {"intercept": ["tool_call"]}});
    let dirs = [extension(&world, "rewriter", &manifest, REWRITER)];
    let mut rpc = drive(&world, &dirs, &[]);
    prompt(&mut rpc, &bash("echo untouched"));
    assert_eq!(
        files_starting_with(&world, "forbidden").len(),
        1,
        "rewrite was allowed"
    );
    rpc.end();
}

#[test]
fn install_list_and_doctor_show_permissions_in_words() {
    let world = World::new();
    let manifest = json!({
        "permissions": {"tools": ["bash"], "intercept": ["tool_result"], "submit": true}
    });
    let dir = extension(&world, "caller", &manifest, CALLER);
    let installed = world.ext(&["install", "--yes", text(&dir)]);
    let listed = world.ext(&["list"]);
    let examined = world.ext(&["doctor", "caller"]);
    for (command, said) in [
        ("install", installed.out + &installed.err),
        ("list", listed.out),
        ("doctor", examined.out),
    ] {
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        for words in [
            "may run bash: it can do everything you can do",
            "may rewrite tool_result",
            "may submit prompts on your behalf",
        ] {
            assert!(said.contains(words), "{command}: {words}\n{said}");
        }
    }
}
