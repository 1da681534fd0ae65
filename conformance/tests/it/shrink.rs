//! Failures are shrunk, stored, and replayed by id.

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
fn a_crash_is_shrunk_and_repeated() {
    let stage = Stage::configurable(&["--crash"]);
    // Allow enough time to find the smallest input on a busy machine. This does not slow the test
    // down, because a crash does not wait for a timeout.
    let slowly = [&ARGS[..], &["--timeout-scale", "100"]].concat();
    let output = stage.conform(&slowly).exits(1);
    insta::assert_snapshot!("a_crash", output.all());
    let files = kept(&stage);
    assert_eq!(files.len(), 1, "{files:?}");
    let id = files[0].strip_suffix(".zt.ndjson").unwrap().to_owned();
    insta::assert_snapshot!(
        "a_kept_crash",
        stage.tidy(&stage.read(&format!("home/conform/{id}.zt.ndjson")))
    );
    let output = stage.conform(&["replay", &id]).exits(1);
    insta::assert_snapshot!("a_repeated_crash", output.all());
    // The same failure has the same id.
    stage.conform(&slowly).exits(1);
    assert_eq!(kept(&stage), files);
    // Once the extension is fixed, the replay passes.
    stage.set_flags(&[]);
    stage.conform(&["replay", &id]).exits(0);
}

#[test]
fn a_missing_reply_is_shrunk_too() {
    let stage = Stage::configurable(&["--silent"]);
    // Use a larger time scale, because a slow extension on a busy machine looks like a silent one.
    let slowly = [&ARGS[..], &["--timeout-scale", "3"]].concat();
    let output = stage.conform(&slowly).exits(1);
    let input = output
        .out
        .lines()
        .find(|line| line.contains("\"tool_call\""));
    let input = input.unwrap_or_else(|| panic!("{}", output.out));
    assert!(input.contains("{\"text\":\"\",\"times\":"), "{input}");
    let files = kept(&stage);
    let id = files[0].strip_suffix(".zt.ndjson").unwrap();
    let output = stage.conform(&["replay", id]).exits(1);
    assert!(
        output
            .out
            .contains("no `tool_result` for a call to `repeat`"),
        "{}",
        output.out
    );
}

#[test]
fn the_input_is_shown_even_if_it_cannot_be_stored() {
    let stage = Stage::configurable(&["--crash"]);
    std::fs::write(stage.path("home"), "a file where the directory would be").unwrap();
    let output = stage.conform(&ARGS).exits(1);
    assert!(output.out.contains("input:"), "{}", output.out);
    assert!(
        output
            .out
            .contains("repeat: zot-conform ext --only TOL-05 --profile full\n"),
        "{}",
        output.out
    );
}

#[test]
fn every_failure_shows_how_to_repeat_it() {
    // The command also includes the check that was running when the rule was broken.
    let stage = Stage::configurable(&["--twice"]);
    let output = stage
        .conform(&["ext", "--only", "ROB-10", "--only", "CMD-01", "--seed", "7"])
        .exits(1);
    assert!(
        output
            .out
            .contains("repeat: zot-conform ext --only ROB-10 --only CMD-01 --seed 7\n"),
        "{}",
        output.out
    );
}
