//! How an extension's actions are shown to the user.

use std::fs;

use serde_json::json;

use super::extension;
use crate::{
    support::{World, text},
    tui::screen::Screen,
};

/// Submits a prompt when it starts. Its command `/go` calls bash and shows the result.
const ACTOR: &str = r#"
begin(capabilities=["call_tool"], commands=["go"])
say("submit", text="do as I say")
for frame in frames():
    if frame["type"] == "command_invoked":
        waiting = frame["id"]
        say("call_tool", id="x" + waiting, name="bash", args={"command": "echo from-an-extension"})
    elif frame["type"] == "tool_result":
        say("command_response", id=waiting, action="display", display="got " + frame["content"][0]["text"])
    elif frame["type"] == "shutdown":
        break
"#;

fn screen(world: &World, permissions: &serde_json::Value, flags: &[&str]) -> Screen {
    let dir = extension(world, "actor", &json!({"permissions": permissions}), ACTOR);
    let all = [&["--provider", "demo", "--no-ext", "-e", text(&dir)], flags].concat();
    let screen = Screen::start(world, (160, 40), &all);
    screen.wait_for("ext 1/1");
    screen
}

#[test]
fn an_extensions_tool_call_is_shown_and_confirmed_by_extension_name() {
    let world = World::new();
    let mut screen = screen(&world, &json!({"tools": ["bash"]}), &["--no-yolo"]);
    screen.send("/go");
    screen.wait_for("Let actor run bash?");
    screen.wait_for("› y");
    // "Always this tool" applies to calls by this extension only.
    screen.keys("t");
    screen.wait_for("actor runs bash  echo from-an-extension");
    screen.wait_for("got from-an-extension");
    screen.send("/go again");
    screen.wait_idle();
    screen.send("/call bash {\"command\": \"echo from-the-model\"}");
    screen.wait_for("Run bash?");
    screen.wait_for("› y");
    screen.keys("n");
    screen.wait_idle();
}

#[test]
fn approval_rules_apply_to_extensions_by_name() {
    let world = World::new();
    let rules = json!([
        {"tool": "bash", "caller": "model", "do": "allow"},
        {"tool": "bash", "caller": "extension:actor", "do": "deny"},
    ]);
    fs::create_dir_all(world.path("zot")).expect("failed to create directory");
    let config = json!({"approvals": rules}).to_string();
    fs::write(world.path("zot/config.json"), config).expect("failed to write");
    let mut screen = screen(&world, &json!({"tools": ["bash"]}), &[]);
    screen.send("/go");
    screen.wait_for("got `bash` is not allowed");
    screen.send("/call bash {\"command\": \"echo from-the-model\"}");
    screen.wait_for("✓ bash  echo from-the-model");
    screen.wait_idle();
}

#[test]
fn a_submit_without_permission_is_refused_and_reported() {
    let world = World::new();
    let screen = screen(&world, &json!({}), &[]);
    screen.wait_for(
        "[actor] it is not allowed to submit prompts: add \"submit\": true to \"permissions\" in its extension.json",
    );
    assert!(!screen.text().contains("do as I say"), "{}", screen.text());
    let world = World::new();
    let screen = self::screen(&world, &json!({"submit": true}), &[]);
    screen.wait_for("do as I say");
}
