//! `zot-conform run`: every check that applies.

use std::{path::Path, process::ExitCode};

use anyhow::bail;
use zot_conform::{onlooker, run as try_all, target::Target};

use crate::{args, progress, settings};

pub(super) fn run(args: &args::Run) -> anyhow::Result<ExitCode> {
    let mut options = settings::options(args)?;
    let (target, shown) = match (&args.dir, args.command.as_slice()) {
        (Some(dir), _) => (Target::of_dir(dir), settings::quoted(dir)),
        (None, []) => {
            bail!("nothing to test\nhint: zot-conform DIR, or zot-conform run -- CMD ARGS")
        }
        (None, command) => (Target::of_command(command), command.join(" ")),
    };
    if args.timing.verbose {
        options.onlooker = Some(onlooker(super::once::print));
    }
    let runtime = super::runtime()?;
    let (line, progress) = progress::Line::start();
    let report = runtime.block_on(try_all(target, &shown, &options, progress));
    line.end();
    let report = report?;
    for o in &report.outcomes {
        println!("{} {} {} {}", o.verdict.sign(), o.id, o.title, o.verdict);
        for f in &o.findings {
            println!("     {} {:?} {:?} {:?}", f.what, f.frame, f.hint, f.stderr);
        }
    }
    println!("{:?} {:?}", report.counts(), report.took);
    let _ = Path::new("");
    Ok(ExitCode::from(report.exit() as u8))
}
