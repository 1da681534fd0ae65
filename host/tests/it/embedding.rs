//! Using this crate from a program outside the workspace.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

fn root() -> PathBuf {
    let host = Path::new(env!("CARGO_MANIFEST_DIR"));
    host.parent().expect("in the workspace").to_owned()
}

/// Returns the example in the crate documentation, including its hidden lines.
fn program() -> String {
    let source = include_str!("../../src/lib.rs");
    let documentation = source.lines().filter_map(|line| line.strip_prefix("//!"));
    let program = documentation
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
        .skip_while(|line| *line != "```")
        .skip(1)
        .take_while(|line| *line != "```");
    program
        .map(|line| line.strip_prefix("# ").unwrap_or(line))
        .fold(String::new(), |program, line| program + line + "\n")
}

#[test]
fn the_documented_example_is_short_and_runs_without_the_agent_feature() {
    let source = include_str!("../../src/lib.rs");
    let shown = source
        .lines()
        .skip_while(|line| *line != "//! ```")
        .skip(1)
        .take_while(|line| *line != "//! ```")
        .filter(|line| !line.starts_with("//! #") && *line != "//!");
    assert!(shown.count() <= 20, "longer than 20 lines");

    let folder = tempfile::tempdir().unwrap();
    let root = root();
    let manifest = format!(
        "[package]\nname = \"outside\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n\
         zot-host = {{ path = {:?}, default-features = false }}\nzot-protocol = {{ path = {:?} }}\n\
         tokio = {{ version = \"1\", features = [\"macros\", \"rt\"] }}\ntempfile = \"3\"\n",
        root.join("host"),
        root.join("protocol"),
    );
    fs::create_dir(folder.path().join("src")).unwrap();
    fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
    fs::write(folder.path().join("src/main.rs"), program()).unwrap();
    // `--offline` needs the dependency versions that are already downloaded.
    fs::copy(root.join("Cargo.lock"), folder.path().join("Cargo.lock")).unwrap();

    let output = Command::new(env!("CARGO"))
        .args(["run", "--offline", "--quiet"])
        .current_dir(folder.path())
        .env("CARGO_TARGET_DIR", root.join("target/outside"))
        .output()
        .expect("cargo starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
}
