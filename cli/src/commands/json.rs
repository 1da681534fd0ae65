//! `zot --json`: runs a prompt and prints each event as a line of JSON.

use std::sync::Arc;

use anyhow::bail;
use zot_host::{EventStream, Prompt};

use crate::{
    agent::{
        JsonOutput, Mode, OutputClosed, Start,
        headless::{Headless, NoteQueue, QueuedNote, failure, level_of, log_message, read_prompt},
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
        let notes = Arc::new(NoteQueue::default());
        let mut output = JsonOutput::new();
        let mut agent = Headless::begin(start, notes.clone())?;
        let events = agent.runtime.prompt(Prompt::text(prompt))?;
        let followed = follow(&mut agent, events, &notes, &mut output, log_level).await;
        agent.runtime.cancel();
        let written = match followed {
            Ok(failed) => output.finish().await.map(|()| failed),
            Err(OutputClosed) => Err(OutputClosed),
        };
        agent.end().await?;
        match written {
            Err(OutputClosed) => Err(Exit(Exit::BROKEN_PIPE).into()),
            Ok(Some(why)) => bail!(clean::text(&why)),
            Ok(None) => Ok(()),
        }
    })
}

/// Writes all events, and returns the error if the run failed.
async fn follow(
    agent: &mut Headless,
    mut events: EventStream,
    notes: &NoteQueue,
    output: &mut JsonOutput,
    log_level: LogLevel,
) -> Result<Option<String>, OutputClosed> {
    let mut failed = None;
    loop {
        while let Some(event) = events.ready() {
            failed = failure(&event).or(failed);
            output.send(event).await?;
        }
        output.flush().await?;
        tokio::select! {
            biased;
            () = output.closed() => return Err(OutputClosed),
            note = notes.next() => match note {
                QueuedNote::Event(event) => output.send(event).await?,
                QueuedNote::Notice(level, message) => log_message(log_level, level_of(level), &message),
            },
            event = agent.next(&mut events) => match event {
                Some(event) => {
                    failed = failure(&event).or(failed);
                    output.send(event).await?;
                }
                None => return Ok(failed),
            },
        }
    }
}
