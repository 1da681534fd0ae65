//! `zot -p`: runs a prompt and prints only the final answer.

use std::{cell::RefCell, sync::Arc, time::Duration};

use zot_host::Prompt;
use zot_protocol::rpc;

use crate::{
    agent::{
        Mode, Start,
        headless::{
            Deadline, Headless, NoteQueue, Outcome, OutputSchema, QueuedNote, level_of,
            log_message, read_prompt,
        },
    },
    args::{Agent, LogLevel},
    clean, output, short_lived_host,
    spinner::with_spinner,
};

pub(super) fn run(args: &Agent) -> anyhow::Result<()> {
    let deadline = Deadline::start(args.timeout);
    let start = Start::of(&args.flags, Mode::Once)?;
    let prompt = read_prompt(&args.prompt, &deadline)?;
    let schema = args.output_schema.as_deref().map(OutputSchema::read);
    let mut schema = schema.transpose()?;
    let log_level = start.log_level;
    short_lived_host::block_on(async {
        let notes = Arc::new(NoteQueue::default());
        let mut agent = Headless::begin(start, notes.clone(), deadline)?;
        let mut watcher = Watcher::new(log_level);
        let mut next = Some(match &schema {
            Some(schema) => schema.prompt(&prompt),
            None => Prompt::text(prompt),
        });
        while let Some(prompt) = next.take() {
            let mut events = agent.runtime.prompt(prompt)?;
            let doing = watcher.doing.clone();
            let following = async {
                loop {
                    tokio::select! {
                        biased;
                        note = notes.next() => log(log_level, note),
                        event = agent.next(&mut events) => match event {
                            Some(event) => watcher.observe(&event),
                            None => break,
                        }
                    }
                }
            };
            with_spinner(|| doing.borrow().clone(), following).await;
            let checked = schema.as_mut().filter(|_| !agent.is_ending());
            if let Some((repair, why)) = checked.and_then(|it| it.check(&mut watcher.outcome)) {
                let message = format!("the answer does not match the schema, asking again: {why}");
                log_message(log_level, LogLevel::Warn, &message);
                next = Some(repair);
            }
        }
        // Print the answer now: stopping the extensions can take a while.
        let printed = if agent.is_ending() {
            // The last message is not the answer.
            Ok(())
        } else {
            let text = watcher.text();
            let printing = tokio::task::spawn_blocking(move || output::print(&text));
            agent.write(printing).await.unwrap_or(Ok(Ok(())))?
        };
        let ended = agent.end().await;
        while let Some(note) = notes.take() {
            log(log_level, note);
        }
        ended?;
        printed?;
        watcher.outcome.into_result()
    })
}

/// Collects the output of a run.
struct Watcher {
    log_level: LogLevel,
    /// What the agent is doing, for the spinner.
    doing: std::rc::Rc<RefCell<String>>,
    outcome: Outcome,
}

impl Watcher {
    fn new(log_level: LogLevel) -> Self {
        Self {
            log_level,
            doing: std::rc::Rc::new(RefCell::new("starting".to_owned())),
            outcome: Outcome::default(),
        }
    }

    fn observe(&mut self, event: &rpc::Event) {
        self.outcome.observe(event);
        match event {
            rpc::Event::TurnStart(turn) => {
                self.set_activity(format!("waiting for the model, step {}", turn.step));
            }
            rpc::Event::ToolCall(call) => {
                let args = clean::json(&serde_json::Value::Object(call.args.clone()));
                self.log(LogLevel::Debug, &format!("{} {args}", call.name));
                self.set_activity(format!("running {}", clean::line(&call.name)));
            }
            rpc::Event::ToolResult(result) => {
                let status = result.status.as_ref().map_or("", |status| status.as_str());
                self.log(LogLevel::Debug, &format!("{}: {status}", result.id));
            }
            rpc::Event::Retry(retry) => {
                let seconds = Duration::from_millis(retry.wait_ms).as_secs_f64();
                let message = format!("{}: trying again in {seconds:.1} s", retry.message);
                self.log(LogLevel::Warn, &message);
                self.set_activity(format!(
                    "waiting to try again: {}",
                    clean::line(&retry.message)
                ));
            }
            rpc::Event::CompactDone(_) => {
                self.log(LogLevel::Info, "the conversation was compacted");
            }
            _ => {}
        }
    }

    fn log(&self, level: LogLevel, message: &str) {
        log_message(self.log_level, level, message);
    }

    fn set_activity(&self, what: String) {
        *self.doing.borrow_mut() = what;
    }

    /// Returns the final answer with one trailing newline, or nothing if it is blank.
    fn text(&self) -> String {
        let text = clean::text(self.outcome.answer().unwrap_or_default());
        match text.trim_end() {
            "" => String::new(),
            text => format!("{text}\n"),
        }
    }
}

/// Logs a note to standard error.
fn log(wanted: LogLevel, note: QueuedNote) {
    match note {
        QueuedNote::Event(rpc::Event::ExtNotify(note)) => {
            let message = format!("[{}] {}", note.extension, note.message);
            log_message(wanted, level_of(note.level), &message);
        }
        QueuedNote::Event(rpc::Event::ExtToolCall(call)) => {
            let args = serde_json::Value::Object(call.args);
            let message = format!("[{}] is calling {}: {args}", call.extension, call.name);
            log_message(wanted, LogLevel::Info, &message);
        }
        QueuedNote::Event(_) => {}
        QueuedNote::Notice(level, message) => log_message(wanted, level_of(level), &message),
    }
}
