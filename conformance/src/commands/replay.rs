//! `zot-conform replay`: replays transcripts against an extension or a host.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, bail, ensure};
use zot_conform::{
    Options, Profile, Selection, Verdict, observer, play_extension, quoted, run as try_all,
    target::{MANIFEST, Target},
    transcript::{LoadError, SUFFIX, Script},
    visible,
};

use super::{once, run};
use crate::{
    args::{self, Timing},
    progress, settings,
};

pub(super) fn replay(args: &args::Replay) -> anyhow::Result<ExitCode> {
    if args.as_extension {
        let [file] = args.files.as_slice() else {
            bail!("--as-extension takes one transcript and no directory");
        };
        return as_extension(&load(file)?, &args.timing);
    }
    let sinks = run::sinks(&args.report)?;
    let (files, dir) = match args.files.as_slice() {
        [only] if is_extension(only) => bail!(
            "`{}` is not a transcript\nhint: `zot-conform {}` replays the transcripts in its `conform` directory",
            only.display(),
            quoted(only)
        ),
        [files @ .., dir] if is_extension(dir) => (files, Some(dir.clone())),
        files => (files, None),
    };
    let scripts: Vec<Script> = files
        .iter()
        .map(|file| load(file))
        .collect::<anyhow::Result<_>>()?;
    let dir = match dir {
        Some(dir) => dir,
        None => extension_of(&scripts)?,
    };
    let (scale, startup) = settings::timing(&args.timing)?;
    ensure!(args.jobs != Some(0), "--jobs must be at least 1");
    let options = Options {
        profile: Profile::default(),
        seed: 0,
        keep_going: false,
        scale,
        startup,
        reply_timeout: None,
        jobs: args.jobs.unwrap_or(settings::JOBS),
        strict: args.strict,
        selection: Selection {
            only: vec!["transcript/*".to_owned()],
            ..Selection::default()
        },
        observer: args.timing.verbose.then(|| observer(once::print)),
        transcripts: scripts,
        store: settings::store(),
    };
    let (line, progress) = progress::ProgressLine::start();
    let shown = quoted(&dir);
    let played = try_all(Target::of_dir(&dir), &shown, &options, progress);
    let report = super::block_on(played)?;
    drop(line);
    let report = report.context("cannot start processes")?;
    for (form, path) in &sinks {
        run::write(&report, *form, path.as_deref())?;
    }
    // Report why a requested transcript was not replayed.
    for outcome in &report.outcomes {
        if outcome.verdict == Verdict::NotApplicable {
            let why: Vec<&str> = outcome.findings.iter().map(|it| it.what.as_str()).collect();
            eprintln!("{}: {}", visible(&outcome.id), visible(&why.join("; ")));
        }
    }
    Ok(ExitCode::from(run::exit(&report)))
}

/// Loads a transcript from a file, or a saved failure by id.
fn load(file: &Path) -> anyhow::Result<Script> {
    if !file.exists()
        && let Some(id) = file.to_str().filter(|id| !id.contains(['/', '.']))
        && let Some(store) = settings::store()
    {
        let kept = store.join(format!("{id}{SUFFIX}"));
        return match Script::load(&kept) {
            Err(LoadError::Unread { .. }) => {
                bail!("no file or saved failure named `{id}`")
            }
            other => Ok(other?),
        };
    }
    Ok(Script::load(file)?)
}

fn is_extension(path: &Path) -> bool {
    path.is_dir() || path.file_name().is_some_and(|name| name == MANIFEST)
}

/// The extension that all transcripts belong to.
pub(super) fn extension_of(scripts: &[Script]) -> anyhow::Result<PathBuf> {
    let mut found: Option<PathBuf> = None;
    for script in scripts {
        let Some(dir) = script.extension() else {
            bail!(
                "`{}` does not specify its extension\nhint: pass the extension's directory after the transcript",
                script.path.display()
            );
        };
        match &found {
            Some(other) if other.canonicalize().ok() != dir.canonicalize().ok() => bail!(
                "the transcripts are for different extensions, `{}` and `{}`\nhint: replay them separately, or pass one extension directory to use for all of them",
                other.display(),
                dir.display()
            ),
            Some(_) => {}
            None => found = Some(dir),
        }
    }
    found.context("no transcript given")
}

/// Acts as the extension on stdin and stdout.
fn as_extension(script: &Script, timing: &Timing) -> anyhow::Result<ExitCode> {
    let (scale, _) = settings::timing(timing)?;
    // A host starts us in the manifest's directory and expects the manifest's name.
    let own = Target::of_dir(Path::new("."));
    let own = own.ok().and_then(|own| own.name().map(str::to_owned));
    let name = own.unwrap_or_else(|| script.name());
    let mut fits = true;
    let label = script.path.display().to_string();
    let ended = super::block_on(play_extension(
        &script.transcript,
        &name,
        &label,
        scale,
        tokio::io::BufReader::new(tokio::io::stdin()),
        tokio::io::stdout(),
        |finding| {
            fits = false;
            once::complain("error", &finding);
        },
    ))?;
    ended.context("cannot communicate with the host")?;
    Ok(ExitCode::from(u8::from(!fits)))
}
