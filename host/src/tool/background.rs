//! Commands that run in the background, and the `background` tool that manages them.
//!
//! `bash` starts them. They run until they exit, until the model or the user stops them, or until
//! zot exits. Cancelling a call or a turn does not stop them. Their output goes to a file in the
//! scratch folder.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use zot_process::Process;

use super::{
    args::{completed, count, failed, integer},
    bash::{GRACE, Output, Pump},
    scratch::TemporaryFolder,
    spec,
};
use crate::{ToolOutcome, provider::ToolSpec};

pub(super) const NAME: &str = "background";

/// The maximum number of commands that run at the same time.
const RUNNING: usize = 16;
/// The maximum number of commands to remember. The oldest finished one makes room for a new one.
const REMEMBERED: usize = 64;
/// The maximum size of the output that one call returns, in bytes.
const OUTPUT: u64 = 30 << 10;
/// How much of a command's output is kept, in bytes.
pub(super) const FILE: u64 = 8 << 20;
/// The maximum length of a command in a list, in characters.
const SHOWN: usize = 200;
/// The longest time to wait for a command to finish, in seconds.
const WAIT: u64 = 600;

/// A background command, as shown to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackgroundCommand {
    /// The id, such as `bg-1`.
    pub id: String,
    /// The command.
    pub command: String,
    /// How long it has been running, or how long it ran.
    pub time: Duration,
    /// How it ended, such as `exit status 0`; `None` while it is running.
    pub ended: Option<String>,
    /// The file with its output.
    pub output: PathBuf,
}

/// The background commands of a toolbox. Dropping it kills them.
#[derive(Debug, Default)]
pub(super) struct Background {
    commands: Mutex<Commands>,
}

#[derive(Debug, Default)]
struct Commands {
    /// How many commands are about to start.
    reserved: usize,
    started: u64,
    list: Vec<Arc<Command>>,
    is_closed: bool,
}

#[derive(Debug)]
struct Command {
    id: String,
    text: String,
    start: Instant,
    output: PathBuf,
    kill: CancellationToken,
    ended: watch::Receiver<Option<End>>,
    seen: Mutex<Seen>,
}

#[derive(Debug, Clone)]
struct End {
    how: String,
    time: Duration,
}

/// What the model knows about a command.
#[derive(Debug, Default)]
struct Seen {
    /// How much of the output it has received.
    bytes: u64,
    /// Whether it knows how the command ended.
    end: bool,
}

/// Room for a command that is about to start.
pub(super) struct Slot<'b>(&'b Background);

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.0.commands.lock().reserved -= 1;
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.kill_all();
    }
}

impl Background {
    /// Reserves room for a command. Fails if too many are running.
    pub(super) fn reserve(&self) -> Result<Slot<'_>, String> {
        let mut commands = self.commands.lock();
        if commands.is_closed {
            return Err("zot is exiting".to_owned());
        }
        let is_running = |it: &&Arc<Command>| it.ended.borrow().is_none();
        let running = commands.list.iter().filter(is_running).count();
        if running + commands.reserved >= RUNNING {
            return Err(format!(
                "{RUNNING} commands are already running in the background\nhint: kill one with `{NAME}`"
            ));
        }
        commands.reserved += 1;
        Ok(Slot(self))
    }

    /// Adds a process that has been started, and stores its output in the background. Returns its
    /// id.
    pub(super) fn add(
        &self,
        slot: Slot<'_>,
        command: String,
        mut process: Process,
        output: Output,
        file: PathBuf,
        temporary: Option<TemporaryFolder>,
    ) -> String {
        drop(slot);
        let mut commands = self.commands.lock();
        commands.started += 1;
        let id = format!("bg-{}", commands.started);
        let (ending, ended) = watch::channel(None);
        let kill = CancellationToken::new();
        if commands.is_closed {
            kill.cancel();
        }
        let start = Instant::now();
        if commands.list.len() == REMEMBERED
            && let Some(oldest) = commands
                .list
                .iter()
                .position(|it| it.ended.borrow().is_some())
        {
            commands.list.remove(oldest);
        }
        commands.list.push(Arc::new(Command {
            id: id.clone(),
            text: command,
            start,
            output: file,
            kill: kill.clone(),
            ended,
            seen: Mutex::default(),
        }));
        tokio::spawn(async move {
            let mut pump = Pump::new(process.take_stdout(), output, |_| {});
            let exit = pump
                .until(async {
                    tokio::select! {
                        biased;
                        () = kill.cancelled() => None,
                        exit = process.wait() => Some(exit),
                    }
                })
                .await;
            pump.until(process.end(GRACE)).await;
            pump.drain().await;
            drop(pump);
            if let Some(temporary) = temporary {
                temporary.remove().await;
            }
            let how = exit.map_or_else(|| "killed".to_owned(), |exit| exit.to_string());
            let time = start.elapsed();
            ending.send_replace(Some(End { how, time }));
        });
        id
    }

    /// Returns all commands, oldest first.
    pub(super) fn list(&self) -> Vec<BackgroundCommand> {
        let commands = self.commands.lock();
        commands.list.iter().map(|it| it.shown()).collect()
    }

    /// Kills a command and waits until it has ended. Returns false if it is not running.
    pub(super) async fn kill(&self, id: &str) -> bool {
        let Some(command) = self.find(id).filter(|it| it.end().is_none()) else {
            return false;
        };
        command.kill.cancel();
        command.wait().await;
        true
    }

    /// Kills all commands, waits until they have ended, and accepts no new ones.
    pub(super) async fn close(&self) {
        self.commands.lock().is_closed = true;
        self.kill_all();
        let commands = self.commands.lock().list.clone();
        for command in commands {
            command.wait().await;
        }
    }

    fn kill_all(&self) {
        for command in &self.commands.lock().list {
            command.kill.cancel();
        }
    }

    /// Returns a remark about each of the session's commands whose end the model does not know
    /// about yet.
    pub(super) fn remarks(&self, session: &Path) -> Vec<String> {
        let commands = self.commands.lock();
        let of_session = commands.list.iter().filter(|it| it.is_of(session));
        let ended = of_session.filter_map(|it| {
            let end = it.end()?;
            let was_known = std::mem::replace(&mut it.seen.lock().end, true);
            let (id, first) = (&it.id, it.first_line());
            (!was_known).then(|| {
                format!(
                    "The background command {id} (`{first}`) has ended: {}.",
                    end.how
                )
            })
        });
        ended.collect()
    }

    fn find(&self, id: &str) -> Option<Arc<Command>> {
        let commands = self.commands.lock();
        commands.list.iter().find(|it| it.id == id).cloned()
    }

    /// Runs the `background` tool for the session that stores its output in this folder. The tool
    /// cannot access the commands of other sessions.
    pub(super) async fn run(
        &self,
        args: Args,
        session: &Path,
        cancel: &CancellationToken,
    ) -> ToolOutcome {
        let wait = args.wait.unwrap_or_default();
        if wait > WAIT {
            return failed(format!(
                "`wait` is {wait}, but must be at most {WAIT} seconds"
            ));
        }
        let Some(id) = args.id else {
            return completed(self.listing(session));
        };
        let Some(command) = self.find(&id).filter(|it| it.is_of(session)) else {
            return failed(format!(
                "no background command `{id}`\n{}",
                self.listing(session)
            ));
        };
        match args.action {
            Action::Kill => {
                let was_running = self.kill(&id).await;
                let state = if was_running {
                    "killed"
                } else {
                    "had already ended"
                };
                with_output(&command, &format!("{id} {state}")).await
            }
            Action::Output => {
                let waiting = tokio::time::timeout(Duration::from_secs(wait), command.wait());
                tokio::select! {
                    biased;
                    () = cancel.cancelled() => return ToolOutcome::cancelled(),
                    _ = waiting => {}
                }
                let state = command.state();
                with_output(&command, &format!("{id} {state}")).await
            }
        }
    }

    fn listing(&self, session: &Path) -> String {
        let commands = self.commands.lock();
        let of_session = commands.list.iter().filter(|it| it.is_of(session));
        let lines =
            of_session.map(|it| format!("{}: {}: {}\n", it.id, it.state(), it.first_line()));
        let list: String = lines.collect();
        if list.is_empty() {
            return "no background commands".to_owned();
        }
        list
    }
}

impl Command {
    /// Reports whether it belongs to the session that stores its output in this folder.
    fn is_of(&self, session: &Path) -> bool {
        self.output.starts_with(session)
    }

    /// Returns the first line of the command, truncated to [`SHOWN`] characters.
    fn first_line(&self) -> String {
        let first = self.text.lines().next().unwrap_or_default();
        first.chars().take(SHOWN).collect()
    }

    fn end(&self) -> Option<End> {
        self.ended.borrow().clone()
    }

    async fn wait(&self) {
        // Fails only if the task is gone, in which case there is nothing to wait for.
        let _ = self.ended.clone().wait_for(Option::is_some).await;
    }

    fn state(&self) -> String {
        match self.end() {
            Some(End { how, time }) => format!("ended after {} s: {how}", time.as_secs()),
            None => format!("has been running for {} s", self.start.elapsed().as_secs()),
        }
    }

    fn shown(&self) -> BackgroundCommand {
        let end = self.end();
        BackgroundCommand {
            id: self.id.clone(),
            command: self.text.clone(),
            time: end
                .as_ref()
                .map_or_else(|| self.start.elapsed(), |end| end.time),
            ended: end.map(|end| end.how),
            output: self.output.clone(),
        }
    }
}

/// Returns the state of a command, and what it has printed since the last call.
async fn with_output(command: &Arc<Command>, state: &str) -> ToolOutcome {
    let reader = Arc::clone(command);
    let read = tokio::task::spawn_blocking(move || {
        let mut seen = reader.seen.lock();
        seen.end |= reader.end().is_some();
        let (text, end) = read_from(&reader.output, seen.bytes)?;
        seen.bytes = end;
        Ok::<_, io::Error>((text, end))
    });
    let file = command.output.display();
    let kept = |end: u64| {
        if end < FILE {
            format!("all output is in {file}")
        } else {
            let most = FILE >> 20;
            format!("only the first {most} MiB of output are kept, in {file}")
        }
    };
    match read.await {
        Ok(Ok((text, end))) if text.is_empty() && end < FILE => {
            completed(format!("[{state}; no new output]"))
        }
        Ok(Ok((text, end))) => completed(format!("{}\n[{state}; {}]", text.trim_end(), kept(end))),
        Ok(Err(error)) => failed(format!("[{state}; cannot read {file}: {error}]")),
        Err(_) => failed(format!("[{state}]")),
    }
}

/// Reads the end of a file from `start`, at most [`OUTPUT`] bytes. Also returns the file's length.
fn read_from(path: &Path, start: u64) -> io::Result<(String, u64)> {
    let mut file = File::open(path)?;
    let end = file.metadata()?.len();
    let from = start.max(end.saturating_sub(OUTPUT));
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(end - from).read_to_end(&mut bytes)?;
    // Leave an incomplete character at the end for the next call.
    let valid = std::str::from_utf8(&bytes).map_or_else(
        |error| match error.error_len() {
            None => error.valid_up_to(),
            Some(_) => bytes.len(),
        },
        str::len,
    );
    let end = from + valid as u64;
    let skipped = bytes
        .iter()
        .take_while(|byte| from > start && **byte & 0xc0 == 0x80);
    let text = String::from_utf8_lossy(&bytes[skipped.count()..valid]);
    Ok((
        if from > start {
            format!("[… {} omitted …]\n{text}", count(from - start, "byte"))
        } else {
            text.into_owned()
        },
        end,
    ))
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    #[default]
    Output,
    Kill,
}

#[derive(Debug, Deserialize)]
pub(super) struct Args {
    id: Option<String>,
    #[serde(default)]
    action: Action,
    #[serde(default, deserialize_with = "integer")]
    wait: Option<u64>,
}

pub(super) fn tool_spec() -> ToolSpec {
    spec(
        NAME,
        format!(
            "Manages commands that `bash` has started with `run_in_background`. Returns a command's state and its output since the \
             last call, at most {} KiB; can wait until it ends, or kill it. Without `id`, lists all commands.",
            OUTPUT >> 10
        ),
        json!({
            "type": "object",
            "properties": {
                "id": {"type": "string", "description": "The command's id, such as `bg-1`."},
                "action": {"type": "string", "enum": ["output", "kill"], "description": "What to do. Default: `output`."},
                "wait": {"type": "integer", "minimum": 0, "maximum": WAIT, "description": "How many seconds to wait for the command to end before its output is returned. Default: 0."}
            },
            "additionalProperties": false
        }),
    )
}
