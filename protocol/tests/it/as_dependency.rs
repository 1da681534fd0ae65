//! Using the crate as a dependency outside the workspace.

use std::{fs, process::Command};

use zot_test_support::root;

/// Builds outside the workspace, because other crates in the workspace enable more features.
#[test]
fn without_validate_neither_tokio_nor_jsonschema_is_compiled() {
    let folder = tempfile::tempdir().expect("create a directory");
    let protocol = root().join("protocol");
    fs::create_dir(folder.path().join("src")).expect("create a directory");
    fs::write(
        folder.path().join("Cargo.toml"),
        format!(
            "[package]\nname = \"outside\"\nedition = \"2024\"\n[dependencies]\nzot-protocol = {{ path = {protocol:?} }}\n[workspace]\n"
        ),
    )
    .expect("write the file");
    fs::write(
        folder.path().join("src/main.rs"),
        "fn main() { println!(\"{}\", zot_protocol::PROTOCOL_VERSION) }",
    )
    .expect("write the file");
    // The versions in the workspace's lock file have already been downloaded.
    fs::copy(root().join("Cargo.lock"), folder.path().join("Cargo.lock")).expect("copy the file");

    let output = Command::new(env!("CARGO"))
        .args(["check", "--offline", "--message-format=json"])
        .current_dir(folder.path())
        .env("CARGO_TARGET_DIR", root().join("target/outside"))
        .output()
        .expect("run cargo");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let compiled: Vec<String> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message["reason"] == "compiler-artifact")
        .map(|message| {
            message["target"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        })
        .collect();
    assert!(
        compiled.iter().any(|name| name == "zot_protocol"),
        "{compiled:?}"
    );
    for unwanted in ["tokio", "jsonschema"] {
        assert!(
            !compiled.iter().any(|name| name == unwanted),
            "{unwanted} is compiled: {compiled:?}"
        );
    }
}
