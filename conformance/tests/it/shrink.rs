//! Failures made small, kept, and repeated by name.

use crate::stage::Stage;

const ARGS: [&str; 5] = ["ext", "--profile", "full", "--only", "TOL-05"];

fn kept(stage: &Stage) -> Vec<String> {
    let Ok(files) = std::fs::read_dir(stage.path("home/conform")) else {
        return Vec::new();
    };
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    names.collect()
}

#[test]
fn a_crash_is_made_small_and_repeated() {
    let stage = Stage::moody(&["--crash"]);
    // More time than the busiest machine needs, so that the smallest is found. A crash is not waited for.
    let slowly = [&ARGS[..], &["--timeout-scale", "100"]].concat();
    let said = stage.conform(&slowly).exits(1);
    insta::assert_snapshot!("a_crash", said.all());
    let files = kept(&stage);
    assert_eq!(files.len(), 1, "{files:?}");
    let id = files[0].strip_suffix(".zt.ndjson").unwrap().to_owned();
    insta::assert_snapshot!(
        "a_kept_crash",
        stage.tidy(&stage.read(&format!("home/conform/{id}.zt.ndjson")))
    );
    let said = stage.conform(&["replay", &id]).exits(1);
    insta::assert_snapshot!("a_repeated_crash", said.all());
    // The same failure has the same name.
    stage.conform(&slowly).exits(1);
    assert_eq!(kept(&stage), files);
    // And when it is mended, it passes.
    stage.set_mood(&[]);
    stage.conform(&["replay", &id]).exits(0);
}

#[test]
fn silence_is_made_small_too() {
    let stage = Stage::moody(&["--silent"]);
    // A busy machine is silent for a while, too.
    let slowly = [&ARGS[..], &["--timeout-scale", "3"]].concat();
    let said = stage.conform(&slowly).exits(1);
    let input = said.out.lines().find(|line| line.contains("\"tool_call\""));
    let input = input.unwrap_or_else(|| panic!("{}", said.out));
    assert!(input.contains("{\"text\":\"\",\"times\":"), "{input}");
    let files = kept(&stage);
    let id = files[0].strip_suffix(".zt.ndjson").unwrap();
    let said = stage.conform(&["replay", id]).exits(1);
    assert!(
        said.out.contains("no `tool_result` to a call of `repeat`"),
        "{}",
        said.out
    );
}

#[test]
fn where_nothing_can_be_kept_the_input_is_still_shown() {
    let stage = Stage::moody(&["--crash"]);
    std::fs::write(stage.path("home"), "a file where the directory would be").unwrap();
    let said = stage.conform(&ARGS).exits(1);
    assert!(said.out.contains("input:"), "{}", said.out);
    assert!(
        said.out
            .contains("repeat: zot-conform ext --only TOL-05 --profile full\n"),
        "{}",
        said.out
    );
}

#[test]
fn every_failure_says_how_to_repeat_it() {
    // A rule about every frame is broken again by the check that saw it broken.
    let stage = Stage::moody(&["--twice"]);
    let said = stage
        .conform(&["ext", "--only", "ROB-10", "--only", "CMD-01", "--seed", "7"])
        .exits(1);
    assert!(
        said.out
            .contains("repeat: zot-conform ext --only ROB-10 --only CMD-01 --seed 7\n"),
        "{}",
        said.out
    );
}
