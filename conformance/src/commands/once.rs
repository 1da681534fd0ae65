//! `zot-conform call`, `command`, `intercept`: one exchange, printed as frames.

use std::{
    io::{Write, stdout},
    path::Path,
    process::ExitCode,
};

use anyhow::{Context, bail};
use serde_json::{Map, Value};
use zot_conform::{Action, Ask, Entry, Finding, Party, observer, target::Target};

use crate::{args::Timing, settings};

/// Parses a JSON object from the command line.
pub(super) fn object(json: Option<&str>) -> anyhow::Result<Option<Map<String, Value>>> {
    let Some(json) = json else {
        return Ok(None);
    };
    match serde_json::from_str(json).with_context(|| format!("not JSON: {json}"))? {
        Value::Object(object) => Ok(Some(object)),
        _ => bail!("not a JSON object: {json}"),
    }
}

/// Sends one request and prints the frames.
pub(super) fn ask(dir: &Path, ask: &Ask, timing: &Timing) -> anyhow::Result<ExitCode> {
    let (scale, startup) = settings::timing(timing)?;
    let target = Target::of_dir(dir)?;
    let asked = zot_conform::once(&target, ask, scale, startup, observer(print));
    match super::block_on(asked)? {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(finding) => {
            complain("error", &finding);
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Prints a finding to stderr.
pub(super) fn complain(label: &str, finding: &Finding) {
    eprintln!("{label}: {}", zot_conform::visible(&finding.what));
    if let Some((frame, _)) = &finding.frame {
        eprintln!("  {}", zot_conform::visible(frame));
    }
    if let Some(hint) = &finding.hint {
        eprintln!("hint: {hint}");
    }
    if let Some(stderr) = &finding.stderr {
        eprintln!("{}", zot_conform::console(stderr));
    }
}

/// Prints an entry. `→` marks frames to the extension, `←` frames from it.
pub(super) fn print(entry: &Entry) {
    let arrow = match entry.who {
        Party::Host => '→',
        Party::Extension => '←',
    };
    let text = match &entry.action {
        Action::Line(text, bytes) if text.len() < *bytes => {
            format!("{} … ({bytes} bytes)", zot_conform::visible(text))
        }
        Action::Line(text, _) => zot_conform::visible(text).into_owned(),
        Action::Note(note) => format!("({note})"),
    };
    let _ = writeln!(stdout(), "{arrow} {text}");
}
