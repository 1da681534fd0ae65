//! The built-in tools: `read`, `write`, `edit`, `bash`, `skill`.
//!
//! A [`Toolbox`] offers them to a model and runs them. It takes no part in what else a call goes through, events,
//! interception and confirmation: that is the agent's.
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
//! While it is closed, `read`, `write` and `edit` reach what is beneath the working directory and nothing else, whatever
//! links there are and whoever changes them meanwhile. Beside it can be read what a result may refer to: the session's
//! scratch folder and the folders of skills. `bash` is confined by the kernel to writing there and in a folder for temporary files, and to
//! reading that, the system and the programs on `PATH`; it has no network, since a socket is a way out (to Docker, to the
//! session's bus). Where the kernel cannot do that, `bash` is refused. A hard link in the working directory to a file outside
//! is that file: it can be read; writing replaces the name and leaves the file alone.

mod args;
mod bash;
mod edit;
mod read;
pub(crate) mod scratch;
mod skill;
pub(crate) mod workspace;
mod write;

use std::{
    any::Any,
    io,
    os::unix::fs::DirBuilderExt,
    panic::AssertUnwindSafe,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use futures_util::FutureExt;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use zot_process::{Net, Spawner, Support};
use zot_protocol::Object;

use self::{
    args::{cancelled, failed, parse},
    bash::{CommandContext, Shell},
    scratch::Scratch,
    workspace::{Files, Workspace},
};
use crate::{ToolOutcome, provider::ToolSpec};

pub use skill::{Skill, Skills};

/// The names of the built-in tools, which no extension's tool can take.
pub const NAMES: [&str; 5] = [read::NAME, write::NAME, edit::NAME, bash::NAME, skill::NAME];

/// What a [`Toolbox`] is made of.
#[derive(Debug)]
#[non_exhaustive]
pub struct ToolboxConfig {
    /// Where the tools work.
    pub cwd: PathBuf,
    /// Where long outputs are kept, 64 MiB at the most, and in the jail a command's temporary files, which go when it ends. Made
    /// when needed, for its owner alone. The transcript refers to the outputs, so each session has a folder of its own.
    pub scratch: PathBuf,
    /// What starts commands.
    pub spawner: Spawner,
    /// The skills to offer. [`Skills::builtin`].
    pub skills: Skills,
    /// Whether the jail is closed from the beginning. No.
    pub jail: bool,
    /// Variables that no command gets: the names of the providers' keys. The token of a driver is never passed on.
    pub secrets: Vec<String>,
    /// What the kernel can enforce. [`Support::probe`].
    pub support: Support,
    /// What a command in the jail can use of the network. Nothing; with [`Net::All`] the jail holds only as far as no
    /// service on this machine can be talked into working outside of it.
    pub jail_net: Net,
    /// What can be read in the jail besides.
    pub jail_readable: Vec<PathBuf>,
    /// How long a command may take that says nothing else. 120 s.
    pub timeout: Duration,
    /// And at the most. 600 s.
    pub max_timeout: Duration,
}

impl ToolboxConfig {
    /// With the defaults.
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

/// The built-in tools. Calls may run side by side.
#[derive(Debug)]
pub struct Toolbox {
    workspace: Workspace,
    shell: Shell,
    skills: Arc<Skills>,
    /// An image is read and encoded whole, so only a few are at a time.
    reads: Semaphore,
}

/// How many files are read at a time.
const READS: usize = 2;

impl Toolbox {
    /// An error means that the jail was to be closed and the working directory cannot be opened, or that a relative path
    /// has nothing to begin at.
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
            },
            skills: Arc::new(config.skills),
            reads: Semaphore::new(READS),
        };
        toolbox.set_jail(config.jail)?;
        Ok(toolbox)
    }

    /// Where the tools work.
    pub fn cwd(&self) -> &Path {
        self.workspace.cwd()
    }

    /// Whether the jail is closed.
    pub fn is_jailed(&self) -> bool {
        self.workspace.is_jailed()
    }

    /// Closes or opens the jail. Calls that have begun go on as they were. If the working directory cannot be opened,
    /// nothing changes.
    pub fn set_jail(&self, jailed: bool) -> io::Result<()> {
        if jailed {
            // What is not there when the jail is closed cannot be read later. A home that cannot be written to is no reason
            // to leave it open.
            let _ = self.shell.scratch().make();
        }
        self.workspace.set_jail(jailed)
    }

    /// Keeps outputs elsewhere from now on: another session has begun. In the jail, the folder before can no longer be read.
    pub fn set_scratch(&self, scratch: impl Into<PathBuf>) -> io::Result<()> {
        let scratch = std::path::absolute(scratch.into())?;
        let before = self.shell.scratch();
        if before.folder() == scratch {
            return Ok(());
        }
        self.workspace.replace_readable(before.folder(), &scratch);
        let mut current = (self.shell.scratch.write()).unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(Scratch::new(scratch));
        drop(current);
        if self.is_jailed() {
            self.set_jail(true)?;
        }
        Ok(())
    }

    /// The skills it offers.
    pub fn skills(&self) -> &Skills {
        &self.skills
    }

    /// The tools, as a model is told of them.
    pub fn specs(&self) -> Vec<ToolSpec> {
        let mut specs = vec![
            read::tool_spec(),
            write::tool_spec(),
            edit::tool_spec(),
            self.shell.tool_spec(),
        ];
        if self.skills.iter().next().is_some() {
            specs.push(self.skills.tool_spec());
        }
        specs
    }

    /// Runs a tool; `None` if it is none of these. Lines of a command's output go to `progress` as they come, at a pace that
    /// can be looked at.
    ///
    /// When it is cancelled, a command ends with all that it has started, and reading stops. A file that is being written
    /// is written to its end, which takes no time, and the outcome says so: a file is never left half as it was. Dropping
    /// the future has the same effect.
    pub async fn run(
        &self,
        name: &str,
        args: Object,
        progress: impl FnMut(String) + Send,
        cancel: &CancellationToken,
    ) -> Option<ToolOutcome> {
        if !NAMES.contains(&name) {
            return None;
        }
        if cancel.is_cancelled() {
            return Some(cancelled());
        }
        let running = AssertUnwindSafe(self.run_named(name, args, progress, cancel));
        Some(match running.catch_unwind().await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(why)) => failed(why),
            Err(panic) => panicked(name, panic.as_ref()),
        })
    }

    /// `Err` where the arguments are wrong.
    async fn run_named(
        &self,
        name: &str,
        args: Object,
        progress: impl FnMut(String) + Send,
        cancel: &CancellationToken,
    ) -> Result<ToolOutcome, String> {
        Ok(match name {
            read::NAME => {
                let args = parse(name, args)?;
                // Ends the reading also when nobody waits for it any more.
                let stop = cancel.child_token();
                let _stops = stop.clone().drop_guard();
                let reading = async {
                    let _turn = self.reads.acquire().await;
                    self.blocking(name, move |files| read::run(files, &args, &stop))
                        .await
                };
                tokio::select! {
                    biased;
                    () = cancel.cancelled() => cancelled(),
                    outcome = reading => outcome,
                }
            }
            write::NAME => {
                let args = parse(name, args)?;
                self.blocking(name, move |files| write::run(files, &args))
                    .await
            }
            edit::NAME => {
                let args = parse(name, args)?;
                self.blocking(name, move |files| edit::run(files, &args))
                    .await
            }
            bash::NAME => {
                let args = parse(name, args)?;
                let ground = CommandContext {
                    cwd: self.workspace.cwd(),
                    jailed: self.workspace.is_jailed(),
                    readable: self.workspace.readable(),
                };
                self.shell.run(ground, args, progress, cancel).await
            }
            _ => {
                let args = parse(name, args)?;
                let skills = Arc::clone(&self.skills);
                self.blocking(name, move |_| skills.run(&args)).await
            }
        })
    }

    /// Runs what waits for a disk where that holds up nobody.
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

/// Makes a folder, for its owner alone, with what is missing above it.
fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(folder)
}

/// A mistake in a tool is its result, and no more than that.
fn panicked(name: &str, panic: &(dyn Any + Send)) -> ToolOutcome {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    failed(format!(
        "`{name}` failed in a way that it should not: {}",
        text.unwrap_or("a panic")
    ))
}

fn spec(name: &str, description: String, schema: Value) -> ToolSpec {
    let Value::Object(schema) = schema else {
        unreachable!("each is written as an object")
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
        assert!(
            text.contains("`read` failed in a way that it should not: oh no"),
            "{text}"
        );
    }
}
