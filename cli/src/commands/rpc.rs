//! `zot rpc`: runs the agent for another program.

use crate::{
    agent::{Mode, Start},
    args::Flags,
    rpc, short_lived_host,
};

pub(super) fn run(flags: &Flags) -> anyhow::Result<()> {
    let start = Start::of(flags, Mode::Rpc)?;
    short_lived_host::block_on(rpc::drive(start))
}
