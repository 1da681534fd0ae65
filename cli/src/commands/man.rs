//! `zot man DIR`: writes one manual page per command.

use std::{fs, path::Path};

use anyhow::Context;
use clap::CommandFactory;

use crate::args::Args;

pub(super) fn run(dir: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(dir)
        .and_then(|()| clap_mangen::generate_to(Args::command(), dir))
        .with_context(|| format!("cannot write manual pages to {}", dir.display()))
}
