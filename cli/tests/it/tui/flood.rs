//! Extensions that submit prompts endlessly.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{
    puppet,
    screen::{CTRL_C, Screen},
};
use crate::support::{World, demo_script};

/// Submits prompts and sends notifications as fast as it can.
const SCRIPT: &str = r#"
import json, os, sys, threading
wire, sys.stdout = sys.stdout, sys.stderr
def say(**frame):
    wire.write(json.dumps(frame) + "\n"); wire.flush()
say(type="hello", name="flood")
say(type="ready")
def flood():
    number = 0
    while True:
        say(type="submit", text="submitted %d" % number)
        say(type="notify", level="info", message="note %d" % number)
        number += 1
threading.Thread(target=flood, daemon=True).start()
for line in sys.stdin:
    if json.loads(line)["type"] == "shutdown":
        os._exit(0)
os._exit(0)
"#;

/// How the model answers.
#[derive(PartialEq, Clone, Copy)]
enum Model {
    Quick,
    /// Starts an answer and never finishes it.
    Slow,
}

fn start(model: Model) -> (World, Screen) {
    let world = World::new();
    puppet::write(
        &world.installed("flood"),
        &json!({"name": "flood", "exec": "python3", "args": ["flood.py"]}),
        "flood.py",
        SCRIPT,
    );
    let turn = json!([{"text": "Well, "}, {"delay_ms": 600_000}]);
    let script = demo_script(&world, &vec![turn; 20]);
    let scripted = ["--script", &script];
    let mut args = vec!["--provider", "demo"];
    if model == Model::Slow {
        args.extend(scripted);
    }
    let screen = Screen::start(&world, (100, 40), &args);
    (world, screen)
}

/// Counts the answered prompts by the demo model's fixed answer.
fn answers(screen: &Screen) -> usize {
    screen.all().matches("I am the demo model").count()
}

#[test]
fn a_flood_of_submits_runs_ten_turns_and_typing_stays_responsive() {
    let (_world, mut screen) = start(Model::Quick);
    screen.wait_until("a warning", |_| {
        let warning = "flood submitted too many prompts; at most 10 can be queued";
        screen.all().contains(warning)
    });
    screen.wait_until("the turns are over", |text| !text.contains("esc to cancel"));
    // Typing stays responsive while the extension keeps submitting.
    for word in ["one", " two", " three"] {
        let pressed = Instant::now();
        screen.keys(word);
        screen.wait_for(word);
        assert!(pressed.elapsed() < Duration::from_secs(5), "{word:?}");
    }
    assert_eq!(answers(&screen), 10, "{}", screen.all());
    // The user's prompt runs first, and resets the limit of ten.
    screen.keys("\r");
    screen.wait_until("the user's prompt and ten more", |_| answers(&screen) == 21);
    screen.wait_until("the turns are over", |text| !text.contains("esc to cancel"));
    assert_eq!(answers(&screen), 21, "{}", screen.all());
    screen.leave_by_force();
}

#[test]
fn ctrl_c_clears_the_submitted_prompts() {
    let (_world, mut screen) = start(Model::Slow);
    screen.wait_for("Well,");
    screen.wait_for("… and ");
    screen.keys(CTRL_C);
    screen.wait_for("cancelled");
    screen.wait_idle();
    let seen = screen.all();
    assert_eq!(seen.matches("Well,").count(), 1, "{seen}");
    assert!(!seen.contains("… and "), "prompts are still queued\n{seen}");
    screen.leave();
}
