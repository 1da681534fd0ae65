//! One command or one tool of one extension, with nothing around it.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::bail;
use serde_json::Value;
use zot_host::{
    Hooks, Host, HostError,
    extension::{Builtins, Launch, connection::Tap, discover::shown},
};
use zot_protocol::{
    CommandResponse, FromExtension, NoteLevel, Object, OpenPanel, ToolResult, limits,
};

use super::answer;
use crate::{
    clean,
    logs::Mark,
    output::{self, Style},
    running::{self, Running},
    waiting::{patiently, reached},
};

/// How many lines of its standard error are shown of one that did not start.
const LAST_WORDS: usize = 10;

/// What is asked.
#[derive(Debug)]
pub(crate) enum Ask {
    /// The command, without the slash, and what follows it.
    Command(String, String),
    /// The tool and its arguments.
    Tool(String, Object),
}

/// What comes back.
#[derive(Debug)]
pub(crate) enum Answer {
    Command(CommandResponse),
    Tool(ToolResult),
}

/// Starts the extension, asks, prints the answer, and ends it.
pub(crate) fn ask(launch: Launch, ask: &Ask, cwd: &Path, as_json: bool) -> anyhow::Result<()> {
    let onlooker = Arc::new(Onlooker::default());
    let mark = Mark::of(&launch.home.log_of(launch.name()));
    let name = launch.name().to_owned();
    running::block_on(async {
        let running = start(&launch, cwd, &onlooker)?;
        let outcome = tokio::select! {
            biased;
            exit = running::interrupted() => Err(exit.into()),
            answer = question(&running.host, launch, ask, mark) => match answer {
                // Before the extension is ended, which may take its time.
                Ok(answer) => answer::print(&answer, &onlooker.raw(&answer), as_json),
                Err(error) => Err(error),
            },
        };
        let said = outcome.as_ref().err().map(ToString::to_string);
        onlooker.let_go(said.as_deref().unwrap_or_default());
        let name = || format!("waiting for {name} to end");
        patiently(name, running.end()).await;
        outcome
    })
}

fn start(launch: &Launch, cwd: &Path, onlooker: &Arc<Onlooker>) -> anyhow::Result<Running> {
    let mut config = running::config(cwd, &launch.home);
    // Nobody else is here, so nobody takes its names.
    config.builtins = Builtins::default();
    let hello = launch.manifest.timeouts.as_ref().and_then(|it| it.hello_ms);
    let hello = hello.map_or(limits::HELLO, |ms| Duration::from_millis(ms.into()));
    config.limits.startup = hello + limits::STARTUP;
    config.hooks = Arc::clone(onlooker) as Arc<dyn Hooks>;
    config.tap = Some(Arc::clone(onlooker) as Arc<dyn Tap>);
    Running::start(config)
}

async fn question(host: &Host, launch: Launch, ask: &Ask, mark: Mark) -> anyhow::Result<Answer> {
    let (name, log) = (launch.name().to_owned(), launch.home.log_of(launch.name()));
    let what = || format!("starting {name}");
    let stats = patiently(what, host.load(vec![launch])).await;
    if let Some(failure) = stats.errors.first() {
        bail!(not_started(&failure.extension, &failure.reason, mark, &log));
    }
    if stats.ready == 0 {
        bail!("{name} did not become ready in time\nhint: zot ext logs {name}");
    }
    host.start_session();
    let what = || format!("waiting for the answer of {name}");
    let answer = match ask {
        Ask::Command(command, args) => {
            let asked = host.command(command, args);
            patiently(what, asked).await.map(Answer::Command)
        }
        Ask::Tool(tool, args) => {
            let progress = |line: String| reached(&clean::line(&line));
            let asked = host.tool(tool, args.clone(), progress);
            patiently(what, asked).await.map(Answer::Tool)
        }
    };
    answer.map_err(|error| match error {
        HostError::NoSuchCommand(command) => no_such_command(host, &name, &command),
        HostError::NoSuchTool(tool) => no_such_tool(host, &name, &tool),
        error => anyhow::anyhow!(
            "{}\nhint: zot ext logs {name}",
            clean::text(&error.to_string())
        ),
    })
}

/// Why it did not start, with the end of what it said.
fn not_started(name: &str, why: &str, mark: Mark, log: &Path) -> String {
    let mut message = format!("{name} did not start: {}", clean::text(why));
    let lines = mark.since();
    let said: Vec<&String> = lines
        .iter()
        .filter(|line| !line.starts_with("[zot]"))
        .collect();
    // The last line is in the reason already.
    if said.len() > 1 {
        for line in &said[said.len().saturating_sub(LAST_WORDS)..] {
            message.push_str(&format!("\n  {}", clean::line(line)));
        }
    }
    if !why.contains("hint:") {
        message.push_str(&format!("\nhint: its log is {}", shown::path(log)));
    }
    message
}

fn no_such_command(host: &Host, name: &str, command: &str) -> anyhow::Error {
    let registry = host.registry();
    let command = shown::text(command);
    let there: Vec<String> = registry
        .commands()
        .iter()
        .map(|entry| format!("/{}", shown::text(&entry.name)))
        .collect();
    let hint = if registry.tool(&command.to_string()).is_some() {
        format!("it is a tool: zot ext call {name} {command} '{{…}}'")
    } else if there.is_empty() {
        "it has no commands".to_owned()
    } else {
        format!("it has {}", there.join(", "))
    };
    anyhow::anyhow!("{name} has no command `/{command}`\nhint: {hint}")
}

fn no_such_tool(host: &Host, name: &str, tool: &str) -> anyhow::Error {
    let registry = host.registry();
    let tool = shown::text(tool);
    let there: Vec<String> = registry
        .tools()
        .iter()
        .map(|entry| shown::text(&entry.tool.frame.name).to_string())
        .collect();
    let hint = if registry.command(&tool.to_string()).is_some() {
        format!("it is a command: zot ext run {name} {tool}")
    } else if there.is_empty() {
        "it has no tools".to_owned()
    } else {
        format!("it has {}", there.join(", "))
    };
    anyhow::anyhow!("{name} has no tool `{tool}`\nhint: {hint}")
}

/// Sees what the extension does beside the answer.
#[derive(Debug, Default)]
struct Onlooker(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    /// The last answer, as it came.
    answer: Option<Value>,
    /// What is wrong, held back: the answer may say so itself.
    errors: Vec<(String, String)>,
}

impl Onlooker {
    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The frame of the answer: as it came, or as the host has made it.
    fn raw(&self, answer: &Answer) -> Value {
        let (id, made) = match answer {
            Answer::Command(response) => (
                response.id.to_string(),
                serde_json::to_value(FromExtension::from(response.clone())),
            ),
            Answer::Tool(result) => (
                result.id.to_string(),
                serde_json::to_value(FromExtension::from(result.clone())),
            ),
        };
        let came = self.seen().answer.take();
        came.filter(|came| came["id"] == id.as_str())
            .unwrap_or_else(|| made.unwrap_or_default())
    }

    /// Says what was held back, but for what `said` says too.
    fn let_go(&self, said: &str) {
        for (extension, message) in std::mem::take(&mut self.seen().errors) {
            if !said.contains(&message) {
                note(&extension, NoteLevel::Error, &message);
            }
        }
    }
}

fn note(extension: &str, level: NoteLevel, message: &str) {
    let style = Style::of_stderr();
    let text = format!("[{extension}] {message}");
    output::note(match level {
        NoteLevel::Error => style.error(text),
        _ => style.muted(text),
    });
}

impl Hooks for Onlooker {
    fn note(&self, extension: &str, level: NoteLevel, message: &str) {
        let message = clean::line(message);
        match level {
            NoteLevel::Error => self.seen().errors.push((extension.to_owned(), message)),
            level => note(extension, level, &message),
        }
    }

    fn notice(&self, _: NoteLevel, message: &str) {
        output::note(Style::of_stderr().muted(format_args!("! {}", clean::line(message))));
    }

    fn open_panel(&self, _: &str, open: OpenPanel) {
        output::note(answer::panel(&open.panel, Style::of_stderr()));
    }
}

impl Tap for Onlooker {
    fn heard(&self, _: &str, line: &[u8]) {
        if let Ok(frame) = serde_json::from_slice::<Value>(line)
            && matches!(
                frame["type"].as_str(),
                Some("command_response" | "tool_result")
            )
        {
            self.seen().answer = Some(frame);
        }
    }

    fn said(&self, _: &str, _: &[u8]) {}
}
