//! `--output-schema`, `--timeout`, and the exit codes of `-p` and `--json`.

use std::fs;

use serde_json::{Value, json};

use super::{demo, json::events, scripted};
use crate::support::{RunOutput, World};

/// Creates a world with a schema in `schema.json`.
fn world() -> World {
    let world = World::new();
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    fs::write(world.work().join("schema.json"), schema.to_string()).expect("failed to write");
    world
}

fn run(world: &World, mode: &str, answers: &[&str]) -> RunOutput {
    let turns: Vec<String> = answers
        .iter()
        .map(|text| json!({"text": text}).to_string())
        .collect();
    let turns: Vec<&str> = turns.iter().map(String::as_str).collect();
    scripted(
        world,
        &turns,
        &["--output-schema", "schema.json", mode, "how many?"],
    )
}

/// Returns the texts of the user's messages.
fn prompts(events: &[Value]) -> Vec<&str> {
    let prompts = events.iter().filter(|it| it["type"] == "user_message");
    prompts
        .map(|it| it["content"][0]["text"].as_str().expect("a text"))
        .collect()
}

#[test]
fn an_answer_that_matches_is_printed_without_its_fence() {
    let world = world();
    let ran = run(&world, "-p", &["```json\n{\"n\": 3}\n```"]);
    assert_eq!(
        (ran.code, &*ran.out, &*ran.err),
        (Some(0), "{\"n\": 3}\n", "")
    );
    let ran = run(&world, "--json", &["{\"n\": 3}"]);
    let told = events(&ran.out);
    assert_eq!(ran.code, Some(0));
    assert_eq!(
        told.last(),
        Some(&json!({"type": "done", "output": {"n": 3}}))
    );
    assert!(prompts(&told)[0].contains(r#""required":["n"]"#));
}

#[test]
fn a_wrong_answer_is_repaired_once() {
    let world = world();
    let ran = run(&world, "-p", &["three", "{\"n\": 3}"]);
    assert_eq!((ran.code, &*ran.out), (Some(0), "{\"n\": 3}\n"), "{ran:?}");
    assert!(
        ran.err.contains("asking again: it is not JSON"),
        "{}",
        ran.err
    );

    let ran = run(&world, "--json", &["{\"n\": \"3\"}", "{\"n\": 3}"]);
    let told = events(&ran.out);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let asked = prompts(&told);
    assert_eq!(asked.len(), 2);
    assert!(
        asked[1].contains("does not match the JSON Schema: /n: "),
        "{}",
        asked[1]
    );
    let done = told.iter().filter(|it| it["type"] == "done");
    assert_eq!(
        done.collect::<Vec<_>>(),
        [&json!({"type": "done", "output": {"n": 3}})]
    );
}

#[test]
fn an_answer_that_is_still_wrong_exits_4() {
    let world = world();
    let ran = run(&world, "-p", &["three", "{}", "{\"n\": 3}"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert_eq!(ran.out, "{}\n", "the answer may still help");
    let error = "error: the answer does not match the schema: /n: missing";
    assert!(ran.err.contains(error), "{}", ran.err);
    let ran = run(&world, "--json", &["three", "four"]);
    assert_eq!(ran.code, Some(4));
    assert_eq!(events(&ran.out).last(), Some(&json!({"type": "done"})));
}

#[test]
fn an_answer_that_is_cut_off_is_not_repaired() {
    let world = world();
    let cut = json!({"text": "{\"n\": 3", "stop": "length"}).to_string();
    let again = json!({"text": "{\"n\": 4}"}).to_string();
    for mode in ["-p", "--json"] {
        let args = ["--output-schema", "schema.json", mode, "how many?"];
        let ran = scripted(&world, &[&cut, &again], &args);
        assert_eq!(ran.code, Some(3), "{ran:?}");
        assert!(!ran.err.contains("asking again"), "{}", ran.err);
        if mode == "--json" {
            let told = events(&ran.out);
            assert_eq!(prompts(&told).len(), 1);
            assert_eq!(told.last(), Some(&json!({"type": "done"})));
        } else {
            assert_eq!(ran.out, "{\"n\": 3\n");
        }
    }
}

#[test]
fn an_unusable_schema_is_an_error_before_the_model_is_called() {
    let world = world();
    for (schema, why) in [
        ("[]", "must contain a JSON Schema object"),
        ("{", "invalid JSON in `schema.json`"),
        (
            "{\"type\": \"objet\"}",
            "invalid JSON Schema in `schema.json`",
        ),
    ] {
        fs::write(world.work().join("schema.json"), schema).expect("failed to write");
        let ran = run(&world, "-p", &["{}"]);
        assert_eq!(ran.code, Some(1));
        assert!(ran.err.contains(why), "{}", ran.err);
    }
    fs::remove_file(world.work().join("schema.json")).expect("failed to remove");
    let ran = run(&world, "-p", &["{}"]);
    assert!(ran.err.contains("cannot read `schema.json`"), "{}", ran.err);
    let ran = demo(&world, &["--output-schema", "schema.json", "hello"]);
    assert_eq!(ran.code, Some(2), "interactive mode has no final answer");
}

#[test]
fn a_timeout_aborts_the_run_and_exits_124() {
    let world = World::new();
    let turn = json!({"tool_call": {"name": "bash", "args": {"command": "sleep 600"}}}).to_string();
    for mode in ["-p", "--json"] {
        let ran = scripted(&world, &[&turn], &["--timeout", "300ms", mode, "wait"]);
        assert_eq!(ran.code, Some(124), "{ran:?}");
        assert!(
            ran.err.contains("error: timed out after 300ms"),
            "{}",
            ran.err
        );
        if mode == "--json" {
            let told = events(&ran.out);
            assert_eq!(told.last(), Some(&json!({"type": "done"})));
        }
    }
    let ran = demo(&world, &["-p", "hello", "--timeout", "soon"]);
    assert_eq!(ran.code, Some(2));
}

#[test]
fn an_answer_that_is_cut_off_exits_3() {
    let world = World::new();
    let turn = json!({"text": "It is", "stop": "length"}).to_string();
    for mode in ["-p", "--json"] {
        let ran = scripted(&world, &[&turn], &[mode, "hi"]);
        assert_eq!(ran.code, Some(3), "{ran:?}");
        assert!(
            ran.err.contains("cut off at the model's output limit"),
            "{}",
            ran.err
        );
    }
}

#[test]
fn json_begins_with_the_session_id_unless_nothing_is_saved() {
    let world = World::new();
    let ran = demo(&world, &["--json", "hi"]);
    let told = events(&ran.out);
    assert_eq!(told[0]["type"], "session");
    let id = told[0]["session_id"].as_str().expect("an id");
    let resume = format!("--resume={id}");
    let ran = demo(&world, &["--json", &resume, "again"]);
    assert_eq!(events(&ran.out)[0], told[0]);
    let ran = demo(&world, &["--json", "--no-session", "hi"]);
    assert_eq!(events(&ran.out)[0]["type"], "user_message");
}
