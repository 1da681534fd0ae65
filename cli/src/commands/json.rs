//! `zot --json`: runs a prompt and prints each event as a line of JSON.

use std::sync::Arc;

use zot_host::{EventStream, Prompt};
use zot_protocol::rpc;

use crate::{
    agent::{
        JsonOutput, Mode, OutputClosed, Start,
        headless::{
            Deadline, Headless, NoteQueue, Outcome, OutputSchema, QueuedNote, level_of,
            log_message, read_prompt,
        },
    },
    args::{Agent, LogLevel},
    exit::Exit,
    short_lived_host,
};

pub(super) fn run(args: &Agent) -> anyhow::Result<()> {
    let deadline = Deadline::start(args.timeout);
    let start = Start::of(&args.flags, Mode::Once)?;
    let prompt = read_prompt(&args.prompt, &deadline)?;
    let schema = args.output_schema.as_deref().map(OutputSchema::read);
    let schema = schema.transpose()?;
    let log_level = start.log_level;
    short_lived_host::block_on(async {
        let notes = Arc::new(NoteQueue::default());
        let mut agent = Headless::begin(start, notes.clone(), deadline)?;
        let mut run = Run {
            agent: &mut agent,
            notes: &notes,
            output: JsonOutput::new(),
            log_level,
            outcome: Outcome::default(),
        };
        let followed = run.prompts(&prompt, schema).await;
        let Run {
            output, outcome, ..
        } = run;
        agent.runtime.cancel();
        let written = match followed {
            Ok(()) => {
                let finished = agent.write(output.finish()).await;
                finished
                    .unwrap_or(Err(OutputClosed))
                    .map_err(anyhow::Error::from)
            }
            Err(error) => Err(error),
        };
        agent.end().await?;
        match written {
            Err(error) if error.is::<OutputClosed>() => Err(Exit(Exit::BROKEN_PIPE).into()),
            Err(error) => Err(error),
            Ok(()) => outcome.into_result(),
        }
    })
}

/// A run of the agent.
struct Run<'r> {
    agent: &'r mut Headless,
    notes: &'r NoteQueue,
    output: JsonOutput,
    log_level: LogLevel,
    outcome: Outcome,
}

impl Run<'_> {
    /// Runs the prompt, and a second prompt if the answer does not match the schema. Sends `done`
    /// only once, as the last event.
    async fn prompts(
        &mut self,
        prompt: &str,
        mut schema: Option<OutputSchema>,
    ) -> anyhow::Result<()> {
        let state = self.agent.runtime.state().await;
        if let Some(id) = state.session_id {
            self.send(rpc::Session::new(id).into()).await?;
        }
        let mut next = Some(match &schema {
            Some(schema) => schema.prompt(prompt),
            None => Prompt::text(prompt),
        });
        let mut done = rpc::Done::default();
        while let Some(prompt) = next.take() {
            let events = self.agent.runtime.prompt(prompt)?;
            self.follow(events).await?;
            if self.agent.is_ending() {
                break;
            }
            let Some(schema) = &mut schema else { break };
            next = schema.check(&mut self.outcome).map(|(repair, _)| repair);
            done.output = self.outcome.output.take();
        }
        self.send(done.into()).await?;
        Ok(())
    }

    /// Writes all events of a prompt except `done`.
    async fn follow(&mut self, mut events: EventStream) -> Result<(), OutputClosed> {
        loop {
            while let Some(event) = events.ready() {
                self.event(event).await?;
            }
            let flushed = self.agent.write(self.output.flush()).await;
            flushed.unwrap_or(Err(OutputClosed))?;
            tokio::select! {
                biased;
                () = self.output.closed() => return Err(OutputClosed),
                note = self.notes.next() => match note {
                    QueuedNote::Event(event) => self.send(event).await?,
                    QueuedNote::Notice(level, message) => {
                        log_message(self.log_level, level_of(level), &message);
                    }
                },
                event = self.agent.next(&mut events) => match event {
                    Some(event) => self.event(event).await?,
                    None => return Ok(()),
                },
            }
        }
    }

    async fn event(&mut self, event: rpc::Event) -> Result<(), OutputClosed> {
        self.outcome.observe(&event);
        match event {
            rpc::Event::Done(_) => Ok(()),
            event => self.send(event).await,
        }
    }

    /// Writes an event. A reader that still does not read after the deadline counts as gone.
    async fn send(&mut self, event: rpc::Event) -> Result<(), OutputClosed> {
        let sent = self.agent.write(self.output.send(event)).await;
        sent.unwrap_or(Err(OutputClosed))
    }
}
