//! `zot --json`: runs a prompt and prints each event as a line of JSON.

use std::sync::Arc;

use anyhow::bail;
use zot_host::{EventStream, Prompt};

use crate::{
    agent::{
        Gone, Mode, Outlet, Start,
        headless::{Headless, Note, Notes, failure, level_of, read_prompt, say},
    },
    args::{Agent, LogLevel},
    clean,
    exit::Exit,
    short_lived_host,
};

pub(super) fn run(args: &Agent) -> anyhow::Result<()> {
    let start = Start::of(&args.flags, Mode::Once)?;
    let prompt = read_prompt(&args.prompt)?;
    let log_level = start.log_level;
    short_lived_host::block_on(async {
        let notes = Arc::new(Notes::default());
        let mut outlet = Outlet::new();
        let mut agent = Headless::begin(start, notes.clone())?;
        let events = agent.runtime.prompt(Prompt::text(prompt))?;
        let followed = follow(&mut agent, events, &notes, &mut outlet, log_level).await;
        agent.runtime.cancel();
        let written = match followed {
            Ok(failed) => outlet.finish().await.map(|()| failed),
            Err(Gone) => Err(Gone),
        };
        agent.end().await?;
        match written {
            Err(Gone) => Err(Exit(Exit::BROKEN_PIPE).into()),
            Ok(Some(why)) => bail!(clean::text(&why)),
            Ok(None) => Ok(()),
        }
    })
}

/// Writes all events, and returns the error if the run failed.
async fn follow(
    agent: &mut Headless,
    mut events: EventStream,
    notes: &Notes,
    outlet: &mut Outlet,
    log_level: LogLevel,
) -> Result<Option<String>, Gone> {
    let mut failed = None;
    loop {
        while let Some(event) = events.ready() {
            failed = failure(&event).or(failed);
            outlet.tell(event).await?;
        }
        outlet.flush().await?;
        tokio::select! {
            biased;
            () = outlet.gone() => return Err(Gone),
            note = notes.next() => match note {
                Note::Event(event) => outlet.tell(event).await?,
                Note::Notice(level, message) => say(log_level, level_of(level), &message),
            },
            event = agent.next(&mut events) => match event {
                Some(event) => {
                    failed = failure(&event).or(failed);
                    outlet.tell(event).await?;
                }
                None => return Ok(failed),
            },
        }
    }
}
