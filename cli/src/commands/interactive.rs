//! `zot`: runs the agent interactively in a terminal.

use anyhow::Context;

use crate::{
    agent::{Mode, Start},
    args::Agent,
    exit::Usage,
    memory, tui,
};

pub(super) fn run(args: &Agent) -> anyhow::Result<()> {
    if !tui::is_terminal() {
        let message = "interactive mode needs a terminal\nhint: use zot -p PROMPT";
        return Err(Usage::new(message).into());
    }
    let start = Start::of(&args.flags, Mode::Interactive)?;
    // Run the agent on its own thread, so that the interface still responds to keys while the agent
    // and the extensions are busy.
    let runtime = memory::trim_after_activity(&mut tokio::runtime::Builder::new_multi_thread())
        .worker_threads(1)
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let ended = runtime.block_on(tui::run(start, &args.prompt.join(" ")));
    // Do not wait for threads that are blocked on a disk or a terminal.
    runtime.shutdown_background();
    ended
}
