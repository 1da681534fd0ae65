//! Test extensions: `puppet`, whose commands trigger each behaviour, and the examples.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::support::{World, examples};

/// Installs the puppet extension.
pub(crate) fn install(world: &World) {
    write(
        &world.installed("puppet"),
        &json!({"name": "puppet", "version": "1.2.3", "exec": "python3", "args": ["puppet.py"]}),
        "puppet.py",
        include_str!("puppet.py"),
    );
}

/// Writes an extension with one file.
pub(crate) fn write(dir: &Path, manifest: &Value, file: &str, text: &str) {
    fs::create_dir_all(dir).expect("failed to create directory");
    fs::write(dir.join("extension.json"), manifest.to_string()).expect("failed to write");
    fs::write(dir.join(file), text).expect("failed to write");
}

/// Installs an example that is written in Rust.
pub(crate) fn install_example(world: &World, name: &str) {
    let dir = world.installed(name);
    let from = examples::workspace().join("examples").join(name);
    fs::create_dir_all(dir.join("bin")).expect("failed to create directory");
    fs::copy(from.join("extension.json"), dir.join("extension.json")).expect("failed to copy");
    fs::copy(examples::program(name), dir.join("bin").join(name)).expect("failed to copy");
}
