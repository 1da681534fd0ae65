//! The `--help` texts, manual pages and shell completions.

use std::{fs, process::Command};

use crate::support::{code_and_text, conform};

const COMMANDS: [&str; 13] = [
    "run",
    "replay",
    "record",
    "accept",
    "call",
    "command",
    "intercept",
    "validate",
    "baseline",
    "list",
    "explain",
    "completions",
    "help",
];

#[test]
fn help_of_every_command() {
    let (code, text) = code_and_text(&conform(&["--help"]));
    assert_eq!(code, Some(0));
    for name in COMMANDS {
        assert!(
            text.contains(&format!("\n  {name} ")),
            "{name} is not listed: {text}"
        );
    }
    insta::assert_snapshot!("help", text);
    for name in COMMANDS.into_iter().filter(|name| *name != "help") {
        let (code, text) = code_and_text(&conform(&[name, "--help"]));
        assert_eq!(code, Some(0), "{name}");
        insta::assert_snapshot!(format!("help_{name}"), text);
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = tempfile::tempdir().expect("a directory");
    let (code, text) = code_and_text(&conform(&[
        "man",
        folder.path().to_str().expect("valid UTF-8"),
    ]));
    assert_eq!(code, Some(0), "{text}");
    let page = |name: &str| fs::read_to_string(folder.path().join(name)).expect("a page");
    assert!(page("zot-conform.1").contains("\n.TH zot-conform 1"));
    for name in COMMANDS.into_iter().filter(|name| *name != "help") {
        let page = page(&format!("zot-conform-{name}.1"));
        assert!(page.contains("\n.SH DESCRIPTION\n"), "{page}");
    }
}

#[test]
fn bash_completes_its_commands() {
    let (code, script) = code_and_text(&conform(&["completions", "bash"]));
    assert_eq!(code, Some(0));
    let ask = r#"
        COMP_WORDS=(zot-conform expl) COMP_CWORD=1
        _zot__conform zot-conform expl zot-conform
        printf '%s\n' "${COMPREPLY[@]}""#;
    let output = Command::new("bash")
        .args(["--norc", "-c", &format!("{script}\n{ask}")])
        .output()
        .expect("bash starts");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "explain\n");
}
