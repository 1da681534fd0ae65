//! `grep` and `find`.

use std::{
    fs::{self, File},
    os::unix::fs::symlink,
};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;

use super::{ToolFixture, has, text_of};

fn project() -> ToolFixture {
    let fixture = ToolFixture::new();
    fill(&fixture);
    fixture
}

fn fill(fixture: &ToolFixture) {
    for (path, text) in [
        ("src/main.rs", "fn main() {\n    greet(\"you\");\n}\n"),
        (
            "src/greet.rs",
            "// Says hello.\npub fn greet(name: &str) {\n    println!(\"Hello, {name}\");\n}\n",
        ),
        ("docs/greet.md", "# Greet\n\ngreet greets.\n"),
        ("target/greet.rs", "fn greet() {}\n"),
        (".github/greet.yml", "greet: true\n"),
        (".git/greet", "greet\n"),
        (".gitignore", "target/\n"),
    ] {
        fixture.put(path, text);
    }
}

#[tokio::test]
async fn matches_are_grouped_by_file_and_numbered() {
    let fixture = project();
    let text = fixture.ok("grep", json!({"pattern": "gre+t\\("})).await;
    assert_eq!(
        text,
        "src/greet.rs\n2: pub fn greet(name: &str) {\n\nsrc/main.rs\n2:     greet(\"you\");\n"
    );
    let args = json!({"pattern": "MAIN", "ignore_case": true, "context": 1, "path": "src"});
    let text = fixture.ok("grep", args).await;
    assert_eq!(
        text,
        "src/main.rs\n1: fn main() {\n2-     greet(\"you\");\n"
    );
    let args = json!({"pattern": "{name}\"", "literal": true, "path": "src/greet.rs"});
    let text = fixture.ok("grep", args).await;
    assert_eq!(text, "src/greet.rs\n3:     println!(\"Hello, {name}\");\n");
    let args = json!({"pattern": "greet", "names_only": true, "glob": "*.{md,yml}"});
    let text = fixture.ok("grep", args).await;
    assert_eq!(text, ".github/greet.yml\ndocs/greet.md\n");
    let absolute = fixture.at("docs").display().to_string();
    let text = fixture
        .ok("grep", json!({"pattern": "# G", "path": absolute}))
        .await;
    assert_eq!(text, format!("{absolute}/greet.md\n1: # Greet\n"));
}

#[tokio::test]
async fn ignored_files_are_found_only_on_request() {
    let fixture = project();
    let text = fixture.ok("find", json!({"pattern": "greet*"})).await;
    assert_eq!(text, ".github/greet.yml\ndocs/greet.md\nsrc/greet.rs\n");
    let args = json!({"pattern": "greet*", "include_ignored": true});
    let text = fixture.ok("find", args).await;
    assert_eq!(
        text,
        ".github/greet.yml\ndocs/greet.md\nsrc/greet.rs\ntarget/greet.rs\n"
    );
    let args = json!({"pattern": "fn greet", "names_only": true});
    assert_eq!(fixture.ok("grep", args).await, "src/greet.rs\n");
    let args = json!({"pattern": "fn greet", "names_only": true, "include_ignored": true});
    assert_eq!(
        fixture.ok("grep", args).await,
        "src/greet.rs\ntarget/greet.rs\n"
    );
    let text = fixture.ok("find", json!({"pattern": "nothing"})).await;
    assert_eq!(
        text,
        "nothing found (files that git ignores were skipped; set `include_ignored` to include them)\n"
    );
}

#[tokio::test]
async fn a_glob_with_a_slash_is_compared_with_the_path() {
    let fixture = project();
    for (pattern, found) in [
        ("src/*.rs", "src/greet.rs\nsrc/main.rs\n"),
        ("./src/main.rs", "src/main.rs\n"),
        ("**/main.rs", "src/main.rs\n"),
        ("*/main.{rs,go}", "src/main.rs\n"),
        ("s?c", "src/\n"),
    ] {
        let text = fixture.ok("find", json!({"pattern": pattern})).await;
        assert_eq!(text, found, "{pattern}");
    }
    let args = json!({"pattern": "*.rs", "path": "src"});
    let text = fixture.ok("find", args).await;
    assert_eq!(text, "src/greet.rs\nsrc/main.rs\n");
    let text = fixture.err("find", json!({"pattern": "[a"})).await;
    has(&text, "invalid glob `[a`: unclosed character class");
}

#[tokio::test]
async fn results_are_bounded_and_say_how_to_see_more() {
    let fixture = ToolFixture::new();
    for number in 0..250 {
        fixture.put(&format!("many/{number:03}"), "needle\n".repeat(3));
    }
    let text = fixture.ok("find", json!({"pattern": "many/*"})).await;
    assert_eq!(text.lines().count(), 202, "{text}");
    has(
        &text,
        "showing the first 200 paths. Use a narrower pattern or path, or a larger `limit`",
    );
    let text = fixture.ok("grep", json!({"pattern": "needle"})).await;
    assert_eq!(text.matches(": needle").count(), 100);
    has(
        &text,
        "stopped after 100 matching lines, and there may be more",
    );
    let args = json!({"pattern": "needle", "names_only": true, "limit": "7"});
    let text = fixture.ok("grep", args).await;
    has(&text, "many/006\n\n(stopped after 7 files");
    let args = json!({"pattern": "needle", "limit": 1000, "context": 20});
    let text = fixture.ok("grep", args).await;
    assert!(text.len() < 60 << 10, "{}", text.len());
}

#[tokio::test]
async fn long_lines_show_the_surroundings_of_the_match() {
    let fixture = ToolFixture::new();
    fixture.put(
        "x",
        format!("{}needle{}\n", "é".repeat(5_000), "ü".repeat(5_000)),
    );
    let text = fixture.ok("grep", json!({"pattern": "needle"})).await;
    assert!(text.len() < 400, "{text}");
    has(&text, "1: …é");
    has(&text, "éneedleü");
    assert!(
        text.ends_with("ü…\n") && !text.contains('\u{fffd}'),
        "{text}"
    );
}

#[tokio::test]
async fn invalid_patterns_are_explained() {
    let fixture = project();
    let text = fixture.err("grep", json!({"pattern": "greet("})).await;
    has(&text, "unclosed group");
    has(
        &text,
        "hint: to search for the pattern as plain text, set `literal`",
    );
    let text = fixture.err("grep", json!({"pattern": "x*"})).await;
    assert_eq!(
        text,
        "the pattern can match an empty string, so it matches every line"
    );
    let args = json!({"pattern": "(((a{100}){100}){100}){100}"});
    has(
        &fixture.err("grep", args).await,
        "invalid regular expression",
    );
    let text = fixture
        .err("grep", json!({"pattern": "x", "path": "no"}))
        .await;
    has(&text, "`no`");
}

#[tokio::test]
async fn limits_of_a_search_are_reported() {
    let fixture = ToolFixture::new();
    let deep = "d/".repeat(70);
    fixture.put(&format!("{deep}x"), "needle");
    let text = fixture.ok("find", json!({"pattern": "x"})).await;
    has(&text, "too many entries were not searched completely");
    fixture.put("log", "needle\nneedle\0needle\n");
    let text = fixture
        .ok("grep", json!({"pattern": "needle", "path": "log"}))
        .await;
    has(&text, "(1 matching binary file omitted)");
}

/// Whatever a repository contains, a search ends soon and uses little memory.
#[tokio::test]
async fn hostile_files_are_skipped() {
    let fixture = project();
    symlink("/dev/zero", fixture.at("zero")).unwrap();
    symlink("..", fixture.at("loop")).unwrap();
    mknodat(
        CWD,
        fixture.at("fifo"),
        FileType::Fifo,
        Mode::RUSR | Mode::WUSR,
        0,
    )
    .unwrap();
    let sparse = File::create(fixture.at("sparse")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    fixture.put("binary", "greet\0greet\n");
    fixture.put("one-line", "greet ".repeat(2 << 20));
    fs::remove_file(fixture.at(".gitignore")).unwrap();
    symlink("/dev/zero", fixture.at(".gitignore")).unwrap();
    let args = json!({"pattern": "greet\\(\\)|never", "names_only": true});
    let text = fixture.ok("grep", args).await;
    assert!(text.starts_with("target/greet.rs\n"), "{text}");
    let text = fixture.ok("find", json!({"pattern": "*"})).await;
    has(&text, "loop\n");
    assert!(!text.contains("loop/"), "{text}");
}

#[tokio::test]
async fn the_jail_applies() {
    let fixture = ToolFixture::jailed();
    fill(&fixture);
    fs::write(fixture.outside("secret"), "greet the secret\n").unwrap();
    symlink("../secret", fixture.at("leak")).unwrap();
    symlink("..", fixture.at("up")).unwrap();
    let outside = fixture.outside("").display().to_string();
    for path in ["..", "up", &*outside, "src/../.."] {
        for (tool, pattern) in [("grep", "greet"), ("find", "secret")] {
            let outcome = fixture
                .run(tool, json!({"pattern": pattern, "path": path}))
                .await;
            assert!(outcome.is_error, "{tool} {path}: {}", text_of(&outcome));
        }
    }
    let args = json!({"pattern": "secret", "include_ignored": true});
    let text = fixture.ok("grep", args).await;
    assert!(!text.contains("the secret"), "{text}");
    let outcome = fixture
        .run("grep", json!({"pattern": "greet", "path": "leak"}))
        .await;
    assert!(outcome.is_error, "{}", text_of(&outcome));
}
