//! The user's own quick start, unmodified.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::support::conform;

/// The Python script and the manifest of the first document, as printed there.
fn quick_start() -> Option<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/seeds");
    let Ok(entries) = fs::read_dir(folder) else {
        // Expected where only the project itself is checked out, so no failure on CI.
        eprintln!("skipped: ../shared/seeds not found");
        return None;
    };
    let mut seeds: Vec<PathBuf> = entries.map(|it| it.expect("an entry").path()).collect();
    seeds.sort();
    let text = fs::read_to_string(&seeds[0]).expect("a text");
    let script = &text[text.find("#!/usr/bin/env python3").expect("the script")..];
    let (script, rest) = script
        .split_once("Drop it in a directory")
        .expect("the end of the script");
    let manifest = &rest[rest.find('{').expect("the manifest")..];
    let end = manifest.find('}').expect("the end of the manifest") + 1;
    Some((script.to_owned(), manifest[..end].to_owned()))
}

#[test]
fn the_python_quick_start_passes_every_must() {
    let Some((script, manifest)) = quick_start() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("hello.py");
    fs::write(folder.path().join("extension.json"), manifest).expect("written");
    fs::write(&file, script).expect("written");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("chmod +x");

    let dir = folder.path().to_str().expect("a text");
    for profile in ["quick", "safe", "full"] {
        // With patience: what is tried here is the script, not a busy machine.
        let args = [dir, "--profile", profile, "--report", "json"];
        let output = conform(&[&args[..], &["--timeout-scale", "3"]].concat());
        let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
        let outcomes = report["outcomes"].as_array().expect("a list");
        for outcome in outcomes.iter().filter(|it| it["level"] == "must") {
            let verdict = outcome["verdict"].as_str().expect("a text");
            assert!(
                matches!(verdict, "pass" | "not_applicable" | "withheld"),
                "{} {verdict} {}",
                outcome["id"],
                outcome["findings"]
            );
        }
        assert_eq!(output.status.code(), Some(0), "{profile}");
    }
}
