//! `zot -p`.

use std::{fs, io::Write, process::Stdio};

use super::demo;
use crate::support::{
    RunOutput, World,
    model::{Model, Reply},
    text,
};

#[test]
fn print_shows_only_the_final_text() {
    let world = World::new();
    let script = world.path("turns");
    fs::write(
        &script,
        "{\"text\": \"Let me see.\", \"tool_call\": {\"name\": \"bash\", \"args\": {\"command\": \"echo 42\"}}}\n{\"text\": \"It is 42.\"}\n",
    )
    .unwrap();
    let ran = demo(
        &world,
        &["--script", text(&script), "-p", "what", "is", "it?"],
    );
    assert_eq!(
        (ran.code, &*ran.out, &*ran.err),
        (Some(0), "It is 42.\n", "")
    );
}

#[test]
fn stdin_is_appended_to_the_prompt() {
    let world = World::new();
    let model = Model::start(vec![Reply::Text("ok".into())]);
    let flags = model.flags();
    let mut child = world
        .zot_command(&["-p", "explain"])
        .args(&flags)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all("the diff\n".as_bytes())
        .unwrap();
    let ran = RunOutput::of(child.wait_with_output().unwrap());
    assert_eq!((ran.code, &*ran.out), (Some(0), "ok\n"), "{ran:?}");
    let asked = &model.requests()[0].json();
    let messages = asked["messages"].as_array().unwrap();
    assert_eq!(messages.last().unwrap()["content"], "explain\n\nthe diff");
}

#[test]
fn a_missing_prompt_is_a_usage_error() {
    let world = World::new();
    let ran = demo(&world, &["-p"]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.err.starts_with("error: no prompt given\nhint: "),
        "{}",
        ran.err
    );
}

#[test]
fn without_a_key_zot_fails_with_a_hint() {
    let world = World::new();
    for mode in ["-p", "--json"] {
        let ran = world.zot(&[mode, "hello"]);
        assert_eq!((ran.code, &*ran.out), (Some(1), ""));
        assert!(
            ran.err.contains("\nhint: ") && ran.err.contains("--provider demo"),
            "{}",
            ran.err
        );
    }
}

#[test]
fn a_provider_failure_is_one_error_and_exit_1() {
    let world = World::new();
    let model = Model::start(vec![Reply::Status(401, "who are you")]);
    let flags = model.flags();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let ran = world.zot(&[&["-p", "x", "--api-key", "sk-wrong"], &*flags].concat());
    assert_eq!((ran.code, &*ran.out), (Some(1), ""), "{ran:?}");
    assert_eq!(
        ran.err,
        "! unknown model `small`: assuming 1050000 tokens of context and 128000 of output; if that is wrong, add it \
         to `providers.openai.models` in config.json\n\
         error: openai rejected the API key: who are you\nhint: run `zot auth set openai`\n"
    );
}

#[test]
fn problems_with_context_files_are_reported() {
    let world = World::new();
    fs::write(world.work().join("AGENTS.md"), "x".repeat(70_000)).expect("failed to write");
    let ran = super::demo(&world, &["-p", "hi"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.err.contains("AGENTS.md"), "{}", ran.err);
    assert!(ran.err.contains("64 KiB"), "{}", ran.err);
}

#[test]
fn terminal_control_characters_are_not_printed() {
    let world = World::new();
    let script = world.path("turns");
    fs::write(
        &script,
        "{\"text\": [\"a\\u001b]0;owned\\u0007b\\u001b[2Jc\\u202ed\"]}\n",
    )
    .unwrap();
    let ran = demo(&world, &["--script", text(&script), "-p", "x"]);
    assert_eq!(ran.out, "abcd\n");
}

#[test]
fn reaching_max_steps_is_a_failure() {
    let world = World::new();
    let ran = demo(
        &world,
        &[
            "--max-steps",
            "1",
            "-p",
            "/call bash {\"command\": \"true\"}",
        ],
    );
    assert_eq!((ran.code, &*ran.out), (Some(1), ""));
    assert_eq!(ran.err, "error: reached the limit of 1 model call\n");
}

#[test]
fn zot_works_without_a_writable_home() {
    let world = World::new();
    fs::write(world.path("file"), "").unwrap();
    let output = world
        .zot_command(&["--provider", "demo", "-p", "hello"])
        .env("ZOT_HOME", world.path("file/home"))
        .output()
        .unwrap();
    let ran = RunOutput::of(output);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains("demo model"));
    assert!(
        ran.err.contains("! this session will not be saved: "),
        "{}",
        ran.err
    );
}

#[test]
fn an_invalid_setting_is_reported_and_the_rest_is_used() {
    let world = World::new();
    fs::create_dir_all(world.path("zot")).unwrap();
    fs::write(
        world.path("zot/config.json"),
        "{\"provider\": \"demo\", \"reasoning\": 7}",
    )
    .unwrap();
    let ran = world.zot(&["-p", "hello"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("/reasoning"), "{}", ran.err);
    // A file that is not JSON is backed up, and zot still starts.
    fs::write(world.path("zot/config.json"), "\0\0\0\0").unwrap();
    let ran = demo(&world, &["-p", "hello"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("config.json"), "{}", ran.err);
}
