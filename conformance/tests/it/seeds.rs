//! The Python quick start of the original documentation, unmodified.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::support::conform;

/// Returns the Python script and the manifest printed in the first document.
fn quick_start() -> Option<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/seeds");
    let Ok(entries) = fs::read_dir(folder) else {
        // Expected in a standalone clone, so not a failure on CI.
        eprintln!("skipped: ../shared/seeds not found");
        return None;
    };
    let mut seeds: Vec<PathBuf> = entries.map(|it| it.expect("an entry").path()).collect();
    seeds.sort();
    let text = fs::read_to_string(&seeds[0]).expect("valid UTF-8");
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

    let dir = folder.path().to_str().expect("valid UTF-8");
    for profile in ["quick", "safe", "full"] {
        // A generous time scale, because this tests the script on a possibly busy machine.
        let args = [dir, "--profile", profile, "--report", "json"];
        let output = conform(&[&args[..], &["--timeout-scale", "3"]].concat());
        let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
        let outcomes = report["outcomes"].as_array().expect("an array");
        for outcome in outcomes.iter().filter(|it| it["level"] == "must") {
            let verdict = outcome["verdict"].as_str().expect("a string");
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
