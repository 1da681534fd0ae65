//! `zot completions SHELL`: prints a script that makes the shell ask zot for completions, so that
//! installed extensions are completed too.

use anyhow::Context;
use clap_complete::env::Shells;

use crate::output;

/// The shell sets this variable when it asks for completions.
pub(crate) const VARIABLE: &str = "ZOT_COMPLETE";

pub(super) fn run(shell: &str) -> anyhow::Result<()> {
    let shells = Shells::builtins();
    let shell = shells
        .completer(shell)
        .with_context(|| format!("no completions for `{shell}`"))?;
    let mut script = Vec::new();
    shell.write_registration(VARIABLE, "zot", "zot", "zot", &mut script)?;
    output::print(&String::from_utf8_lossy(&script))
}
