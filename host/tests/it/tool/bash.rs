use std::{
    fs,
    process::Command,
    time::{Duration, Instant},
};

use serde_json::json;
use tokio_util::sync::CancellationToken;
use zot_protocol::ToolStatus;

use super::{ToolFixture, has, text_of};
use crate::support::{args, is_helper_process, path_of, rerun, within};

#[tokio::test]
async fn stdout_and_stderr_are_interleaved_with_the_exit_status() {
    let fixture = ToolFixture::new();
    let command = "pwd; for n in 1 2 3; do echo out $n; echo err $n >&2; done; exit 3";
    let outcome = fixture.run("bash", json!({"command": command})).await;
    assert_eq!(outcome.status, ToolStatus::Failed);
    assert_eq!(outcome.structured_content, Some(json!({"exit_code": 3})));
    let cwd = fixture.toolbox.cwd().canonicalize().unwrap();
    assert_eq!(
        text_of(&outcome),
        format!(
            "{}\nout 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n[exit status 3]",
            cwd.display()
        )
    );
    assert_eq!(fixture.bash("true").await, "(no output)");
    assert_eq!(fixture.bash("printf x").await, "x");
    let text = fixture.err("bash", json!({"command": "kill -9 $$"})).await;
    assert_eq!(text, "(no output)\n[killed by SIGKILL]");
    let text = fixture.err("bash", json!({"command": "if"})).await;
    has(&text, "syntax error");
    // Standard input is empty.
    assert_eq!(fixture.bash("cat; echo end").await, "end\n");
    fixture.check_nothing_left();
}

#[tokio::test]
async fn output_is_streamed_line_by_line() {
    let fixture = ToolFixture::new();
    let cancel = CancellationToken::new();
    let mut seen = Vec::new();
    let go = fixture.at("go");
    let with = json!({"command": "echo one; echo two >&2; until [ -e go ]; do sleep 0.01; done; printf three"});
    let progress = |line: String| {
        if line == "two" {
            // The command is still running and waits for this file.
            fs::write(&go, "").unwrap();
        }
        seen.push(line);
    };
    let running = fixture.toolbox.run("bash", args(with), progress, &cancel);
    let outcome = within("bash", running).await.expect("built in");
    assert_eq!(text_of(&outcome), "one\ntwo\nthree");
    assert_eq!(seen, ["one", "two", "three"]);
}

#[tokio::test]
async fn a_background_child_holding_the_pipe_does_not_block_the_call() {
    let fixture = ToolFixture::new();
    for background in [
        "sleep 600 &",
        "(setsid sleep 600 &)",
        "nohup sleep 600 > /dev/null 2>&1 &",
        "yes &",
        "(trap '' TERM; while :; do sleep 600; done) &",
    ] {
        let start = Instant::now();
        let text = fixture.bash(&format!("echo done\n{background}")).await;
        let took = start.elapsed();
        assert!(took < Duration::from_secs(10), "{background}: {took:?}");
        has(&text, "done\n");
        has(&text, "[killed background processes: ");
        fixture.check_nothing_left();
    }
}

/// Killing background processes must not lose the shell's own output.
#[tokio::test]
async fn all_output_before_the_exit_is_kept() {
    let fixture = ToolFixture::new();
    for _ in 0..20 {
        let text = fixture
            .bash("sleep 600 & head -c 25000 /dev/zero | tr '\\0' x; echo end")
            .await;
        assert_eq!(text.matches('x').count(), 25_000);
        has(&text, "end\n");
    }
    fixture.check_nothing_left();
}

#[tokio::test]
async fn a_timeout_kills_the_whole_tree() {
    let fixture = ToolFixture::new();
    let command = "echo begun; (setsid sh -c 'trap \"\" TERM; sleep 600; sleep 600' &); sleep 600 | sleep 600";
    let outcome = fixture
        .run("bash", json!({"command": command, "timeout": 1}))
        .await;
    assert_eq!(outcome.status, ToolStatus::TimedOut);
    assert_eq!(
        text_of(&outcome),
        "begun\n[timed out after 1 s and was killed]"
    );
    fixture.check_nothing_left();
}

#[tokio::test]
async fn long_output_keeps_both_ends_and_is_stored_in_a_file() {
    let fixture = ToolFixture::jailed();
    fixture.toolbox.set_jail(false).unwrap();
    let text = fixture.bash("seq 1 100000; printf '\\377 end'").await;
    assert!(text.len() < 32 << 10, "{}", text.len());
    assert!(text.starts_with("1\n2\n3\n"));
    assert!(text.ends_with("99999\n100000\n\u{fffd} end"));
    let (_, rest) = text.split_once("the full output is in ").unwrap();
    let (path, _) = rest.split_once(" …]").unwrap();
    let kept = fs::read(path).unwrap();
    let mut all: Vec<u8> = (1..=100_000)
        .flat_map(|n| format!("{n}\n").into_bytes())
        .collect();
    all.extend(b"\xff end");
    assert!(kept == all);
    // The jail allows reading the file, but not writing it.
    fixture.toolbox.set_jail(true).unwrap();
    let part = fixture
        .ok("read", json!({"path": path, "offset": 50_000, "limit": 1}))
        .await;
    has(&part, " 50000\t50000\n");
    let refused = fixture
        .err("write", json!({"path": path, "content": ""}))
        .await;
    has(&refused, "is read-only in the jail");
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(path).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn invalid_utf8_is_replaced_and_control_characters_are_kept() {
    let fixture = ToolFixture::new();
    let text = fixture
        .bash("printf 'a\\377b\\033[31mred\\033[0m\\rx\\007'")
        .await;
    assert_eq!(text, "a\u{fffd}b\u{1b}[31mred\u{1b}[0m\rx\u{7}");
}

#[tokio::test]
async fn commands_that_cannot_be_started_are_errors() {
    let fixture = ToolFixture::new();
    has(
        &fixture.err("bash", json!({"command": "a\0b"})).await,
        "NUL byte",
    );
    let long = format!("true {}", "x".repeat(200_000));
    has(
        &fixture.err("bash", json!({"command": long})).await,
        "write it to a file",
    );
    fs::remove_dir(fixture.toolbox.cwd()).unwrap();
    has(
        &fixture.err("bash", json!({"command": "true"})).await,
        "cannot enter the working directory",
    );
}

#[tokio::test]
async fn secrets_are_not_in_the_commands_environment() {
    const CANARY: &str = "canary-7f3a";
    let test = path_of(&|| {});
    if is_helper_process(test) {
        let fixture = ToolFixture::set_up(|config| config.secrets = vec!["SOME_API_KEY".into()]);
        let shown = fixture.bash("env; cat /proc/$$/environ").await;
        has(&shown, "HARMLESS=yes");
        assert!(!shown.contains(CANARY), "{shown}");
        return;
    }
    let mut copy: Command = rerun(test);
    copy.env("SOME_API_KEY", CANARY)
        .env("ZOTCORE_RPC_TOKEN", CANARY)
        .env("HARMLESS", "yes");
    let output = copy.output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && stdout.contains("1 passed"),
        "{stdout}"
    );
}
