//! `approvals` in config.json, in modes that cannot ask the user.

use std::fs;

use serde_json::{Value, json};

use super::{demo, json::events};
use crate::{rpc::driver::Rpc, support::World};

fn config(world: &World, config: &Value) {
    fs::create_dir_all(world.path("zot")).expect("failed to create directory");
    fs::write(world.path("zot/config.json"), config.to_string()).expect("failed to write");
}

const CALL: &str = "/call bash {\"command\": \"touch made\"}";
const REFUSAL: &str = "`bash` needs the user's confirmation because of the rule {\"tool\":\"bash\",\"do\":\"ask\"}, but only interactive mode can ask";

#[test]
fn a_call_that_needs_confirmation_is_refused_without_a_user() {
    let world = World::new();
    config(
        &world,
        &json!({"approvals": [{"tool": "bash", "do": "ask"}]}),
    );
    let ran = demo(&world, &["-p", CALL]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(ran.out.contains(REFUSAL), "{}", ran.out);
    assert!(ran.out.contains("pass --yolo"), "{}", ran.out);

    let ran = demo(&world, &["--json", CALL]);
    let events = events(&ran.out);
    let result = events.iter().find(|it| it["type"] == "tool_result");
    let result = result.expect("no result");
    assert_eq!(result["status"], "blocked");
    let text = result["content"][0]["text"].as_str();
    assert!(text.is_some_and(|text| text.contains(REFUSAL)), "{result}");

    let mut zot = Rpc::demo(&world, &[]);
    zot.data(&json!({"id": "1", "type": "prompt", "message": CALL}));
    let lines = zot.until_event("done");
    let result = lines.iter().find(|it| it["type"] == "tool_result");
    let result = result.expect("no result");
    assert_eq!(result["status"], "blocked", "{result}");
    assert_eq!(zot.end().code, Some(0));
    assert!(!world.work().join("made").exists());

    // With --yolo, the user has already said yes.
    let ran = demo(&world, &["--yolo", "-p", CALL]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(world.work().join("made").exists());
}

#[test]
fn rules_that_need_no_user_apply_everywhere() {
    let world = World::new();
    let rules = json!([
        {"tool": "bash", "command": "touch *", "do": "allow"},
        {"tool": "bash", "command": "rm *", "do": "deny"},
        {"tool": "*", "do": "ask"},
    ]);
    config(&world, &json!({"approvals": rules}));
    for (command, is_allowed) in [
        ("touch a", true),
        ("touch b; touch c", false),
        ("cd .; rm a", false),
    ] {
        let call = format!("/call bash {}", json!({"command": command}));
        for yolo in [&[][..], &["--yolo"]] {
            let ran = demo(&world, &[yolo, &["-p", &call]].concat());
            let denied = ran.out.contains("is not allowed");
            let asked = ran.out.contains("needs the user's confirmation");
            let is_removal = command.contains("rm");
            assert_eq!(denied, is_removal, "{command} {yolo:?}: {ran:#?}");
            let expected = !is_allowed && !is_removal && yolo.is_empty();
            assert_eq!(asked, expected, "{command} {yolo:?}: {ran:#?}");
        }
    }
    assert!(world.work().join("a").exists());
}

#[test]
fn an_invalid_rule_is_reported_and_refuses() {
    let world = World::new();
    let rules = json!([{"tool": "bash", "command": "touch *", "do": "alow"}]);
    config(&world, &json!({"approvals": rules}));
    let ran = demo(&world, &["-p", CALL]);
    assert!(ran.err.contains("/approvals/0/do: \"alow\""), "{}", ran.err);
    assert!(ran.out.contains(REFUSAL), "{}", ran.out);
    assert!(!world.work().join("made").exists());
}

#[test]
fn a_projects_files_cannot_set_approvals() {
    let world = World::new();
    config(
        &world,
        &json!({"approvals": [{"tool": "bash", "do": "ask"}]}),
    );
    let theirs = json!({"approvals": [{"tool": "*", "do": "allow"}], "confirm": false});
    fs::create_dir_all(world.work().join(".zot")).expect("failed to create directory");
    for file in [".zot/config.json", "config.json"] {
        fs::write(world.work().join(file), theirs.to_string()).expect("failed to write");
    }
    let ran = demo(&world, &["-p", CALL]);
    assert!(ran.out.contains(REFUSAL), "{}", ran.out);
    assert!(!world.work().join("made").exists());
}
