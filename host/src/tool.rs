//! The built-in tools: `read`, `write`, `edit`, `bash`, `skill`, `grep`, `find`,
//! `background`.
//!
//! A [`Toolbox`] offers them to a model and runs them. Events, interception and confirmation of a
//! call are the agent's job.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use serde_json::json;
//! use tokio_util::sync::CancellationToken;
//! use zot_host::tool::{Toolbox, ToolboxConfig};
//!
//! # let folder = tempfile::tempdir()?;
//! # let (project, scratch) = (folder.path().join("project"), folder.path().join("scratch"));
//! # std::fs::create_dir(&project)?;
//! let toolbox = Toolbox::new(ToolboxConfig::new(project, scratch, zot_process::Spawner::new()?))?;
//! toolbox.set_jail(true)?;
//!
//! let args = json!({"path": "notes/todo.md", "content": "- [ ] tea\n"});
//! let args = args.as_object().cloned().unwrap_or_default();
//! let outcome = toolbox.run("write", args, |_| {}, &CancellationToken::new()).await;
//! assert!(outcome.is_some_and(|outcome| !outcome.is_error));
//! # Ok(())
//! # }
//! ```
//!
//! # The jail
//!
//! In the jail, `read`, `write` and `edit` can only access files below the working directory, even
//! if symlinks are changed while they run. They can also read the folders that a result may refer
//! to: the session's scratch folder and the skills' folders. The kernel lets `bash` write only to
//! the working directory and a folder for temporary files, and read only what the other tools can
//! read, system files and the programs on `PATH`. `bash` has no network, because a socket is a way
//! out of the jail (for example, through Docker or the session bus). If the kernel cannot enforce
//! that, `bash` is refused. A hard link in the working directory to a file outside can be read;
//! writing to it replaces the link and leaves the file outside unchanged.

mod args;
mod background;
mod bash;
mod edit;
mod find;
mod grep;
mod preview;
mod read;
pub(crate) mod scratch;
mod search;
mod skill;
pub(crate) mod workspace;
mod write;

use std::{
    any::Any,
    io,
    panic::AssertUnwindSafe,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use futures_util::FutureExt;
use parking_lot::RwLock;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use zot_process::{Net, Spawner, Support};
use zot_protocol::{Content, Object};

use self::{
    args::{Parsed, failed, parse},
    background::Background,
    bash::Shell,
    scratch::Scratch,
    workspace::{Files, Workspace},
};
use crate::{Preview, ToolOutcome, provider::ToolSpec};

pub use background::BackgroundCommand;
pub use skill::{Skill, Skills};

/// The names of the built-in tools that extensions cannot replace.
pub const NAMES: [&str; 5] = [read::NAME, write::NAME, edit::NAME, bash::NAME, skill::NAME];

/// The names of the other built-in tools. If an extension registers a tool with one of these names,
/// the built-in tool is not available.
pub const REPLACEABLE: [&str; 3] = [grep::NAME, find::NAME, background::NAME];

pub(crate) use find::NAME as FIND;
pub(crate) use grep::NAME as GREP;

/// The names of the built-in tools that only read, so that calls to them can run in parallel.
pub(crate) const READ_ONLY: [&str; 4] = [read::NAME, grep::NAME, find::NAME, skill::NAME];

/// The configuration of a [`Toolbox`].
#[derive(Debug)]
#[non_exhaustive]
pub struct ToolboxConfig {
    /// The working directory.
    pub cwd: PathBuf,
    /// The folder for long outputs, at most 64 MiB in total, and for the temporary files of jailed
    /// commands, which are removed when the command ends. It is created when needed, and only its
    /// owner can access it. The transcript refers to the outputs, so each session has its own
    /// folder.
    pub scratch: PathBuf,
    /// Starts the commands.
    pub spawner: Spawner,
    /// The skills to offer. Default: [`Skills::builtin`].
    pub skills: Skills,
    /// Whether the jail is on from the start. Default: no.
    pub jail: bool,
    /// Environment variables to withhold from commands: the provider API keys. The RPC token is
    /// always withheld and need not be listed.
    pub secrets: Vec<String>,
    /// What the kernel can enforce. Default: [`Support::probe`].
    pub support: Support,
    /// The network access of a command in the jail. Default: none. With [`Net::All`], a command can
    /// escape the jail through any service on this machine that acts on its behalf.
    pub jail_net: Net,
    /// Additional paths that can be read in the jail.
    pub jail_readable: Vec<PathBuf>,
    /// The timeout of a command that does not set one. Default: 120 s.
    pub timeout: Duration,
    /// The longest timeout a command can set. Default: 600 s.
    pub max_timeout: Duration,
}

impl ToolboxConfig {
    /// Creates a configuration with the defaults.
    pub fn new(cwd: impl Into<PathBuf>, scratch: impl Into<PathBuf>, spawner: Spawner) -> Self {
        Self {
            cwd: cwd.into(),
            scratch: scratch.into(),
            spawner,
            skills: Skills::builtin(),
            jail: false,
            secrets: Vec::new(),
            support: Support::probe(),
            jail_net: Net::None,
            jail_readable: Vec::new(),
            timeout: Duration::from_secs(120),
            max_timeout: Duration::from_secs(600),
        }
    }
}

/// The built-in tools. Calls may run in parallel.
#[derive(Debug)]
pub struct Toolbox {
    workspace: Workspace,
    shell: Shell,
    skills: Arc<Skills>,
    /// Limits parallel reads, and thereby memory: a whole image is held in memory to encode it.
    reads: Arc<Semaphore>,
}

/// The maximum number of parallel reads.
const READS: usize = 2;

impl Toolbox {
    /// Creates a toolbox. Fails if the jail is on and the working directory cannot be opened, or if
    /// a relative path cannot be made absolute.
    pub fn new(config: ToolboxConfig) -> io::Result<Self> {
        let scratch = std::path::absolute(config.scratch)?;
        let skills = config.skills.iter().filter_map(Skill::folder);
        let mut readable = config.jail_readable;
        readable.push(scratch.clone());
        readable.extend(skills);
        let workspace = Workspace::new(std::path::absolute(config.cwd)?, readable);
        let toolbox = Self {
            workspace,
            shell: Shell {
                program: bash::find_shell(),
                spawner: config.spawner,
                secrets: config.secrets,
                scratch: RwLock::new(Arc::new(Scratch::new(scratch))),
                support: config.support,
                jail_net: config.jail_net,
                timeout: config.timeout,
                most: config.max_timeout,
                background: Background::default(),
            },
            skills: Arc::new(config.skills),
            reads: Arc::new(Semaphore::new(READS)),
        };
        toolbox.set_jail(config.jail)?;
        Ok(toolbox)
    }

    /// The working directory.
    pub fn cwd(&self) -> &Path {
        self.workspace.cwd()
    }

    /// Reports whether the jail is on.
    pub fn is_jailed(&self) -> bool {
        self.workspace.is_jailed()
    }

    /// Turns the jail on or off. Calls that have started are not affected. If the working directory
    /// cannot be opened, nothing changes.
    pub fn set_jail(&self, jailed: bool) -> io::Result<()> {
        if jailed {
            // A folder that does not exist when the jail is turned on cannot be read later. If it
            // cannot be created, the jail is turned on anyway.
            let _ = self.shell.scratch().make();
        }
        self.workspace.set_jail(jailed)
    }

    /// Changes the folder for long outputs, for a new session. In the jail, the previous folder can
    /// no longer be read.
    pub fn set_scratch(&self, scratch: impl Into<PathBuf>) -> io::Result<()> {
        let scratch = std::path::absolute(scratch.into())?;
        let before = self.shell.scratch();
        if before.folder() == scratch {
            return Ok(());
        }
        self.workspace.replace_readable(before.folder(), &scratch);
        *self.shell.scratch.write() = Arc::new(Scratch::new(scratch));
        if self.is_jailed() {
            self.set_jail(true)?;
        }
        Ok(())
    }

    /// The skills it offers.
    pub fn skills(&self) -> &Skills {
        &self.skills
    }

    /// Returns the running and finished background commands, oldest first.
    pub fn background(&self) -> Vec<BackgroundCommand> {
        self.shell.background.list()
    }

    /// Kills a background command and waits until it has ended. Returns false if it is not running.
    pub async fn kill_background(&self, id: &str) -> bool {
        self.shell.background.kill(id).await
    }

    /// Kills all background commands and waits until they have ended. No more can be started.
    pub async fn close(&self) {
        self.shell.background.close().await;
    }

    /// Returns what to tell the model about background commands that have ended.
    pub(crate) fn remarks(&self) -> Vec<String> {
        self.shell.background.remarks(self.shell.scratch().folder())
    }

    /// Returns the tool definitions for a model.
    pub fn specs(&self) -> Vec<ToolSpec> {
        let mut specs = vec![
            read::tool_spec(),
            write::tool_spec(),
            edit::tool_spec(),
            self.shell.tool_spec(),
            grep::tool_spec(),
            find::tool_spec(),
            background::tool_spec(),
        ];
        if self.skills.iter().next().is_some() {
            specs.push(self.skills.tool_spec());
        }
        specs
    }

    /// Runs a tool. Returns `None` if it is not a built-in one. Lines of a command's output go to
    /// `progress`, rate-limited so that a person can follow them.
    ///
    /// Cancelling the call kills a command and every process it started, and stops a read. A write
    /// that has started is completed, which is quick, and the outcome says so; a file is never left
    /// half-written. Dropping the future has the same effect.
    pub async fn run(
        &self,
        name: &str,
        args: Object,
        progress: impl FnMut(String) + Send,
        cancel: &CancellationToken,
    ) -> Option<ToolOutcome> {
        if !NAMES.contains(&name) && !REPLACEABLE.contains(&name) {
            return None;
        }
        if cancel.is_cancelled() {
            return Some(ToolOutcome::cancelled());
        }
        let running = AssertUnwindSafe(self.run_named(name, args, progress, cancel));
        Some(match running.catch_unwind().await {
            Ok(Ok((outcome, None))) => outcome,
            Ok(Ok((mut outcome, Some(remark)))) => {
                outcome.content.push(Content::text(format!("({remark})")));
                outcome
            }
            Ok(Err(why)) => failed(why),
            Err(panic) => panicked(name, panic.as_ref()),
        })
    }

    /// Returns what a tool call would change: for `write` and `edit`, a diff from the current file.
    /// Reads only what the tool `read` may read. Returns `None` for other tools.
    pub async fn preview(&self, name: &str, args: Object) -> Option<Preview> {
        let files = self.workspace.files();
        let work: Box<dyn FnOnce() -> Preview + Send> = match name {
            write::NAME => match parse(name, args) {
                Ok(Parsed { args, .. }) => Box::new(move || write::preview(&files, &args)),
                Err(why) => return Some(Preview::Unavailable(why)),
            },
            edit::NAME => match parse(name, args) {
                Ok(Parsed { args, .. }) => Box::new(move || edit::preview(&files, &args)),
                Err(why) => return Some(Preview::Unavailable(why)),
            },
            _ => return None,
        };
        // After a panic, the user sees the arguments instead.
        tokio::task::spawn_blocking(work).await.ok()
    }

    /// Runs the built-in tool `name`. Fails if the arguments are invalid. Also returns a remark
    /// about unknown arguments.
    async fn run_named(
        &self,
        name: &str,
        args: Object,
        progress: impl FnMut(String) + Send,
        cancel: &CancellationToken,
    ) -> Result<(ToolOutcome, Option<String>), String> {
        Ok(match name {
            read::NAME => {
                let Parsed { args, remark } = parse(name, args)?;
                let reading = self.reading(name, cancel, move |files, stop| {
                    read::run(files, &args, stop)
                });
                (reading.await, remark)
            }
            grep::NAME => {
                let Parsed { args, remark } = parse(name, args)?;
                let reading = self.reading(name, cancel, move |files, stop| {
                    grep::run(files, &args, stop)
                });
                (reading.await, remark)
            }
            find::NAME => {
                let Parsed { args, remark } = parse(name, args)?;
                let reading = self.reading(name, cancel, move |files, stop| {
                    find::run(files, &args, stop)
                });
                (reading.await, remark)
            }
            write::NAME => {
                let Parsed { args, remark } = parse(name, args)?;
                let writing = self.blocking(name, move |files| write::run(files, &args));
                (writing.await, remark)
            }
            edit::NAME => {
                let Parsed { args, remark } = parse(name, args)?;
                let editing = self.blocking(name, move |files| edit::run(files, &args));
                (editing.await, remark)
            }
            bash::NAME => {
                let Parsed { args, remark } = parse(name, args)?;
                let running = self.shell.run(&self.workspace, args, progress, cancel);
                (running.await, remark)
            }
            background::NAME => {
                let Parsed { args, remark } = parse(name, args)?;
                let scratch = self.shell.scratch();
                let running = self.shell.background.run(args, scratch.folder(), cancel);
                (running.await, remark)
            }
            _ => {
                let Parsed { args, remark } = parse(name, args)?;
                let skills = Arc::clone(&self.skills);
                let running = self.blocking(name, move |_| skills.run(&args));
                (running.await, remark)
            }
        })
    }

    /// Runs a tool that only reads files, at most [`READS`] at a time. It ends when the call is
    /// cancelled or its future is dropped.
    async fn reading(
        &self,
        name: &str,
        cancel: &CancellationToken,
        work: impl FnOnce(&Files, &CancellationToken) -> ToolOutcome + Send + 'static,
    ) -> ToolOutcome {
        let stop = cancel.child_token();
        let _stops = stop.clone().drop_guard();
        let reading = async {
            let turn = Arc::clone(&self.reads).acquire_owned().await;
            // The blocking task holds the permit, because it continues for a while after the call
            // is cancelled.
            self.blocking(name, move |files| {
                let _turn = turn;
                work(files, &stop)
            })
            .await
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => ToolOutcome::cancelled(),
            outcome = reading => outcome,
        }
    }

    /// Runs file access on a blocking thread.
    async fn blocking(
        &self,
        name: &str,
        work: impl FnOnce(&Files) -> ToolOutcome + Send + 'static,
    ) -> ToolOutcome {
        let files = self.workspace.files();
        let working = tokio::task::spawn_blocking(move || work(&files));
        match working.await {
            Ok(outcome) => outcome,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => panicked(name, panic.as_ref()),
                Err(error) => failed(format!("`{name}` did not run: {error}")),
            },
        }
    }
}

/// Turns a panic in a tool into an error result.
fn panicked(name: &str, panic: &(dyn Any + Send)) -> ToolOutcome {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    failed(format!(
        "internal error in `{name}`: {}",
        text.unwrap_or("a panic")
    ))
}

fn spec(name: &str, description: String, schema: Value) -> ToolSpec {
    let Value::Object(schema) = schema else {
        unreachable!("every schema is a JSON object")
    };
    ToolSpec {
        name: name.to_owned(),
        description,
        schema,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_in_a_tool_is_an_error_result() {
        let folder = tempfile::tempdir().expect("a folder");
        let spawner = Spawner::new().expect("a spawner");
        let config = ToolboxConfig::new(folder.path(), folder.path().join("s"), spawner);
        let toolbox = Toolbox::new(config).expect("a toolbox");
        let outcome = toolbox.blocking("read", |_| panic!("oh {}", "no")).await;
        assert!(outcome.is_error);
        let text = format!("{outcome:?}");
        assert!(text.contains("internal error in `read`: oh no"), "{text}");
    }
}
