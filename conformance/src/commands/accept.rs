//! `zot-conform accept`: updates a transcript with what the extension sends now.

use std::{path::Path, process::ExitCode};

use anyhow::Context;
use zot_conform::{
    observer, replay_and_accept,
    target::Target,
    transcript::{Script, save},
};

use super::{once, replay};
use crate::{args::Timing, settings};

pub(super) fn accept(file: &Path, dir: Option<&Path>, timing: &Timing) -> anyhow::Result<ExitCode> {
    let (scale, startup) = settings::timing(timing)?;
    let script = Script::load(file)?;
    let dir = match dir {
        Some(dir) => dir.to_owned(),
        None => replay::extension_of(std::slice::from_ref(&script))?,
    };
    let target = Target::of_dir(&dir)?;
    let observer = timing.verbose.then(|| observer(once::print));
    let seen = replay_and_accept(&target, &script, scale, startup, observer);
    let text = match super::block_on(seen)? {
        Ok(text) => text,
        Err(finding) => {
            once::complain("error", &finding);
            eprintln!("`{}` was not changed", file.display());
            return Ok(ExitCode::FAILURE);
        }
    };
    let lines = script.text.lines().zip(text.lines());
    let changed = lines.filter(|(before, after)| before != after).count();
    if changed == 0 {
        println!(
            "✓ {}: everything matches; nothing to accept",
            file.display()
        );
        return Ok(ExitCode::SUCCESS);
    }
    save(file, &text).with_context(|| format!("cannot write `{}`", file.display()))?;
    let lines = if changed == 1 { "line" } else { "lines" };
    println!("✓ {}: {changed} {lines} changed", file.display());
    Ok(ExitCode::SUCCESS)
}
