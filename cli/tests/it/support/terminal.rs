//! Runs `zot` in a terminal.

use super::{RunOutput, World};

/// Runs `zot` in a terminal of this width, and types the answers to its questions.
pub(crate) fn zot(world: &World, columns: u16, answers: &[&str], args: &[&str]) -> RunOutput {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/support/terminal.py");
    let output = world
        .command("python3")
        .arg(program)
        .arg(columns.to_string())
        .arg(answers.join(","))
        .arg(env!("CARGO_BIN_EXE_zot"))
        .args(args)
        .output()
        .expect("failed to start python3");
    let mut ran = RunOutput::of(output);
    ran.out = ran.out.replace("\r\n", "\n");
    ran
}
