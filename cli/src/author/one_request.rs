//! Sends one request to one extension, with no other extensions and no agent.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::bail;
use serde_json::Value;
use zot_host::{
    Hooks, Host, HostError,
    extension::{Builtins, Launch, connection::Tap, discover::escape},
};
use zot_protocol::{
    CommandResponse, FromExtension, NoteLevel, Object, OpenPanel, ToolResult, limits,
};

use super::answer;
use crate::{
    clean,
    logs::Mark,
    output::{self, Style},
    short_lived_host::{self, ShortLivedHost},
    spinner::{progress, with_spinner},
};

/// How many lines of standard error to show for an extension that failed to start.
const STDERR_LINES: usize = 10;

/// The request to send.
#[derive(Debug)]
pub(crate) enum OneRequest {
    /// The command, without the slash, and its arguments.
    Command(String, String),
    /// The tool and its arguments.
    Tool(String, Object),
}

/// The response of the extension.
#[derive(Debug)]
pub(crate) enum Answer {
    Command(CommandResponse),
    Tool(ToolResult),
}

/// Starts the extension, sends the request, prints the response and stops the extension.
pub(crate) fn ask(
    launch: Launch,
    ask: &OneRequest,
    cwd: &Path,
    as_json: bool,
) -> anyhow::Result<()> {
    let observer = Arc::new(Observer::default());
    let mark = Mark::of(&launch.home.log_of(launch.name()));
    let name = launch.name().to_owned();
    short_lived_host::block_on(async {
        let running = start(&launch, cwd, &observer)?;
        let outcome = tokio::select! {
            biased;
            exit = short_lived_host::interrupted() => Err(exit.into()),
            answer = send(&running.host, launch, ask, mark) => match answer {
                // Printed before the extension stops, which can take a while.
                Ok(answer) => answer::print(&answer, &observer.raw(&answer), as_json),
                Err(error) => Err(error),
            },
        };
        let reported = outcome.as_ref().err().map(ToString::to_string);
        observer.print_errors(reported.as_deref().unwrap_or_default());
        let name = || format!("waiting for {name} to exit");
        with_spinner(name, running.stop()).await;
        outcome
    })
}

fn start(launch: &Launch, cwd: &Path, observer: &Arc<Observer>) -> anyhow::Result<ShortLivedHost> {
    let mut config = short_lived_host::config(cwd, &launch.home);
    // The extension runs alone, so no built-in can take its names.
    config.builtins = Builtins::default();
    let hello = launch.manifest.timeouts.as_ref().and_then(|it| it.hello_ms);
    let hello = hello.map_or(limits::HELLO, |ms| Duration::from_millis(ms.into()));
    config.limits.startup = hello + limits::STARTUP;
    config.hooks = Arc::clone(observer) as Arc<dyn Hooks>;
    config.tap = Some(Arc::clone(observer) as Arc<dyn Tap>);
    ShortLivedHost::start(config)
}

async fn send(host: &Host, launch: Launch, ask: &OneRequest, mark: Mark) -> anyhow::Result<Answer> {
    let (name, log) = (launch.name().to_owned(), launch.home.log_of(launch.name()));
    let what = || format!("starting {name}");
    let stats = with_spinner(what, host.load(vec![launch])).await;
    if let Some(failure) = stats.errors.first() {
        bail!(not_started(&failure.extension, &failure.reason, mark, &log));
    }
    if stats.ready == 0 {
        bail!("{name} was not ready in time\nhint: zot ext logs {name}");
    }
    host.start_session();
    let what = || format!("waiting for {name}");
    let answer = match ask {
        OneRequest::Command(command, args) => {
            let response = host.command(command, args);
            with_spinner(what, response).await.map(Answer::Command)
        }
        OneRequest::Tool(tool, args) => {
            let show = |line: String| progress(&clean::line(&line));
            let response = host.tool(tool, args.clone(), show);
            with_spinner(what, response).await.map(Answer::Tool)
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

/// Describes why the extension did not start, with the end of its standard error.
fn not_started(name: &str, why: &str, mark: Mark, log: &Path) -> String {
    let mut message = format!("{name} did not start: {}", clean::text(why));
    let lines = mark.since();
    let stderr: Vec<&String> = lines
        .iter()
        .filter(|line| !line.starts_with("[zot]"))
        .collect();
    // The last line is already part of the reason.
    if stderr.len() > 1 {
        for line in &stderr[stderr.len().saturating_sub(STDERR_LINES)..] {
            message.push_str(&format!("\n  {}", clean::line(line)));
        }
    }
    if !why.contains("hint:") {
        message.push_str(&format!("\nhint: its log is {}", escape::path(log)));
    }
    message
}

fn no_such_command(host: &Host, name: &str, command: &str) -> anyhow::Error {
    let registry = host.registry();
    let command = escape::text(command);
    let names: Vec<String> = registry
        .commands()
        .iter()
        .map(|entry| format!("/{}", escape::text(&entry.name)))
        .collect();
    let hint = if registry.tool(&command).is_some() {
        format!("{command} is a tool: zot ext call {name} {command} '{{…}}'")
    } else if names.is_empty() {
        "{name} has no commands".to_owned()
    } else {
        format!("available commands: {}", names.join(", "))
    };
    anyhow::anyhow!("{name} has no command `/{command}`\nhint: {hint}")
}

fn no_such_tool(host: &Host, name: &str, tool: &str) -> anyhow::Error {
    let registry = host.registry();
    let tool = escape::text(tool);
    let names: Vec<String> = registry
        .tools()
        .iter()
        .map(|entry| escape::text(&entry.tool.frame.name))
        .collect();
    let hint = if registry.command(&tool).is_some() {
        format!("{tool} is a command: zot ext run {name} {tool}")
    } else if names.is_empty() {
        "{name} has no tools".to_owned()
    } else {
        format!("available tools: {}", names.join(", "))
    };
    anyhow::anyhow!("{name} has no tool `{tool}`\nhint: {hint}")
}

/// Observes what the extension does besides its response.
#[derive(Debug, Default)]
struct Observer(Mutex<Observed>);

#[derive(Debug, Default)]
struct Observed {
    /// The last response, as received.
    answer: Option<Value>,
    /// Error notes, deferred because the final error may repeat them.
    errors: Vec<(String, String)>,
}

impl Observer {
    fn observed(&self) -> std::sync::MutexGuard<'_, Observed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the response frame: as received, or else as the host built it.
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
        let came = self.observed().answer.take();
        came.filter(|came| came["id"] == id.as_str())
            .unwrap_or_else(|| made.unwrap_or_default())
    }

    /// Prints the deferred errors, except those that `reported` already contains.
    fn print_errors(&self, reported: &str) {
        for (extension, message) in std::mem::take(&mut self.observed().errors) {
            if !reported.contains(&message) {
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

impl Hooks for Observer {
    fn note(&self, extension: &str, level: NoteLevel, message: &str) {
        let message = clean::line(message);
        match level {
            NoteLevel::Error => self.observed().errors.push((extension.to_owned(), message)),
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

impl Tap for Observer {
    fn received(&self, _: &str, line: &[u8]) {
        if let Ok(frame) = serde_json::from_slice::<Value>(line)
            && matches!(
                frame["type"].as_str(),
                Some("command_response" | "tool_result")
            )
        {
            self.observed().answer = Some(frame);
        }
    }

    fn sent(&self, _: &str, _: &[u8]) {}
}
