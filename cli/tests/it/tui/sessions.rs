//! Sessions, models and API keys in interactive mode.

use std::fs;

use serde_json::json;
use zot_test_support::http::Server;

use super::{
    puppet,
    screen::{DOWN, ENTER, ESC, Screen, UP},
};
use crate::support::{World, text};

fn run_prompt(world: &World, words: &str) {
    let mut screen = Screen::demo(world, &[]);
    screen.wait_idle();
    screen.send(words);
    screen.wait_for("I am the demo model");
    screen.wait_idle();
    screen.leave();
}

#[test]
fn a_session_is_resumed_forked_exported_and_imported() {
    let world = World::new();
    run_prompt(&world, "the first conversation");
    run_prompt(&world, "the second conversation");

    let mut screen = Screen::demo(&world, &["--resume"]);
    screen.wait_for("── Session ──");
    screen.wait_for("› the second conversation");
    screen.keys(DOWN);
    screen.wait_for("› the first conversation");
    screen.keys(ENTER);
    screen.wait_for("continued · 2 messages");
    screen.wait_for("I am the demo model");
    screen.wait_idle();

    screen.send("/session fork 1");
    screen.wait_for("forked · 1 message");
    screen.wait_idle();
    screen.send("/session export out.md");
    screen.wait_for("✓ exported to");
    let page = fs::read_to_string(world.work().join("out.md")).expect("failed to read page");
    assert!(page.contains("the first conversation"), "{page}");
    screen.send("/session export out.jsonl");
    screen.wait_for("out.jsonl");
    screen.wait_until("twice", |text| text.matches("✓ exported to").count() == 2);
    screen.send("/session import out.jsonl");
    screen.wait_for("imported · 1 message");
    screen.wait_idle();
    // `/session` alone stays in the editor, because it needs an argument.
    screen.send("/session");
    screen.keys("nonsense");
    screen.wait_for("› /session nonsense");
    screen.leave_by_force();
}

#[test]
fn continue_opens_the_most_recent_session() {
    let world = World::new();
    run_prompt(&world, "remember this");
    let mut screen = Screen::demo(&world, &["--continue"]);
    screen.wait_for("continued · 2 messages");
    screen.wait_for("› remember this");
    screen.send("/clear");
    screen.wait_for("new conversation");
    screen.wait_idle();
    screen.send("/sessions");
    screen.wait_for("── Session ──");
    screen.keys(ESC);
    screen.wait_idle();
    screen.leave();
}

#[test]
fn the_model_picker_opens_and_unknown_models_are_refused() {
    let world = World::new();
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_idle();
    screen.send("/model");
    screen.wait_for("── Model ──");
    screen.wait_for("› demo");
    screen.keys(ESC);
    screen.wait_idle();
    screen.send("/model nonsense");
    screen.wait_for("✗ demo has no model `nonsense`");
    screen.wait_idle();
    screen.leave();
}

#[test]
fn a_conversation_is_compacted() {
    let world = World::new();
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_idle();
    screen.send("hello");
    screen.wait_for("I am the demo model");
    screen.wait_idle();
    screen.send("/compact");
    screen.wait_for("– compacted to this summary");
    screen.wait_idle();
    screen.leave();
}

#[test]
fn skills_are_listed() {
    let world = World::new();
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_idle();
    screen.send("/skills");
    screen.wait_for("write-zot-extension");
    screen.leave();
}

#[test]
fn prompt_history_is_kept_between_runs() {
    let world = World::new();
    run_prompt(&world, "remembered by the editor");
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_idle();
    screen.keys(UP);
    screen.wait_for("› remembered by the editor");
    screen.leave_by_force();
}

#[test]
fn record_writes_the_frames() {
    let world = World::new();
    puppet::install(&world);
    let file = world.path("frames.zt.ndjson");
    let mut screen = Screen::demo(&world, &["--record", text(&file)]);
    screen.wait_for("ext 1/1");
    screen.send("/show me");
    screen.wait_for("shown by a command");
    screen.leave();
    assert!(screen.text().contains("recorded `"), "{}", screen.text());
    let frames = fs::read_to_string(&file).expect("failed to read transcript");
    assert!(frames.contains("command_invoked"), "{frames}");
}

#[test]
fn ext_shows_extension_states_and_statistics() {
    let world = World::new();
    puppet::install(&world);
    puppet::install_example(&world, "guard");
    let mut screen = Screen::start(&world, (100, 30), &["--provider", "demo"]);
    screen.wait_for("ext 2/2");
    screen.send("/call bash {\"command\": \"true\"}");
    screen.wait_for("✓ bash");
    screen.wait_idle();
    screen.send("/ext");
    screen.wait_for("── Extensions ──");
    screen.wait_for("2/2 ready");
    screen.wait_for("› ✓ guard");
    screen.wait_for("intercepts");
    screen.wait_for("requests 1");
    screen.wait_for("median");
    screen.keys(DOWN);
    screen.wait_for("› ✓ puppet");
    screen.wait_for("/show");
    screen.wait_for("1.2.3");
    screen.keys(ESC);
    screen.wait_idle();
    screen.leave();
}

#[test]
fn login_hides_the_key_and_stores_it_after_a_check() {
    let world = World::new();
    let server = provider_accepting("sk-canary-1234");
    let mut screen = Screen::start(
        &world,
        (80, 24),
        &[
            "--provider",
            "openai",
            "--base-url",
            &server,
            "--model",
            "m",
        ],
    );
    screen.wait_idle();
    screen.send("/login openai");
    screen.wait_for("── API key for openai ──");
    screen.keys("sk-wrong");
    screen.wait_for("••••••••");
    screen.keys(ENTER);
    screen.wait_for("✗ API key not saved");
    screen.keys("sk-canary-1234");
    screen.wait_for("••••");
    screen.keys(ENTER);
    screen.wait_for("✓ saved API key for openai");
    screen.send("/logout openai");
    screen.wait_for("✓ removed API key for openai");
    screen.leave();
    screen.assert_never("sk-");
    screen.assert_never("canary");
}

/// Starts a fake provider that accepts one key, and returns its address.
fn provider_accepting(key: &str) -> String {
    let wanted = format!("Bearer {key}");
    let server = Server::start(move |request, response| {
        let status = if request.header("authorization") == Some(&wanted) {
            "200 OK"
        } else {
            "401 Unauthorized"
        };
        let head = format!("{status}\ncontent-type: application/json");
        response.send(&head, br#"{"data":[]}"#)
    });
    format!("{}/v1", server.url())
}

/// The conversation must not go to another company because of how a model is named.
#[test]
fn a_model_whose_id_begins_with_another_providers_name_stays_with_its_provider() {
    let server = Server::start(|_, response| {
        let list = br#"{"data":[{"id":"openai/gpt-oss-120b"},{"id":"m"}]}"#;
        response.send("200 OK\ncontent-type: application/json", list)
    });
    let world = World::new();
    let url = format!("{}/v1", server.url());
    world.configure(&json!({"providers": {"lab": {"base_url": url, "models": ["m"]}}}));
    let variables = [("OPENAI_API_KEY", "sk-canary")];
    let mut screen = Screen::with(&world, (80, 24), &["--provider", "lab"], &variables);
    screen.wait_idle();
    screen.send("/model openai/gpt-oss-120b");
    screen.wait_for("switched to lab openai/gpt-oss-120b");
    screen.send("/model openai/gpt-5");
    screen.wait_for("switched to openai gpt-5");
    screen.leave();
    let requests = server.requests();
    assert!(requests.iter().all(|it| !it.head.contains("canary")));
}
