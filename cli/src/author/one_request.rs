//! Sends one request to one extension, with no other extensions and no agent.

use std::{path::Path, sync::Arc};

use anyhow::bail;
use parking_lot::Mutex;
use serde_json::Value;
use zot_host::{
    Hooks, Host, HostError,
    extension::{Builtins, Launch, connection::Tap, discover::escape},
};
use zot_protocol::{CommandResponse, FromExtension, NoteLevel, Object, OpenPanel, ToolResult};

use super::{answer, mistakes::Mistakes};
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

/// The extension's response.
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
    let probed = launch.clone();
    let language = launch.manifest.language.clone().unwrap_or_default();
    let mark = Mark::of(&launch.home.log_of(launch.name()));
    let name = launch.name().to_owned();
    short_lived_host::block_on(async {
        let running = start(&launch, cwd, &observer)?;
        let outcome = tokio::select! {
            biased;
            exit = short_lived_host::interrupted() => Err(exit.into()),
            hint = observer.mistakes.no_hello(&probed, cwd) => {
                Err(anyhow::anyhow!("{name} did not start: {hint}\nhint: {}", hint.fix()))
            }
            error = observer.mistakes.unmatched_reply() => {
                let error = error.to_string();
                Err(anyhow::anyhow!("{name}: {error}"))
            }
            answer = send(&running.host, launch, ask, mark) => match answer {
                // Print the response now: stopping the extension can take a while.
                Ok(answer) => answer::print(&answer, &observer.raw(&answer), as_json),
                Err(error) => Err(error),
            },
        };
        let reported = outcome.as_ref().err().map(ToString::to_string);
        observer.print_errors(reported.as_deref().unwrap_or_default());
        observer.mistakes.expect_end();
        let what = || format!("waiting for {name} to exit");
        with_spinner(what, running.stop()).await;
        let found = observer.mistakes.found(&language).into_iter();
        let is_new = |what: &str| !reported.as_ref().is_some_and(|text| text.contains(what));
        for (what, fix) in found.filter(|(what, _)| is_new(what)) {
            note(&name, NoteLevel::Warn, &format!("{what}\nhint: {fix}"));
        }
        outcome
    })
}

fn start(launch: &Launch, cwd: &Path, observer: &Arc<Observer>) -> anyhow::Result<ShortLivedHost> {
    let mut config = short_lived_host::config(cwd, &launch.home, std::slice::from_ref(launch));
    // Register no built-ins, so that none of them shadows one of the extension's names.
    config.builtins = Builtins::default();
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
        HostError::NoSuchCommand(_) | HostError::NoSuchTool(_) => {
            not_registered(host, &name, ask, &refused(mark))
        }
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
    // If there is only one line, the reason already contains it.
    if stderr.len() > 1 {
        for line in &stderr[stderr.len().saturating_sub(STDERR_LINES)..] {
            message.push_str(&format!("\n  {}", clean::line(line)));
        }
    }
    if !why.contains("hint:") {
        message.push_str(&format!("\nhint: see its log: {}", escape::path(log)));
    }
    message
}

/// Returns the error for a name that the extension has not registered. The hint lists the
/// registered names, or points out that a tool name was passed as a command or vice versa.
fn not_registered(
    host: &Host,
    extension: &str,
    ask: &OneRequest,
    refused: &[String],
) -> anyhow::Error {
    let registry = host.registry();
    let (kind, slash, name, names, other) = match ask {
        OneRequest::Command(name, _) => {
            let names: Vec<&str> = registry.commands().iter().map(|it| &*it.name).collect();
            let call = format!("{name} is a tool; run `zot ext call {extension} {name} '{{…}}'`");
            (
                "command",
                "/",
                name,
                names,
                registry.tool(name).map(|_| call),
            )
        }
        OneRequest::Tool(name, _) => {
            let tools = registry.tools().iter();
            let names: Vec<&str> = tools.map(|it| &*it.tool.frame.name).collect();
            let run = format!("{name} is a command; run `zot ext run {extension} {name}`");
            ("tool", "", name, names, registry.command(name).map(|_| run))
        }
    };
    let hint = match (other, names.is_empty()) {
        (Some(other), _) => other,
        (None, true) => format!("{extension} registers no {kind}s"),
        (None, false) => {
            let names: Vec<String> = names.iter().map(|it| format!("{slash}{it}")).collect();
            format!("available {kind}s: {}", names.join(", "))
        }
    };
    let mut message = format!("{extension} has no {kind} `{slash}{}`", escape::text(name));
    for line in refused {
        message.push_str(&format!("\n  zot refused {}", clean::line(line)));
    }
    anyhow::anyhow!("{message}\nhint: {}", escape::text(&hint))
}

/// Returns the log lines about registrations that zot refused.
fn refused(mark: Mark) -> Vec<String> {
    let lines = mark.since().into_iter();
    let own = lines.filter_map(|line| line.strip_prefix("[zot] ").map(str::to_owned));
    own.filter(|line| line.starts_with("register_")).collect()
}

/// Records the extension's raw response and its error notes.
#[derive(Debug, Default)]
struct Observer {
    observed: Mutex<Observed>,
    mistakes: Mistakes,
}

#[derive(Debug, Default)]
struct Observed {
    /// The last response, as received.
    answer: Option<Value>,
    /// Error notes, deferred because the final error may repeat them.
    errors: Vec<(String, String)>,
}

impl Observer {
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
        let came = self.observed.lock().answer.take();
        came.filter(|came| came["id"] == id.as_str())
            .unwrap_or_else(|| made.unwrap_or_default())
    }

    /// Prints the deferred errors, except those that `reported` already contains.
    fn print_errors(&self, reported: &str) {
        for (extension, message) in std::mem::take(&mut self.observed.lock().errors) {
            // A note has its hint on the same line.
            let (what, _) = message.split_once("; hint:").unwrap_or((&message, ""));
            if !reported.contains(what) {
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
            NoteLevel::Error => self
                .observed
                .lock()
                .errors
                .push((extension.to_owned(), message)),
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
    fn received(&self, extension: &str, line: &[u8]) {
        self.mistakes.received(extension, line);
        if let Ok(frame) = serde_json::from_slice::<Value>(line)
            && matches!(
                frame["type"].as_str(),
                Some("command_response" | "tool_result")
            )
        {
            self.observed.lock().answer = Some(frame);
        }
    }

    fn sent(&self, extension: &str, line: &[u8]) {
        self.mistakes.sent(extension, line);
    }
}
