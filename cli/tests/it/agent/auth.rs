//! `zot auth`.

use std::{fs, io::Write, os::unix::fs::PermissionsExt, process::Stdio};

use serde_json::json;

use crate::support::{
    RunOutput, World,
    model::{Model, Reply},
};

const KEY: &str = "sk-mine-77aa10";

/// Runs `zot auth set` with a key on stdin.
fn set(world: &World, args: &[&str], key: &str) -> RunOutput {
    let mut child = world
        .zot_command(&[&["auth", "set"], args].concat())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("failed to start zot");
    // zot may reject the provider before it reads stdin.
    let _ = child
        .stdin
        .take()
        .expect("should be piped")
        .write_all(key.as_bytes());
    RunOutput::of(child.wait_with_output().expect("failed to wait"))
}

#[test]
fn a_key_is_checked_stored_used_and_removed() {
    let world = World::new();
    let model = Model::start(vec![Reply::Text("yes".into())]);
    let url = model.url();
    let ran = set(&world, &["openai", "--base-url", &url], &format!("{KEY}\n"));
    assert_eq!(
        (ran.code, &*ran.out),
        (Some(0), "saved API key for openai\n"),
        "{ran:#?}"
    );
    assert_eq!(model.requests().len(), 1, "the key is checked exactly once");
    assert!(model.requests()[0].head.contains(KEY));
    let file = world.path("zot/auth.json");
    let mode = fs::metadata(&file)
        .expect("not stored")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);

    let ran = world.zot(&["auth", "list"]);
    assert_eq!(
        (ran.code, &*ran.out),
        (Some(0), "openai  saved\n"),
        "{ran:#?}"
    );
    // Without `--provider`, zot uses the provider that has a key. The provider must use the server
    // that the key was saved for, because zot sends the key only there.
    world.configure(&json!({"providers": {"openai": {"api": "openai", "base_url": url}}}));
    let ran = world.zot(&["--model", "small", "-p", "hello"]);
    assert_eq!((ran.code, &*ran.out), (Some(0), "yes\n"), "{ran:#?}");
    assert!(model.requests()[1].head.contains(KEY));

    let ran = world.zot(&["auth", "remove", "openai"]);
    assert_eq!(
        (ran.code, &*ran.out),
        (Some(0), "removed API key for openai\n")
    );
    let ran = world.zot(&["auth", "remove", "openai"]);
    assert_eq!(ran.code, Some(1));
    let ran = world.zot(&["auth", "list"]);
    assert_eq!((ran.code, &*ran.out), (Some(0), ""));
    assert!(ran.err.contains("hint: zot auth set"), "{}", ran.err);
}

#[test]
fn a_rejected_key_is_not_stored() {
    let world = World::new();
    let model = Model::start(vec![Reply::Status(401, "no such key")]);
    let url = model.url();
    let ran = set(&world, &["openai", "--base-url", &url], KEY);
    assert_eq!((ran.code, &*ran.out), (Some(1), ""));
    assert!(
        ran.err.starts_with("error: API key not saved: ")
            && ran.err.contains("\nhint: use --no-check"),
        "{}",
        ran.err
    );
    assert!(!ran.err.contains(KEY));
    assert!(!world.path("zot/auth.json").exists());
    let ran = set(&world, &["openai", "--no-check"], KEY);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert_eq!(model.requests().len(), 1, "--no-check made a request");
}

#[test]
fn unknown_providers_and_empty_keys_are_refused() {
    let world = World::new();
    let ran = set(&world, &["nosuch"], KEY);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.err.contains("`nosuch`") && ran.err.contains("hint: use one of anthropic"),
        "{}",
        ran.err
    );
    let ran = set(&world, &["openai", "--no-check"], "\n");
    assert_eq!(ran.code, Some(1), "{ran:#?}");
}
