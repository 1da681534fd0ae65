//! `zot --json`: runs a prompt to its end and prints each event as a line.

use std::sync::Arc;

use anyhow::bail;
use zot_host::Prompt;

use crate::{
    agent::{
        Gone, Mode, Outlet, Start,
        headless::{Headless, Note, Notes, failure, level_of, read_prompt, say},
    },
    args::{Agent, LogLevel},
    clean,
    exit::Exit,
    running,
};

pub(super) fn run(args: &Agent) -> anyhow::Result<()> {
    let start = Start::of(&args.flags, Mode::Once)?;
    let prompt = read_prompt(&args.prompt)?;
    let log_level = start.log_level;
    running::block_on(async {
        let notes = Arc::new(Notes::default());
        let mut outlet = Outlet::new();
        let mut agent = Headless::begin(start, notes.clone())?;
        let followed = follow(&mut agent, prompt, &notes, &mut outlet, log_level).await;
        agent.runtime.cancel();
        let told = outlet.finish().await;
        agent.end().await?;
        match (followed, told) {
            (Err(error), _) => Err(error),
            (Ok(_), Err(Gone)) => Err(Exit(Exit::BROKEN_PIPE).into()),
            (Ok(Some(why)), Ok(())) => bail!(clean::text(&why)),
            (Ok(None), Ok(())) => Ok(()),
        }
    })
}

/// Tells all events, and gives why the run has failed, if it has.
async fn follow(
    agent: &mut Headless,
    prompt: String,
    notes: &Notes,
    outlet: &mut Outlet,
    log_level: LogLevel,
) -> anyhow::Result<Option<String>> {
    let mut events = agent.runtime.prompt(Prompt::text(prompt))?;
    let mut failed = None;
    loop {
        while let Some(event) = events.ready() {
            failed = failure(&event).or(failed);
            if outlet.tell(event).await.is_err() {
                return Ok(failed);
            }
        }
        if outlet.flush().await.is_err() {
            return Ok(failed);
        }
        tokio::select! {
            biased;
            () = outlet.gone() => return Ok(failed),
            note = notes.next() => match note {
                Note::Event(event) => {
                    if outlet.tell(event).await.is_err() {
                        return Ok(failed);
                    }
                }
                Note::Notice(level, message) => say(log_level, level_of(level), &message),
            },
            event = agent.next(&mut events) => match event {
                Some(event) => {
                    failed = failure(&event).or(failed);
                    if outlet.tell(event).await.is_err() {
                        return Ok(failed);
                    }
                }
                None => return Ok(failed),
            },
        }
    }
}
