//! `zot-conform validate`: validates a stream of frames against the schemas.

use std::{
    fs::File,
    io::{self, BufReader, Write},
    path::Path,
    process::ExitCode,
};

use anyhow::Context;
use zot_conform::{Sender, StreamFinding, StreamSummary};

pub(super) fn validate(from: Sender, file: &Path) -> ExitCode {
    match read(from, file) {
        Ok(StreamSummary { frames: 0, .. }) => {
            eprintln!("error: no frames in {}", name(file));
            ExitCode::from(2)
        }
        Ok(summary) => ExitCode::from(u8::from(summary.refused > 0)),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn read(from: Sender, file: &Path) -> anyhow::Result<StreamSummary> {
    let mut stdout = io::stdout().lock();
    // Ignore a broken pipe (`| head`), so that the exit code still shows the result.
    let report = |finding| {
        let _ = match finding {
            StreamFinding::Refused { line, why } => {
                writeln!(stdout, "✗ {}:{line}: {why}", file.display())
            }
            StreamFinding::Unknown { line, name } => {
                writeln!(
                    stdout,
                    "! {}:{line}: unknown type {name:?}, which is ignored",
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
    let summary = summary.with_context(|| format!("cannot read {}", name(file)))?;
    let _ = match (summary.frames, summary.refused) {
        (0, _) => Ok(()),
        (1, 0) => writeln!(stdout, "✓ 1 frame, valid"),
        (1, _) => writeln!(stdout, "1 frame, invalid"),
        (frames, 0) => writeln!(stdout, "✓ {frames} frames, all valid"),
        (frames, refused) => writeln!(stdout, "{frames} frames, {refused} invalid"),
    };
    Ok(summary)
}

fn name(file: &Path) -> String {
    if file == Path::new("-") {
        "standard input".to_owned()
    } else {
        format!("`{}`", file.display())
    }
}
