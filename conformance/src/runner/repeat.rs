//! The commands that repeat what was found.

use std::path::Path;

use super::Options;
use crate::{
    check::Profile,
    target::Target,
    transcript::{Script, file_name},
    verdict::{Outcome, Verdict},
};

/// A path as it is given back to the user, in a command that can be pasted.
pub fn quoted(path: &Path) -> String {
    word(&path.display().to_string())
}

fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./+:@%=,".contains(c);
    if text.chars().all(plain) && !text.is_empty() {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// Gives each failure a command, where it has none yet.
pub(super) fn give(outcomes: &mut [Outcome], shown: &str, is_command: bool, options: &Options) {
    for outcome in outcomes {
        let failed = matches!(
            outcome.verdict,
            Verdict::Fail | Verdict::Warn | Verdict::NotExercised
        );
        if failed
            && outcome.findings.iter().all(|it| it.repeat.is_none())
            && let Some(first) = outcome.findings.first_mut()
        {
            first.repeat = Some(only(&outcome.id, shown, is_command, options));
        }
    }
}

/// One check, tried as in this run.
fn only(id: &str, shown: &str, is_command: bool, options: &Options) -> String {
    let mut flags = format!("--only {}", word(id));
    if options.profile != Profile::default() {
        flags.push_str(&format!(" --profile {}", options.profile));
    }
    if options.seed != 0 {
        flags.push_str(&format!(" --seed {}", options.seed));
    }
    if is_command {
        format!("zot-conform run {flags} -- {shown}")
    } else {
        format!("zot-conform {shown} {flags}")
    }
}

/// The id of a failure that was kept.
pub(super) fn kept(script: &Script, store: Option<&Path>) -> Option<String> {
    let is_kept = store.is_some() && script.path.parent() == store;
    is_kept.then(|| file_name(&script.path))
}

/// One transcript against this extension; a stored one goes by its id.
pub(super) fn replay(script: &Script, target: &Target, store: Option<&Path>) -> String {
    let file = match kept(script, store) {
        Some(id) => word(&id),
        None => quoted(&script.path),
    };
    let derived = script.extension().and_then(|dir| dir.canonicalize().ok());
    if derived.as_ref() == Some(&target.dir) {
        format!("zot-conform replay {file}")
    } else {
        format!("zot-conform replay {file} {}", word(&target.shown))
    }
}
