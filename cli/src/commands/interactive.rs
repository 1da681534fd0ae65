//! `zot`: the agent on a terminal.

use anyhow::Context;

use crate::{
    agent::{Mode, Start},
    args::Agent,
    exit::Usage,
    memory, tui,
};

pub(super) fn run(args: &Agent) -> anyhow::Result<()> {
    if !tui::is_terminal() {
        let message = "the interactive mode needs a terminal\nhint: zot -p PROMPT";
        return Err(Usage::new(message).into());
    }
    let start = Start::of(&args.flags, Mode::Interactive)?;
    // The agent has a thread of its own, so that whatever it and the extensions do, keys are answered at once.
    let runtime = memory::return_the_rest(&mut tokio::runtime::Builder::new_multi_thread())
        .worker_threads(1)
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let ended = runtime.block_on(tui::run(start, &args.prompt.join(" ")));
    // A thread that still waits for a disk or a terminal holds up nobody.
    runtime.shutdown_background();
    ended
}
