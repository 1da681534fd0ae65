//! Terminal sizes and resizing.

use serde_json::json;
use unicode_width::UnicodeWidthStr;

use super::screen::{CTRL_C, ENTER, Screen};
use crate::support::{World, demo_script};

#[test]
fn resizing_to_20x5_and_back_keeps_the_editor() {
    let world = World::new();
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_idle();
    screen.send("hello");
    screen.wait_for("I am the demo model");
    screen.wait_idle();
    screen.resize(20, 5);
    screen.keys("in a small window");
    screen.wait_for("window");
    assert!(screen.rows().len() == 5);
    screen.resize(80, 24);
    screen.wait_for("› in a small window");
    screen.wait_until("one editor, one bar", |text| {
        text.matches("› in a small window").count() == 1 && text.matches("demo · ").count() == 1
    });
    screen.keys(ENTER);
    screen.wait_until("an answer", |text| text.contains("I am the demo model"));
    screen.wait_idle();
    screen.leave();
}

#[test]
fn resizing_while_text_streams_loses_nothing() {
    let world = World::new();
    let text: Vec<String> = (0..2_000).map(|number| format!("word{number} ")).collect();
    let mut parts = Vec::new();
    for chunk in text.chunks(10) {
        parts.push(json!({"text": chunk}));
        parts.push(json!({"delay_ms": 2}));
    }
    let script = demo_script(&world, &[json!(parts)]);
    let mut screen = Screen::demo(&world, &["--script", &script]);
    screen.wait_idle();
    screen.send("go");
    for (at, (columns, rows)) in [(40, 10), (20, 5), (132, 50), (80, 24)].iter().enumerate() {
        let reached = format!("word{}", 100 + at * 200);
        screen.wait_until(&reached, |_| screen.has_written(&reached, 0));
        screen.resize(*columns, *rows);
    }
    screen.wait_for("word1999");
    // Check only the live area: a frame drawn while the window was shrinking may remain above it.
    screen.wait_until("idle", |text| {
        let live: Vec<&str> = text.lines().rev().take(5).collect();
        !live.join("\n").contains("esc to cancel")
    });
    // No text is lost, whatever the sizes were.
    let all = written(&screen);
    for number in 0..2_000 {
        let has_word = |end: &str| all.contains(&format!("word{number}{end}"));
        assert!(
            has_word(" ") || has_word("\r") || has_word("\x1b"),
            "{number}"
        );
    }
    screen.leave();
}

/// Returns all output. The emulator's screen is not enough, because shrinking it cuts off existing
/// rows.
fn written(screen: &Screen) -> String {
    String::from_utf8_lossy(&screen.bytes()).into_owned()
}

#[test]
fn tiny_and_zero_sized_terminals_work() {
    let world = World::new();
    for size in [(1, 1), (2, 2), (0, 0)] {
        let mut screen = Screen::start(&world, size, &["--provider", "demo"]);
        screen.wait_until("something", |_| screen.written() > 0);
        screen.keys("hello");
        screen.keys(ENTER);
        screen.wait_until("an answer", |_| screen.all().contains('I'));
        screen.resize(80, 24);
        screen.wait_idle();
        screen.keys(CTRL_C);
        screen.keys(CTRL_C);
        assert_eq!(screen.ended(), 0);
        screen.assert_restored();
    }
}

#[test]
fn wide_and_combining_characters_stay_in_their_columns() {
    let world = World::new();
    let mut screen = Screen::start(&world, (20, 12), &["--provider", "demo"]);
    screen.wait_for("›");
    screen.keys("日本語日本語日本語日本語");
    screen.wait_for("日本語");
    screen.keys("e\u{301}👩‍🚀x");
    screen.wait_for("x");
    for row in screen.rows() {
        assert!(row.width() <= 20, "{row:?}");
    }
    screen.keys(CTRL_C);
    screen.keys(CTRL_C);
    assert_eq!(screen.ended(), 0);
}

#[test]
fn no_color_disables_colours() {
    let world = World::new();
    let args = ["--provider", "demo"];
    let mut screen = Screen::with(&world, (80, 24), &args, &[("NO_COLOR", "1")]);
    screen.wait_idle();
    screen.send("hello");
    screen.wait_for("I am the demo model");
    screen.wait_idle();
    screen.leave();
    let bytes = String::from_utf8_lossy(&screen.bytes()).into_owned();
    let colour = regex::Regex::new(r"\x1b\[[0-9;]*;?(3[0-7]|4[0-7]|9[0-7]|38|48)[;m]")
        .expect("invalid regex");
    assert!(!colour.is_match(&bytes), "{:?}", colour.find(&bytes));
}
