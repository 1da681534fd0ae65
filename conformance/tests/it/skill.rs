//! The examples in the skill `write-zot-extension` conform.

use std::{fs, path::Path};

use serde_json::json;
use tempfile::TempDir;
use zot_test_support::skip::has;

use crate::support::{code_and_text, conform};

/// Returns the skill's first code block in the given language.
fn block(language: &str) -> String {
    let path = "../host/src/tool/skill/write-zot-extension/SKILL.md";
    let skill = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let skill = fs::read_to_string(skill).expect("the skill");
    let start = format!("```{language}\n");
    let (_, rest) = skill.split_once(&start).expect("a block");
    let (block, _) = rest.split_once("```").expect("its end");
    block.to_owned()
}

/// Creates a directory with the name and files of an extension.
fn folder(name: &str, files: [(&str, &str); 2]) -> (TempDir, String) {
    let root = tempfile::tempdir().expect("a directory");
    let folder = root.path().join(name);
    fs::create_dir(&folder).expect("made");
    for (file, text) in files {
        fs::write(folder.join(file), text).expect("written");
    }
    (root, folder.display().to_string())
}

#[track_caller]
fn conforms(folder: &str) {
    // Use a larger time scale, because the machine may be busy.
    let args = [folder, "--strict", "--timeout-scale", "2"];
    let (code, text) = code_and_text(&conform(&args));
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn the_python_example_conforms_and_works() {
    if !has("python3") {
        return;
    }
    let files = [
        ("extension.json", block("json")),
        ("main.py", block("python")),
    ];
    let (_root, folder) = folder(
        "house-rules",
        files.each_ref().map(|(a, b)| (*a, b.as_str())),
    );
    conforms(&folder);
    for (words, answer) in [
        (
            vec!["call", &folder, "count_words", r#"{"text":"a b"}"#],
            "2 words",
        ),
        (
            vec!["command", &folder, "greet", "Ada"],
            "Greet Ada in one short sentence.",
        ),
        (
            vec![
                "intercept",
                &folder,
                "tool_call",
                r#"{"tool_name":"bash","tool_args":{"command":"git push -f"}}"#,
            ],
            "Force-pushing is not allowed here",
        ),
    ] {
        let (code, text) = code_and_text(&conform(&words));
        assert_eq!(code, Some(0), "{text}");
        assert!(text.contains(answer), "{text}");
    }
}

#[test]
fn the_examples_in_node_and_bash_conform() {
    for (language, name, program, file) in [
        ("javascript", "shout", "node", "main.mjs"),
        ("bash", "today", "bash", "main.sh"),
    ] {
        if !has(program) || (program == "bash" && !has("jq")) {
            continue;
        }
        let manifest = json!({"name": name, "exec": program, "args": [file], "permissions": {}});
        let files = [
            ("extension.json", manifest.to_string()),
            (file, block(language)),
        ];
        let (_root, folder) = folder(name, files.each_ref().map(|(a, b)| (*a, b.as_str())));
        conforms(&folder);
    }
}
