//! `zot-conform run`: runs every check that applies.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write, stdout},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, bail};
use zot_conform::{
    Baseline, Exit, Form, Look, Report, observer, quoted, run as try_all, target::Target,
    transcript::Script,
};

use super::watch;
use crate::{args, progress, settings};

pub(super) fn run(args: &args::Run) -> anyhow::Result<ExitCode> {
    match &args.dir {
        Some(dir) if args.watch => {
            let reports = sinks(&args.report)?
                .into_iter()
                .filter_map(|(_, path)| path);
            let reports: Vec<PathBuf> = reports.collect();
            watch::again_and_again(dir, &reports, || once(args))
        }
        _ => once(args),
    }
}

fn once(args: &args::Run) -> anyhow::Result<ExitCode> {
    // Reject an invalid report format before starting anything.
    let sinks = sinks(&args.report)?;
    let known = args.baseline.as_deref().map(read_baseline).transpose()?;
    let mut report = report(args)?;
    if let Some(known) = &known {
        report.apply_baseline(known);
    }
    for (form, path) in &sinks {
        write(&report, *form, path.as_deref())?;
    }
    Ok(ExitCode::from(exit(&report)))
}

fn read_baseline(file: &Path) -> anyhow::Result<Baseline> {
    let text = fs::read_to_string(file);
    let text = text.with_context(|| format!("cannot read the baseline `{}`", file.display()))?;
    Ok(Baseline::parse(&text))
}

/// `zot-conform baseline`: writes a list of the current failures.
pub(super) fn baseline(file: &Path, args: &args::Run) -> anyhow::Result<ExitCode> {
    let report = report(args)?;
    match report.exit() {
        Exit::Conforms | Exit::Fails => {}
        // The run did not get far enough to list failures.
        _ => {
            write(&report, Form::Pretty, None)?;
            return Ok(ExitCode::from(exit(&report)));
        }
    }
    let text = Baseline::text_of(&report);
    let count = text.lines().filter(|line| !line.starts_with('#')).count();
    fs::write(file, text).with_context(|| format!("cannot write `{}`", file.display()))?;
    let s = if count == 1 { "" } else { "s" };
    println!("{count} known failure{s} in {}", file.display());
    Ok(ExitCode::SUCCESS)
}

fn report(args: &args::Run) -> anyhow::Result<Report> {
    let mut options = settings::options(args)?;
    let (target, shown) = match (&args.dir, args.command.as_slice()) {
        (Some(dir), _) => (Target::of_dir(dir), quoted(dir)),
        (None, []) => {
            bail!("nothing to test\nhint: run `zot-conform DIR` or `zot-conform run -- CMD ARGS`")
        }
        (None, command) => (Target::of_command(command), command.join(" ")),
    };
    if let Ok(target) = &target
        && target.manifest.is_some()
        && let Some(dir) = &args.dir
    {
        // Use the directory as the user gave it, because it is part of the paths in the report.
        let dir = if dir.is_dir() { dir } else { &target.dir };
        options.transcripts = Script::of_extension(dir)?;
    }
    if args.timing.verbose {
        options.observer = Some(observer(super::once::print));
    }
    let (line, progress) = progress::ProgressLine::start();
    let report = super::block_on(try_all(target, &shown, &options, progress))?;
    drop(line);
    let report = report.context("cannot start processes")?;
    if report.outcomes.is_empty() {
        bail!("no checks selected\nhint: run `zot-conform list` to see their ids");
    }
    Ok(report)
}

/// Returns the exit code of a run. Prints a message to stderr if the code needs an explanation.
pub(super) fn exit(report: &Report) -> u8 {
    let exit = report.exit();
    match exit {
        Exit::Harness => {
            let fault = report.fault.as_deref().unwrap_or_default();
            eprintln!("error: internal error in zot-conform: {fault}");
        }
        Exit::Nothing => eprintln!("error: no check was run, so nothing was tested"),
        _ => {}
    }
    exit as u8
}

/// The requested report formats and the path to write each to; `None` is standard output.
pub(super) fn sinks(given: &[String]) -> anyhow::Result<Vec<(Form, Option<PathBuf>)>> {
    if given.is_empty() {
        return Ok(vec![(Form::Pretty, None)]);
    }
    given
        .iter()
        .map(|given| {
            let (name, path) = match given.split_once('=') {
                Some((name, path)) => (name, Some(PathBuf::from(path))),
                None => (given.as_str(), None),
            };
            let Some(form) = Form::named(name) else {
                let names: Vec<&str> = Form::ALL.iter().map(|form| form.name()).collect();
                bail!(
                    "unknown report format `{name}`\nhint: available formats: {}",
                    names.join(", ")
                );
            };
            Ok((form, path))
        })
        .collect()
}

pub(super) fn write(report: &Report, form: Form, path: Option<&Path>) -> anyhow::Result<()> {
    let Some(path) = path else {
        let look = Look {
            colour: settings::colour(&stdout()),
            width: settings::width(),
        };
        let mut text = Vec::new();
        report.write(form, &mut text, look)?;
        return match stdout().write_all(&text) {
            // Ignore a broken pipe (`| head`).
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other.context("cannot write to standard output"),
        };
    };
    let written = File::create(path).and_then(|file| {
        let mut file = BufWriter::new(file);
        report.write(form, &mut file, Look::default())?;
        file.flush()
    });
    written.with_context(|| format!("cannot write `{}`", path.display()))
}
