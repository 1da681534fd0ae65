//! `zot-conform`, for authors of extensions.

use std::{
    fs::File,
    io::{self, BufReader, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context;
use clap::{Parser, Subcommand, ValueEnum};
use zot_conform::{Sender, StreamFinding, StreamSummary};

/// Does this extension keep the zot extension protocol?
#[derive(Debug, Parser)]
#[command(name = "zot-conform", version, arg_required_else_help = true)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check a stream of frames, one JSON object per line, against the schemas.
    ///
    /// Exit code: 0 all are valid, 1 some are not, 2 there was nothing to check.
    Validate {
        /// Who has sent the frames.
        #[arg(long, value_enum, default_value = "ext")]
        from: From,
        /// The file with the frames; `-` is standard input.
        file: PathBuf,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum From {
    /// An extension.
    Ext,
    /// A host.
    Host,
}

fn main() -> ExitCode {
    let Command::Validate { from, file } = Args::parse().command;
    let from = match from {
        From::Ext => Sender::Extension,
        From::Host => Sender::Host,
    };
    match validate(from, &file) {
        Ok(StreamSummary { frames: 0, .. }) => {
            eprintln!("error: no frames in `{}`", file.display());
            ExitCode::from(2)
        }
        Ok(summary) => ExitCode::from(u8::from(summary.refused > 0)),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn validate(from: Sender, file: &Path) -> anyhow::Result<StreamSummary> {
    let mut stdout = io::stdout().lock();
    // Who closes the pipe early, such as `head`, still gets the exit code.
    let report = |finding| {
        let _ = match finding {
            StreamFinding::Refused { line, why } => {
                writeln!(stdout, "✗ {}:{line}: {why}", file.display())
            }
            StreamFinding::Unknown { line, name } => {
                writeln!(
                    stdout,
                    "! {}:{line}: unknown type {name:?}, which a reader ignores",
                    file.display()
                )
            }
        };
    };
    let summary = if file == Path::new("-") {
        zot_conform::validate(io::stdin().lock(), from, report)
    } else {
        let opened =
            File::open(file).with_context(|| format!("cannot open `{}`", file.display()))?;
        zot_conform::validate(BufReader::new(opened), from, report)
    };
    let summary = summary.with_context(|| format!("cannot read `{}`", file.display()))?;
    if summary.frames > 0 {
        let _ = match summary.refused {
            0 => writeln!(stdout, "✓ {} frames, all valid", summary.frames),
            refused => writeln!(stdout, "{} frames, {refused} refused", summary.frames),
        };
    }
    Ok(summary)
}
