//! What the page on conformance shows works.

use std::{fs, path::Path};

use crate::{
    stage::example,
    support::{conform, said},
};

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/conformance.md");
    fs::read_to_string(path).expect("a page")
}

/// The one block of this language.
fn block<'p>(page: &'p str, language: &str) -> &'p str {
    let start = format!("```{language}\n");
    let (_, rest) = page.split_once(&start).expect("a block");
    let (block, rest) = rest.split_once("```").expect("its end");
    assert!(!rest.contains(&start), "one block of {language}");
    block.trim()
}

/// The commands for a shell are run with those of all pages, in the tests of `zot-cli`.
#[test]
fn its_line_for_ci_runs() {
    let page = page();
    let Some(stage) = example("hello-py") else {
        return;
    };
    let line = block(&page, "yaml").strip_prefix("- run: zot-conform . ");
    let mut args: Vec<String> = line
        .expect("the harness, in CI")
        .split(' ')
        .map(|word| match word.split_once('=') {
            Some((form, file)) => format!("{form}={}", stage.path(file).display()),
            None => word.to_owned(),
        })
        .collect();
    let dir = stage.path("ext").display().to_string();
    args.extend([dir, "--timeout-scale".to_owned(), "3".to_owned()]);
    let (code, text) = said(&conform(&args));
    assert_eq!(code, Some(0), "{text}");
    for file in ["conform.xml", "conform.html"] {
        assert!(stage.path(file).exists(), "{file}");
    }
}

#[test]
fn its_calls_are_those_there_are() {
    let page = page();
    let (_, table) = page.split_once("| command | does |").expect("a table");
    let (table, _) = table.split_once("\n\n").expect("its end");
    let mut calls = Vec::new();
    for quoted in table.split('`').skip(1).step_by(2) {
        let call = quoted.strip_prefix("zot-conform ").unwrap_or(quoted);
        calls.extend(call.split(' ').next());
    }
    for call in calls.iter().filter(|it| it.chars().all(char::is_lowercase)) {
        let (code, text) = said(&conform(&[call, "--help"]));
        assert_eq!(code, Some(0), "{call}: {text}");
    }
    let (_, help) = said(&conform(&["--help"]));
    let (_, listed) = help.split_once("Commands:\n").expect("commands");
    let (listed, _) = listed.split_once("\n\n").expect("their end");
    for line in listed.lines() {
        let call = line.split_whitespace().next().expect("a word");
        assert!(
            calls.contains(&call) || call == "help",
            "{call} is not told"
        );
    }
}
