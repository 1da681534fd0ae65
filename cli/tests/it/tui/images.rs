//! Images in a prompt: `@` and pasted paths.

use std::{fs, path::Path};

use serde_json::Value;

use super::{
    puppet,
    scenes::scene,
    screen::{CTRL_C, ENTER, Screen},
};
use crate::support::{World, text};

/// A PNG of one pixel.
const PNG: &[u8] = &[
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, 0x49, 0x48, 0x44, 0x52, 0, 0, 0,
    1, 0, 0, 0, 1, 8, 6, 0, 0, 0, 0x1f, 0x15, 0xc4, 0x89, 0, 0, 0, 0x0d, 0x49, 0x44, 0x41, 0x54,
    0x78, 0x9c, 0x63, 0xf8, 0xcf, 0xc0, 0xf0, 0x1f, 0, 5, 0, 1, 0xff, 0x89, 0x99, 0x3d, 0x1d, 0, 0,
    0, 0, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
];

fn png(path: &Path) {
    fs::write(path, PNG).expect("failed to write");
}

fn paste(screen: &mut Screen, text: &str) {
    screen.keys(&format!("\x1b[200~{text}\x1b[201~"));
}

/// Returns the content of each user message in the most recent session.
fn sent(world: &World, screen: &mut Screen) -> Vec<Value> {
    let file = world.work().join("session.jsonl");
    let _ = fs::remove_file(&file);
    screen.send("/session export session.jsonl");
    screen.wait_for("✓ exported to");
    let lines = fs::read_to_string(file).expect("failed to read");
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("invalid JSON"));
    let messages = lines.filter(|line: &Value| line["message"]["role"] == "user");
    messages
        .map(|line| line["message"]["content"].clone())
        .collect()
}

fn images_in(content: &Value) -> usize {
    let blocks = content.as_array().expect("no content");
    blocks
        .iter()
        .filter(|block| block["type"] == "image")
        .count()
}

#[test]
fn mentioned_and_pasted_images_are_attached() {
    for (size, suffix) in [((80, 24), "80x24"), ((140, 40), "140x40")] {
        let world = World::new();
        png(&world.work().join("shot.png"));
        let dropped = world.path("a dropped file.png");
        png(&dropped);
        let mut screen = Screen::start(&world, size, &["--provider", "demo"]);
        screen.wait_idle();
        screen.send("what is in @shot.png?");
        screen.wait_for("image · image/png · 70 bytes");
        screen.wait_for("I am the demo model");
        screen.wait_idle();

        screen.keys("and in ");
        paste(&mut screen, &format!("'{}'", text(&dropped)));
        screen.wait_for("› and in [a\u{a0}dropped\u{a0}file.png]");
        scene(&format!("image_chip_{suffix}"), &world, &screen);
        screen.keys(ENTER);
        screen.wait_until("the second image", |text| {
            text.matches("image · image/png").count() == 2
        });
        screen.wait_idle();

        // The name of a missing file is left as text.
        screen.send("there is no @missing.png");
        screen.wait_idle();
        let sent = sent(&world, &mut screen);
        let images: Vec<usize> = sent.iter().map(images_in).collect();
        assert_eq!(images, [1, 1, 0], "{sent:?}");
        screen.leave();

        // A resumed session shows that there were images.
        let mut screen = Screen::demo(&world, &["--continue"]);
        screen.wait_for("image · image/png · 70 bytes");
        screen.leave();
    }
}

#[test]
fn an_image_that_cannot_be_read_is_not_silently_left_out() {
    let world = World::new();
    fs::write(world.work().join("fake.png"), "not an image").expect("failed to write");
    let outside = world.path("outside.png");
    png(&outside);
    let mut screen = Screen::demo(&world, &["--jail"]);
    screen.wait_for(" · jailed");
    screen.send("see @fake.png");
    screen.wait_for("✗ nothing was sent: `fake.png` is not a PNG");
    screen.wait_for("› see @fake.png");
    screen.keys("\x15");
    screen.wait_idle();
    // In the jail, images outside the project cannot be attached.
    screen.send("see @../outside.png");
    screen.wait_until("an error", |text| {
        text.matches("✗ nothing was sent").count() == 2
    });
    screen.wait_for("› see @../outside.png");
    let why = screen.text();
    assert!(!why.contains("outside.png` is not a PNG"), "{why}");
    screen.assert_never("I am the demo model");
    screen.leave_by_force();
}

#[test]
fn prompts_from_extensions_and_folded_pastes_attach_nothing() {
    let world = World::new();
    puppet::install(&world);
    png(&world.work().join("shot.png"));
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_for("ext 1/1");
    for command in ["/submit look at @shot.png", "/ask look at @shot.png"] {
        screen.send(command);
        screen.wait_for("look at @shot.png");
        screen.wait_idle();
    }
    screen.wait_for("› asked by a command: look at @shot.png");
    screen.wait_idle();
    // Text in the editor from an extension: inserted by a command, and returned by `/rewind`.
    screen.send("/write inserted @shot.png");
    screen.wait_for("› inserted @shot.png");
    screen.keys(ENTER);
    screen.wait_for("! `shot.png` was not attached");
    screen.wait_idle();
    screen.send("/rewind");
    screen.wait_for(" 3  inserted @shot.png");
    screen.keys(ENTER);
    screen.wait_for("rewound; files are unchanged");
    screen.wait_for("› inserted @shot.png");
    screen.keys(ENTER);
    screen.wait_for("› ask, / for commands");
    screen.wait_idle();
    let refusals = screen.all();
    let refusals = refusals.matches("! `shot.png` was not attached").count();
    assert_eq!(refusals, 2, "{}", screen.all());
    paste(&mut screen, "1\r2\r3\r4\r5\r@shot.png\r");
    screen.wait_for("[pasted");
    screen.keys(ENTER);
    screen.wait_idle();
    let sent = sent(&world, &mut screen);
    assert_eq!(
        sent.iter().map(images_in).collect::<Vec<_>>(),
        [0, 0, 0, 0],
        "{sent:?}"
    );
    screen.leave();
}

#[test]
fn control_characters_in_a_pasted_path_do_not_make_a_chip() {
    let world = World::new();
    let path = world.path("a\u{1b}]0;TITLE\u{7}.png");
    png(&path);
    let mut screen = Screen::demo(&world, &[]);
    screen.wait_idle();
    paste(&mut screen, text(&path));
    screen.wait_for(".png");
    screen.keys(CTRL_C);
    screen.wait_idle();
    screen.leave();
    assert_eq!(screen.unexpected_sequences(), [""; 0]);
    screen.assert_never("[a");
}
