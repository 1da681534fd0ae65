//! `zot-conform completions SHELL` and `zot-conform man DIR`.

use std::{
    fs,
    io::{Write, stdout},
    path::Path,
    process::ExitCode,
};

use anyhow::Context;
use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Args;

pub(super) fn completions(shell: Shell) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "zot-conform", &mut script);
    stdout().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn man(dir: &Path) -> anyhow::Result<ExitCode> {
    fs::create_dir_all(dir)
        .and_then(|()| clap_mangen::generate_to(Args::command(), dir))
        .with_context(|| format!("cannot write manual pages to {}", dir.display()))?;
    Ok(ExitCode::SUCCESS)
}
