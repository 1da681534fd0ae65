//! Runs the agent from the command line, without a terminal.

mod approvals;
mod auth;
mod extensions;
mod flags;
mod interrupted;
mod json;
mod killed;
mod named_providers;
mod output_schema;
mod print;
mod scratch;
mod secrets;
mod sessions;
mod timeout;

use std::{fs, path::Path, path::PathBuf};

use serde_json::json;

use crate::support::{RunOutput, World, text};

/// Runs `zot --provider demo` with these arguments.
fn demo(world: &World, args: &[&str]) -> RunOutput {
    world.zot(&[&["--provider", "demo"], args].concat())
}

/// Writes an extension that marks or blocks the events it intercepts. It has a tool `say-NAME` and
/// a command `NAME`.
fn marking_extension(world: &World, name: &str, events: &str, mode: &str) -> PathBuf {
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../host/tests/fixtures/mark.py"
    );
    let dir = world.path(name);
    fs::create_dir_all(&dir).expect("failed to create directory");
    let manifest = json!({"name": name, "exec": "python3", "args": [script, name, events, mode]});
    fs::write(dir.join("extension.json"), manifest.to_string()).expect("failed to write");
    dir
}

/// Runs the demo model with a script of turns.
fn scripted(world: &World, turns: &[&str], args: &[&str]) -> RunOutput {
    let script = script(world, turns);
    demo(world, &[&["--script", text(&script)], args].concat())
}

fn script(world: &World, turns: &[&str]) -> PathBuf {
    let path = world.path("turns.jsonl");
    fs::write(&path, turns.join("\n")).expect("failed to write");
    path
}

/// Returns every file in a folder and its subfolders.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => all.extend(files(&entry.path())),
            Ok(kind) if kind.is_file() => all.push(entry.path()),
            _ => {}
        }
    }
    all
}
