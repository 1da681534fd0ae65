//! The pictures of the documents: `cargo test -p zot-cli --test it -- --ignored pictures` draws them anew, from the
//! program as it is.

use std::{fs, path::Path};

use serde_json::json;

use super::{puppet, screen::Screen};
use crate::support::World;

const SIZE: (u16, u16) = (96, 30);

fn keep(screen: &Screen, name: &str, title: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/pictures");
    fs::create_dir_all(&folder).expect("made");
    fs::write(folder.join(format!("{name}.svg")), screen.picture(title)).expect("written");
}

/// A small project with something to mend.
fn project(world: &World) -> String {
    fs::create_dir_all(world.work().join("src")).expect("made");
    fs::write(
        world.work().join("src/greet.rs"),
        "/// Greets somebody.\npub fn greet(name: &str) -> String {\n    format!(\"Helo, {name}!\")\n}\n",
    )
    .expect("written");
    puppet::script(
        world,
        &[
            json!({
                "text": "The greeting is made in one place. I will read it first.",
                "tool_call": {"name": "read", "args": {"path": "src/greet.rs"}}
            }),
            json!({"tool_call": {"name": "edit", "args": {
                "path": "src/greet.rs", "edits": [{"old": "Helo", "new": "Hello"}]
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
    keep(
        &screen,
        "turn",
        "zot reads a file, edits it, shows the change, and says what it did",
    );

    screen.keys("/");
    screen.wait_for("/todo");
    keep(
        &screen,
        "commands",
        "The commands of zot, and below a line those of its extensions",
    );
    screen.keys("\x03");
    screen.wait_idle();

    screen.send("/todo");
    screen.wait_for("Esc");
    keep(
        &screen,
        "panel",
        "The panel of the extension todo, between the conversation and the status bar",
    );
    screen.keys("\x1b");
    screen.wait_idle();
    screen.leave();
}
