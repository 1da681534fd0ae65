//! Selects the session from the flags.

use std::path::Path;

use anyhow::bail;
use zot_host::{
    home::Home,
    session::{Choice, Sessions},
};

use super::Mode;
use crate::{args::Flags, exit::Usage};

/// Returns the session, and whether to let the user pick another one from a list.
pub(super) fn choose(
    flags: &Flags,
    mode: Mode,
    home: &Home,
    cwd: &Path,
) -> anyhow::Result<(Choice, bool)> {
    let choice = match &flags.resume {
        Some(id) if !id.is_empty() => by_id(id, &Sessions::of(home, cwd))?,
        Some(_) if mode == Mode::Interactive => return Ok((Choice::New, true)),
        Some(_) => {
            let message = "--resume without an ID requires interactive mode\nhint: use --continue for the most recent session, or --resume=ID";
            return Err(Usage::new(message).into());
        }
        None if flags.go_on => Choice::Continue,
        None if flags.no_session => Choice::Off,
        None => match (&flags.session, mode) {
            (Some(path), _) => Choice::File(path.clone()),
            // A program that embeds the agent stores the conversation itself.
            (None, Mode::Rpc) => Choice::Off,
            (None, _) => Choice::New,
        },
    };
    Ok((choice, false))
}

fn by_id(id: &str, sessions: &Sessions) -> anyhow::Result<Choice> {
    let listed = sessions.list().sessions;
    let mut matching = listed.iter().filter(|entry| entry.head.id.starts_with(id));
    let id = id.escape_debug();
    match (matching.next(), matching.next()) {
        (Some(entry), None) => Ok(Choice::File(entry.path.clone())),
        (None, _) => bail!("no session in this directory has an ID starting with `{id}`"),
        (Some(_), Some(_)) => bail!("more than one session has an ID starting with `{id}`"),
    }
}
