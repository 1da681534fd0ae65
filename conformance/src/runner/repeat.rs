//! Commands that reproduce a failure.

use std::{collections::HashMap, path::Path};

use super::Options;
use crate::{
    check::Profile,
    target::Target,
    transcript::{Script, file_name},
    verdict::{Outcome, Verdict},
};

/// Quotes a path for a shell command.
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

/// Adds a reproduction command to each failure that does not have one.
pub(super) fn give(
    outcomes: &mut [Outcome],
    sources: &HashMap<&str, &str>,
    shown: &str,
    is_command: bool,
    options: &Options,
) {
    for outcome in outcomes {
        let failed = matches!(
            outcome.verdict,
            Verdict::Fail | Verdict::Warn | Verdict::NotExercised
        );
        if failed
            && outcome.findings.iter().all(|it| it.repeat.is_none())
            && let Some(first) = outcome.findings.first_mut()
        {
            let id = outcome.id.as_str();
            let ids: Vec<&str> = [id].into_iter().chain(sources.get(id).copied()).collect();
            first.repeat = Some(only(&ids, shown, is_command, options));
        }
    }
}

/// A command that runs these checks with the options of this run.
fn only(ids: &[&str], shown: &str, is_command: bool, options: &Options) -> String {
    let ids: Vec<String> = ids
        .iter()
        .map(|id| format!("--only {}", word(id)))
        .collect();
    let mut flags = ids.join(" ");
    if options.profile != Profile::default() {
        flags.push_str(&format!(" --profile {}", options.profile.as_str()));
    }
    if let Some(patience) = options.reply_timeout {
        flags.push_str(&format!(" --reply-timeout {}", patience.as_secs_f64()));
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

/// The id of a saved failure; `None` for any other transcript.
pub(super) fn kept(script: &Script, store: Option<&Path>) -> Option<String> {
    let is_kept = store.is_some() && script.path.parent() == store;
    is_kept.then(|| file_name(&script.path))
}

/// A command that replays a transcript. A saved failure is identified by its id.
pub(super) fn replay(script: &Script, target: &Target, store: Option<&Path>) -> String {
    with_script("replay", script, target, store)
}

/// A command that updates a transcript; `None` for a saved failure, which is only stored so that it
/// can be reproduced.
pub(super) fn accept(script: &Script, target: &Target, store: Option<&Path>) -> Option<String> {
    let command = || with_script("accept", script, target, store);
    kept(script, store).is_none().then(command)
}

fn with_script(verb: &str, script: &Script, target: &Target, store: Option<&Path>) -> String {
    let file = match kept(script, store) {
        Some(id) => word(&id),
        None => quoted(&script.path),
    };
    let derived = script.extension().and_then(|dir| dir.canonicalize().ok());
    if derived.as_ref() == Some(&target.dir) {
        format!("zot-conform {verb} {file}")
    } else {
        format!("zot-conform {verb} {file} {}", word(&target.shown))
    }
}
