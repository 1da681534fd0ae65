//! `zot -p`: runs a prompt to its end and prints the final text, nothing else.

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
    clean, output, running,
    waiting::patiently,
};

pub(super) fn run(args: &Agent) -> anyhow::Result<()> {
    let start = Start::of(&args.flags, Mode::Once)?;
    let prompt = read_prompt(&args.prompt)?;
    let log_level = start.log_level;
    running::block_on(async {
        let notes = Arc::new(NoteQueue::default());
        let mut agent = Headless::begin(start, notes.clone())?;
        let mut watcher = Watcher::new(log_level);
        let mut events = agent.runtime.prompt(Prompt::text(prompt))?;
        let doing = watcher.doing.clone();
        let following = async {
            loop {
                tokio::select! {
                    biased;
                    note = notes.next() => tell(log_level, note),
                    event = agent.next(&mut events) => match event {
                        Some(event) => watcher.see(&event),
                        None => break,
                    }
                }
            }
        };
        patiently(|| doing.borrow().clone(), following).await;
        // Before the extensions are ended, which may take its time.
        let printed = output::print(&watcher.text());
        let ended = agent.end().await;
        while let Some(note) = notes.take() {
            tell(log_level, note);
        }
        ended?;
        printed?;
        match watcher.failure {
            Some(why) => bail!(clean::text(&why)),
            None => Ok(()),
        }
    })
}

/// What of a run is printed.
struct Watcher {
    log_level: LogLevel,
    /// What goes on, in a few words.
    doing: std::rc::Rc<RefCell<String>>,
    /// The last message, as the user may see it.
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

    fn see(&mut self, event: &rpc::Event) {
        if let Some(why) = failure(event) {
            self.failure = Some(why);
        }
        match event {
            rpc::Event::TurnStart(turn) => {
                self.now(format!("the model answers, step {}", turn.step));
            }
            rpc::Event::AssistantMessage(message) => self.message = text_of(&message.content),
            rpc::Event::ToolCall(call) => {
                let args = clean::json(&serde_json::Value::Object(call.args.clone()));
                log_message(
                    self.log_level,
                    LogLevel::Debug,
                    &format!("{} {args}", call.name),
                );
                self.now(format!("{} runs", clean::line(&call.name)));
            }
            rpc::Event::ToolResult(result) => {
                let status = result.status.as_ref().map_or("", |status| status.as_str());
                log_message(
                    self.log_level,
                    LogLevel::Debug,
                    &format!("{}: {status}", result.id),
                );
            }
            rpc::Event::TurnEnd(end) if end.stop == StopReason::Length => {
                let message = "the answer ends where the model's limit was reached";
                log_message(self.log_level, LogLevel::Warn, message);
            }
            rpc::Event::CompactDone(_) => {
                log_message(
                    self.log_level,
                    LogLevel::Info,
                    "the conversation was compacted",
                );
            }
            _ => {}
        }
    }

    fn now(&self, what: String) {
        *self.doing.borrow_mut() = what;
    }

    /// The final text, with one newline at its end.
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

/// Says a note on standard error.
fn tell(wanted: LogLevel, note: QueuedNote) {
    match note {
        QueuedNote::Event(rpc::Event::ExtNotify(note)) => {
            let message = format!("[{}] {}", note.extension, note.message);
            log_message(wanted, level_of(note.level), &message);
        }
        QueuedNote::Event(rpc::Event::ExtToolCall(call)) => {
            let args = serde_json::Value::Object(call.args);
            let message = format!("[{}] runs {}: {args}", call.extension, call.name);
            log_message(wanted, LogLevel::Info, &message);
        }
        QueuedNote::Event(_) => {}
        QueuedNote::Notice(level, message) => log_message(wanted, level_of(level), &message),
    }
}
