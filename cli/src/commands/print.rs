//! `zot -p`: runs a prompt and prints only the final answer.

use std::{cell::RefCell, sync::Arc};

use anyhow::bail;
use zot_host::Prompt;
use zot_protocol::{StopReason, rpc};

use crate::{
    agent::{
        Mode, Start,
        headless::{Headless, NoteQueue, QueuedNote, failure, level_of, log_message, read_prompt},
    },
    args::{Agent, LogLevel},
    clean, output, short_lived_host,
    spinner::with_spinner,
};

pub(super) fn run(args: &Agent) -> anyhow::Result<()> {
    let start = Start::of(&args.flags, Mode::Once)?;
    let prompt = read_prompt(&args.prompt)?;
    let log_level = start.log_level;
    short_lived_host::block_on(async {
        let notes = Arc::new(NoteQueue::default());
        let mut agent = Headless::begin(start, notes.clone())?;
        let mut watcher = Watcher::new(log_level);
        let mut events = agent.runtime.prompt(Prompt::text(prompt))?;
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
        // Print this before stopping the extensions, which can take a while.
        let printed = output::print(&watcher.text());
        let ended = agent.end().await;
        while let Some(note) = notes.take() {
            log(log_level, note);
        }
        ended?;
        printed?;
        match watcher.failure {
            Some(why) => bail!(clean::text(&why)),
            None => Ok(()),
        }
    })
}

/// Collects the output of a run.
struct Watcher {
    log_level: LogLevel,
    /// What the agent is doing, for the spinner.
    doing: std::rc::Rc<RefCell<String>>,
    /// The model's last message, after interception.
    message: String,
    failure: Option<String>,
}

impl Watcher {
    fn new(log_level: LogLevel) -> Self {
        Self {
            log_level,
            doing: std::rc::Rc::new(RefCell::new("starting".to_owned())),
            message: String::new(),
            failure: None,
        }
    }

    fn observe(&mut self, event: &rpc::Event) {
        if let Some(why) = failure(event) {
            self.failure = Some(why);
        }
        match event {
            rpc::Event::TurnStart(turn) => {
                self.set_activity(format!("waiting for the model, step {}", turn.step));
            }
            rpc::Event::AssistantMessage(message) => self.message = text_of(&message.content),
            rpc::Event::ToolCall(call) => {
                let args = clean::json(&serde_json::Value::Object(call.args.clone()));
                self.log(LogLevel::Debug, &format!("{} {args}", call.name));
                self.set_activity(format!("running {}", clean::line(&call.name)));
            }
            rpc::Event::ToolResult(result) => {
                let status = result.status.as_ref().map_or("", |status| status.as_str());
                self.log(LogLevel::Debug, &format!("{}: {status}", result.id));
            }
            rpc::Event::TurnEnd(end) if end.stop == StopReason::Length => {
                let message = "the answer was truncated at the model's output limit";
                self.log(LogLevel::Warn, message);
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

    /// The final text, with one trailing newline.
    fn text(&self) -> String {
        let text = clean::text(&self.message);
        let text = text.trim_end();
        if text.is_empty() || self.failure.is_some() {
            String::new()
        } else {
            format!("{text}\n")
        }
    }
}

fn text_of(blocks: &[rpc::Block]) -> String {
    let texts = blocks.iter().filter_map(|block| match block {
        rpc::Block::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect()
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
