//! Generates the screenshots in the documents: `cargo test -p zot-cli --test it -- --ignored
//! pictures`.

use std::{fs, path::Path};

use serde_json::json;

use super::{puppet, screen::Screen};
use crate::support::{World, demo_script};

const SIZE: (u16, u16) = (96, 30);

/// The working directory shown in the pictures.
const PLACE: &str = "/home/ada/work/greeting";

fn save(world: &World, screen: &Screen, name: &str, title: &str) {
    let mut picture = screen.picture(title);
    let place = world.work();
    let place = place.to_str().expect("not valid UTF-8");
    if place.len() == PLACE.len() {
        picture = picture.replace(place, PLACE);
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/pictures");
    fs::create_dir_all(&folder).expect("failed to create directory");
    fs::write(folder.join(format!("{name}.svg")), picture).expect("failed to write");
}

/// Writes a small project with a spelling mistake, and a script in which the model fixes it.
fn project(world: &World) -> String {
    fs::create_dir_all(world.work().join("src")).expect("failed to create directory");
    fs::write(
        world.work().join("src/greet.rs"),
        "/// Greets somebody.\npub fn greet(name: &str) -> String {\n    format!(\"Helo, {name}!\")\n}\n",
    )
    .expect("failed to write");
    demo_script(
        world,
        &[
            json!({
                "text": "The greeting is made in one place. I will read it first.",
                "tool_call": {"name": "read", "args": {"path": "src/greet.rs"}}
            }),
            json!({"tool_call": {"name": "edit", "args": {
                "path": "src/greet.rs", "edits": [{"old_text": "Helo", "new_text": "Hello"}]
            }}}),
            json!({"text": "The greeting is spelt **Hello** now.\n\n- `src/greet.rs`: one word\n- no other file has it\n\nIt reads:\n\n```rust\n/// Greets somebody.\npub fn greet(name: &str) -> String {\n    format!(\"Hello, {name}!\")\n}\n```\n"}),
        ],
    )
}

#[test]
#[ignore = "writes into docs/"]
fn pictures() {
    let world = World::new();
    for example in ["guard", "redact", "todo"] {
        puppet::install_example(&world, example);
    }
    let script = project(&world);
    let mut screen = Screen::start(&world, SIZE, &["--provider", "demo", "--script", &script]);
    screen.wait_for("ext 3/3");
    screen.wait_idle();
    screen.send("The greeting is misspelt. Please mend it.");
    screen.wait_for("no other file has it");
    screen.wait_idle();
    save(
        &world,
        &screen,
        "turn",
        "zot reads a file, edits it, shows the change, and says what it did",
    );

    screen.keys("/");
    screen.wait_for("/help ");
    screen.keys("\x1b[A");
    screen.wait_for("/todo");
    save(
        &world,
        &screen,
        "commands",
        "The commands of zot, and below a line those of its extensions",
    );
    screen.keys("\x03");
    screen.wait_idle();

    for task in [
        "spell the greeting right",
        "greet in more languages",
        "tell the others",
    ] {
        screen.send(&format!("/todo {task}"));
        screen.wait_idle();
    }
    screen.send("/todo");
    screen.wait_for("[todo]");
    save(
        &world,
        &screen,
        "panel",
        "The panel of the extension todo, between the conversation and the status bar",
    );
    screen.keys("\x1b");
    screen.wait_idle();
    screen.leave();

    let world = World::new();
    let script = project(&world);
    let args = ["--provider", "demo", "--script", &script, "--no-yolo"];
    let mut screen = Screen::start(&world, SIZE, &args);
    screen.wait_idle();
    screen.send("The greeting is misspelt. Please mend it.");
    screen.wait_for("── Run read? ──");
    screen.wait_for("y  yes");
    screen.keys("y");
    screen.wait_for("── Run edit? ──");
    screen.wait_for("y  yes");
    save(
        &world,
        &screen,
        "question",
        "zot asks before it edits a file, and shows the change",
    );
    screen.keys("\x1b");
    screen.wait_for("no other file has it");
    screen.wait_idle();
    screen.leave();
}
