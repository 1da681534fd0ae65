//! `zot-conform record`: acts as the host, from a script or interactively.

use std::{
    fs,
    io::{self, BufRead, IsTerminal, Read, Write},
    process::ExitCode,
    thread,
};

use anyhow::{Context, bail};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use zot_conform::{
    Entry, HELP, LineError, LineOutcome, Recording, observer,
    target::Target,
    transcript::{Transcript, Verb, file_name, save},
};

use super::once;
use crate::{args, settings};

pub(super) fn record(args: &args::Record) -> anyhow::Result<ExitCode> {
    let (scale, startup) = settings::timing(&args.timing)?;
    if args.output.exists() && !args.force {
        bail!(
            "`{}` already exists\nhint: use --force to overwrite it",
            args.output.display()
        );
    }
    let typed = args.script.is_none() && io::stdin().is_terminal();
    let lines = match &args.script {
        Some(path) => {
            fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?
        }
        None if typed => String::new(),
        None => {
            let mut lines = String::new();
            let read = io::stdin().read_to_string(&mut lines);
            read.context("cannot read the script from standard input")?;
            lines
        }
    };
    let target = Target::of_dir(&args.dir)?;
    let name = file_name(&args.output);
    let observer = if typed {
        Some(observer(print_over_prompt))
    } else {
        args.timing.verbose.then(|| observer(once::print))
    };
    let recorded = super::block_on(async {
        let begun = Recording::begin(target, &name, scale, startup, observer).await;
        let mut recording = match begun {
            Ok(recording) => recording,
            Err(finding) => {
                once::complain("error", &finding);
                return Ok(Err(3));
            }
        };
        let played = if typed {
            by_hand(&mut recording).await
        } else {
            by_script(&mut recording, &lines).await
        };
        match played {
            Ok(()) => Ok(Ok(recording.finish().await)),
            Err(LineError::Failed(finding)) => {
                once::complain("error", &finding);
                Ok(Err(1))
            }
            Err(LineError::Refused(why)) => bail!("{why}"),
        }
    })?;
    let (transcript, broken) = match recorded? {
        Ok(recorded) => recorded,
        Err(code) => {
            eprintln!("nothing was written");
            return Ok(ExitCode::from(code));
        }
    };
    for finding in &broken {
        once::complain("warning", finding);
    }
    if let Some(folder) = args.output.parent() {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot create `{}`", folder.display()))?;
    }
    save(&args.output, &transcript.to_text())
        .with_context(|| format!("cannot write `{}`", args.output.display()))?;
    let (sent, expected) = counts(&transcript);
    let s = if sent == 1 { "" } else { "s" };
    println!(
        "✓ {}: {sent} frame{s} to the extension, {expected} from it",
        args.output.display()
    );
    Ok(ExitCode::SUCCESS)
}

fn counts(transcript: &Transcript) -> (usize, usize) {
    let count = |is: fn(&Verb) -> bool| {
        let steps = transcript.steps.iter();
        steps.filter(|step| is(&step.verb)).count()
    };
    (
        count(|verb| matches!(verb, Verb::Send(_))),
        count(|verb| matches!(verb, Verb::Expect(_))),
    )
}

async fn by_script(recording: &mut Recording, lines: &str) -> Result<(), LineError> {
    for (number, line) in (1..).zip(lines.lines()) {
        match recording.run_line(line).await {
            Ok(LineOutcome::Ended) => break,
            Ok(_) => {}
            Err(LineError::Refused(why)) => {
                return Err(LineError::Refused(format!(
                    "line {number} of the script: {why}"
                )));
            }
            Err(LineError::Failed(finding)) => {
                let finding = finding.prefixed(format_args!("line {number} of the script"));
                return Err(LineError::Failed(Box::new(finding)));
            }
        }
    }
    Ok(())
}

async fn by_hand(recording: &mut Recording) -> Result<(), LineError> {
    wipe();
    println!("{HELP}\n");
    let mut lines = keyboard();
    let mut ended = false;
    prompt();
    // Remove the prompt at the end, so that later output starts on a new line.
    let _wiped = Wiped;
    loop {
        let line = tokio::select! {
            line = lines.recv() => line,
            () = recording.record_incoming(), if !ended => {
                ended = true;
                wipe();
                println!("(the extension closed its output)");
                prompt();
                continue;
            }
        };
        let Some(line) = line else { break };
        match recording.send_line(&line).await {
            Ok(LineOutcome::Ended) => break,
            Ok(LineOutcome::Help) => {
                wipe();
                println!("{HELP}");
            }
            Ok(LineOutcome::Done) => {}
            // An invalid line does not end the recording.
            Err(LineError::Refused(why)) => {
                wipe();
                println!("{why}");
            }
            Err(failed @ LineError::Failed(_)) => return Err(failed),
        }
        wipe();
        prompt();
    }
    Ok(())
}

/// Prints a frame above the prompt, because it may arrive while the user is typing.
fn print_over_prompt(entry: &Entry) {
    wipe();
    once::print(entry);
    prompt();
}

struct Wiped;

impl Drop for Wiped {
    fn drop(&mut self) {
        wipe();
    }
}

fn wipe() {
    print!("\r\x1b[2K");
}

fn prompt() {
    print!("> ");
    let _ = io::stdout().flush();
}

/// Reads stdin in a separate thread, because a blocking read cannot be cancelled.
fn keyboard() -> UnboundedReceiver<String> {
    let (to, lines) = unbounded_channel();
    thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            if to.send(line).is_err() {
                break;
            }
        }
    });
    lines
}
