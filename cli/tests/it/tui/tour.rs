//! The tour in the README: runs its commands in an empty home, then types each line of its table
//! and checks what appears.

use std::{fs, path::Path};

use super::screen::{ENTER, ESC, Screen};
use crate::support::World;

fn readme() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    fs::read_to_string(root.join("README.md")).expect("failed to read page")
}

/// Returns the commands of the tour, except those that run other programs.
fn commands(readme: &str) -> String {
    let (_, tour) = readme
        .split_once("**Your own extension.**")
        .expect("no tour in the README");
    let (tour, _) = tour
        .split_once("**In the terminal.**")
        .expect("no end of the tour");
    let blocks = tour.split("```sh\n").skip(1);
    let commands = blocks.map(|block| block.split("```").next().unwrap_or_default());
    let lines = commands.flat_map(str::lines);
    let lines = lines.filter(|line| !line.starts_with("zot-conform") && !line.starts_with("sed "));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Returns the rows of the table: the input and the expected texts.
fn steps(readme: &str) -> Vec<(String, Vec<String>)> {
    let (_, table) = readme
        .split_once("| type | see |\n|---|---|\n")
        .expect("no table");
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let spans: Vec<String> = row
            .split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect();
        (spans[0].clone(), spans[1..].to_vec())
    })
    .collect()
}

#[test]
fn the_tour_in_the_readme_works() {
    let readme = readme();
    let world = World::new();
    let zot = Path::new(env!("CARGO_BIN_EXE_zot"))
        .parent()
        .expect("path has no parent");
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", zot.display());
    let made = world
        .command("bash")
        .env("PATH", &path)
        .args(["-ec", &commands(&readme)])
        .output()
        .expect("failed to start bash");
    assert!(made.status.success(), "{made:?}");

    let steps = steps(&readme);
    assert!(steps.len() > 5, "{steps:?}");
    let mut screen = Screen::shell(&world, &[("PATH", &path)]);
    for (typed, seen) in &steps {
        let from = screen.written();
        match typed.as_str() {
            "esc" => screen.keys(ESC),
            line => {
                screen.keys(line);
                screen.wait_until(line, |text| text.replace('\n', "").contains(line));
                screen.keys(ENTER);
            }
        }
        for seen in seen.iter().filter(|it| !it.contains("main.py")) {
            screen.wait_until(seen, |text| text.contains(seen.as_str()));
        }
        assert!(screen.written() > from, "{typed} printed nothing");
    }
    screen.wait_for("$ ");
    screen.keys("exit\r");
    assert_eq!(screen.ended(), 0);
}
