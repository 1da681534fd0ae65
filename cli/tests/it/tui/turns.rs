//! Turns in progress: redaction, streaming, queueing and cancelling.

use std::fs;

use serde_json::json;

use super::{
    puppet,
    screen::{CTRL_C, DOWN, ENTER, ESC, Screen},
};
use crate::support::{
    World, demo_script,
    model::{Model, Reply},
    text,
};

const SECRET: &str = "AKIAABCDEFGHIJKLMNOP";

#[test]
fn redacted_text_is_never_shown() {
    let world = World::new();
    puppet::install_example(&world, "redact");
    let script = demo_script(
        &world,
        &[json!([
            {"text": ["Use AKIA", "ABCDEFGH", "IJKLMNOP"]}, {"delay_ms": 200}, {"text": " for it."}
        ])],
    );
    let mut screen = Screen::demo(&world, &["--script", &script]);
    screen.wait_for("ext 1/1");
    screen.send("which key?");
    screen.wait_for("Use [redacted] for it.");
    screen.wait_idle();
    screen.leave();
    screen.assert_never(SECRET);
    screen.assert_never("AKIA");

    // The key stays hidden when the session is continued, even though the session file contains the
    // original text.
    let mut screen = Screen::demo(&world, &["--continue"]);
    screen.wait_for("Use [redacted] for it.");
    screen.wait_idle();
    screen.leave();
    screen.assert_never("AKIA");
}

#[test]
fn text_streams_and_esc_keeps_the_partial_answer() {
    let world = World::new();
    let script = demo_script(
        &world,
        &[json!([{"text": "Half a sen"}, {"delay_ms": 600_000}, {"text": "tence."}])],
    );
    let mut screen = Screen::demo(&world, &["--script", &script]);
    screen.wait_idle();
    screen.send("go");
    screen.wait_for("Half a sen");
    screen.wait_for("answering · ");
    screen.keys(ESC);
    screen.wait_for("– cancelled");
    screen.wait_idle();
    assert!(screen.all().contains("Half a sen"));
    screen.leave();
}

#[test]
fn ctrl_c_cancels_a_tool_call() {
    let world = World::new();
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_idle();
    screen.send("/call bash {\"command\": \"sleep 1000\"}");
    screen.wait_for("working · ");
    screen.keys(CTRL_C);
    screen.wait_for("– bash cancelled  sleep 1000");
    screen.wait_for("– cancelled");
    screen.wait_idle();
    screen.leave();
}

#[test]
fn prompts_queued_while_busy_run_in_order() {
    let world = World::new();
    puppet::install(&world);
    let mut screen = Screen::start(&world, (80, 50), &["--provider", "demo"]);
    screen.wait_for("ext 1/1");
    let go = world.path("go");
    screen.send(&format!("/call wait {{\"until\": \"{}\"}}", text(&go)));
    screen.wait_for("working · ");
    screen.keys("/call say {\"text\": \"second\"}\t");
    screen.wait_for("  later: /call say {\"text\": \"second\"}");
    screen.keys("/call say {\"text\": \"third\"}\t");
    screen.wait_for("  later: /call say {\"text\": \"third\"}");
    fs::write(&go, "").expect("failed to write");
    screen.wait_for("│ third");
    screen.wait_idle();
    let all = screen.all();
    let at = |word: &str| all.find(word).unwrap_or_else(|| panic!("no {word}\n{all}"));
    assert!(at("│ the end") < at("│ second") && at("│ second") < at("│ third"));
    screen.leave();
}

#[test]
fn esc_cancels_the_turn_and_returns_the_queue_to_the_editor() {
    let world = World::new();
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_idle();
    screen.send("/call bash {\"command\": \"sleep 1000\"}");
    screen.wait_for("working · ");
    screen.keys("and then this\t");
    screen.wait_for("  later: and then this");
    screen.keys(ESC);
    screen.wait_for("– cancelled");
    screen.wait_for("› and then this");
    assert!(!screen.text().contains("  later: and then this"));
    screen.keys(CTRL_C);
    screen.wait_idle();
    screen.leave();
}

#[test]
fn a_reload_while_busy_waits_for_the_turn() {
    let world = World::new();
    puppet::install(&world);
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_for("ext 1/1");
    let go = world.path("go");
    screen.send(&format!("/call wait {{\"until\": \"{}\"}}", text(&go)));
    screen.wait_for("working · ");
    screen.send("/reload-ext");
    screen.wait_for("– /reload-ext will run when the turn ends");
    assert!(!screen.text().contains("1 stopped"));
    fs::write(&go, "").expect("failed to write");
    screen.wait_for("✓ extensions: 1 stopped, 1 started, 1 ready");
    let all = screen.all();
    assert!(all.find("the end") < all.find("1 stopped"), "{all}");
    screen.send("/show after");
    screen.wait_for("shown by a command");
    screen.leave();
}

#[test]
fn a_provider_failure_is_shown_once() {
    let world = World::new();
    let script = demo_script(&world, &[json!({"text": "Well", "error": "overloaded"})]);
    let mut screen = Screen::demo(&world, &["--script", &script]);
    screen.wait_idle();
    screen.send("go");
    screen.wait_for("overloaded");
    screen.wait_idle();
    assert_eq!(screen.all().matches("overloaded").count(), 1);
    screen.leave();
}

#[test]
fn enter_sends_a_prompt_that_ends_with_a_directory() {
    let world = World::new();
    fs::create_dir(world.work().join("docs")).expect("failed to create directory");
    fs::write(world.work().join("docs/page.md"), "x").expect("failed to write");
    for typed in ["look at @docs", "look at @docs/"] {
        let mut screen = Screen::demo(&world, &[]);
        screen.wait_idle();
        screen.keys(typed);
        screen.wait_for("docs/page.md");
        screen.keys(ENTER);
        screen.wait_for(&format!("› {typed}"));
        screen.wait_for("I am the demo model");
        screen.leave();
    }
    // If a file is selected, Enter completes its path first.
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_idle();
    screen.keys("look at @docs/");
    screen.wait_for("docs/page.md");
    screen.keys(DOWN);
    screen.keys(ENTER);
    screen.wait_for("look at @docs/page.md");
    screen.keys(ENTER);
    screen.wait_for("I am the demo model");
    screen.leave();
}

#[test]
fn a_retry_counts_down_and_esc_cancels_it() {
    let world = World::new();
    let overloaded = || Reply::Status(529, "overloaded");
    let model = Model::start(vec![
        overloaded(),
        Reply::Text("Recovered.".to_owned()),
        overloaded(),
    ]);
    let flags = model.flags();
    let mut flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    flags.extend(["--api-key", "any"]);
    let mut screen = Screen::start(&world, (80, 24), &flags);
    screen.wait_idle();
    screen.send("one");
    screen.wait_for("openai returned HTTP 529, trying again in ");
    screen.wait_for("Recovered.");
    screen.wait_idle();
    screen.send("two");
    screen.wait_for("trying again in ");
    screen.wait_for("esc to cancel");
    screen.keys(ESC);
    screen.wait_for("– cancelled");
    screen.wait_idle();
    // The countdown leaves nothing behind in the scrollback.
    assert!(!screen.all().contains("trying again"), "{}", screen.all());
    screen.leave();
}
