//! Test extensions: `puppet`, whose commands trigger each behaviour, and the examples.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use serde_json::{Value, json};

use crate::support::World;

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
    let from = workspace().join("examples").join(name);
    fs::create_dir_all(dir.join("bin")).expect("failed to create directory");
    fs::copy(from.join("extension.json"), dir.join("extension.json")).expect("failed to copy");
    fs::copy(program(name), dir.join("bin").join(name)).expect("failed to copy");
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("crate has no parent directory")
        .to_owned()
}

/// The binary of an example. The first call builds all of them.
fn program(name: &str) -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let folder = BUILT.get_or_init(|| {
        let test = std::env::current_exe().expect("no path of the test binary");
        let target = test.ancestors().nth(3).expect("target/profile/deps/test");
        let mut cargo = Command::new(env!("CARGO"));
        cargo
            .args(["build", "--quiet", "--locked", "--target-dir"])
            .arg(target)
            .current_dir(workspace());
        for example in ["guard", "redact", "todo"] {
            cargo.args(["-p", &format!("zot-example-{example}")]);
        }
        let built = cargo.output().expect("failed to start cargo");
        let said = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "{said}");
        target.join("debug")
    });
    folder.join(name)
}

/// Writes a script of turns for the demo model.
pub(crate) fn script(world: &World, turns: &[Value]) -> String {
    let path = world.path("script.jsonl");
    let lines: Vec<String> = turns.iter().map(Value::to_string).collect();
    fs::write(&path, lines.join("\n")).expect("failed to write");
    path.to_str().expect("not valid UTF-8").to_owned()
}
