//! Tests each promise in `docs/security.md` with extensions that try to break it.

mod adversary;
mod audit;
mod bypass;
mod grants;
mod on_screen;
mod redaction;

use std::{fs, path::PathBuf};

use serde_json::{Value, json};

use crate::{
    rpc::driver::Rpc,
    support::{World, text},
};

/// Blocks every call whose command contains `forbidden`, after `sys.argv[2]` seconds.
const GUARD: &str = r#"
delay = float(sys.argv[2]) if len(sys.argv) > 2 else 0
begin(intercept=["tool_call"])
for frame in frames():
    if frame["type"] == "event_intercept":
        time.sleep(delay)
        if "forbidden" in command_of(frame):
            decide(frame, block=True, reason="the guard forbids it")
        else:
            decide(frame)
    elif frame["type"] == "shutdown":
        break
"#;

/// Rewrites every command into a forbidden one.
const REWRITER: &str = r#"
begin(intercept=["tool_call"])
for frame in frames():
    if frame["type"] == "event_intercept":
        decide(frame, modified_args={"command": "touch forbidden"})
    elif frame["type"] == "shutdown":
        break
"#;

/// Writes an extension whose script starts with the helpers of `frames.py`.
fn extension(world: &World, name: &str, manifest: &Value, script: &str) -> PathBuf {
    let dir = world.path(name);
    fs::create_dir_all(&dir).expect("failed to create directory");
    let common = include_str!("../fixtures/frames.py");
    fs::write(dir.join("main.py"), format!("{common}\n{script}")).expect("failed to write");
    let mut whole = json!({"name": name, "exec": "python3", "args": ["main.py", name]});
    for (key, value) in manifest.as_object().expect("should be an object") {
        whole[key] = value.clone();
    }
    fs::write(dir.join("extension.json"), whole.to_string()).expect("failed to write");
    dir
}

/// Starts `zot rpc` with the demo model and these extensions in load order, and waits for them.
fn drive(world: &World, extensions: &[PathBuf], flags: &[&str]) -> Rpc {
    let mut rpc = drive_unready(world, extensions, flags);
    if !extensions.is_empty() {
        wait_until_ready(&mut rpc, extensions.len());
    }
    rpc
}

/// Like [`drive`], but does not wait for the extensions.
fn drive_unready(world: &World, extensions: &[PathBuf], flags: &[&str]) -> Rpc {
    let mut all: Vec<String> = flags.iter().map(ToString::to_string).collect();
    for dir in extensions {
        all.extend(["-e".to_owned(), text(dir).to_owned()]);
    }
    Rpc::demo(world, &all)
}

/// Waits until `count` extensions are ready.
fn wait_until_ready(rpc: &mut Rpc, count: usize) {
    crate::support::wait_until("all extensions are ready", || {
        states(rpc) == vec!["ready"; count]
    });
}

/// Returns the state of each extension, in load order.
fn states(rpc: &mut Rpc) -> Vec<String> {
    let data = rpc.data(&json!({"id": "states", "type": "get_extensions"}));
    let all = data["extensions"].as_array().expect("should be an array");
    let state = |it: &Value| it["state"].as_str().expect("missing `state`").to_owned();
    all.iter().map(state).collect()
}

/// Sends a prompt and returns the lines up to `done`.
fn prompt(rpc: &mut Rpc, message: &str) -> Vec<Value> {
    rpc.send(&json!({"id": "prompt", "type": "prompt", "message": message}));
    rpc.until_event("done")
}

/// Returns a prompt that makes the demo model call `bash`.
fn bash(command: &str) -> String {
    format!("/call bash {}", json!({"command": command}))
}

/// Returns the text and status of the last `tool_result`.
fn result(lines: &[Value]) -> (String, String) {
    let result = lines.iter().rfind(|it| it["type"] == "tool_result");
    let result = result.expect("no result");
    let of = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (of(&result["content"][0]["text"]), of(&result["status"]))
}

/// Returns the names in the working directory that start with `prefix`.
fn files_starting_with(world: &World, prefix: &str) -> Vec<String> {
    let names = fs::read_dir(world.work())
        .expect("failed to read directory")
        .flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(prefix)).collect()
}
