//! `zot rpc`: runs the agent for another program.

use crate::{
    agent::{Mode, Start},
    args::Flags,
    rpc, running,
};

pub(super) fn run(flags: &Flags) -> anyhow::Result<()> {
    let start = Start::of(flags, Mode::Rpc)?;
    running::block_on(rpc::drive(start))
}
