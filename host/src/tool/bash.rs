//! The `bash` tool: runs a command, streams its output, and stops every process that it started.
//!
//! The call ends when the shell exits, even if a child process still has its pipe open. Processes
//! that the shell left running are then stopped and listed in the result: no process outlives its
//! call, unless the whole command was started in the background. The same happens on timeout, and
//! when the call is cancelled or its future dropped. The whole process tree is first asked to exit,
//! then killed.

mod jail;
mod lines;
mod output;
mod pump;

use std::{path::PathBuf, sync::Arc, time::Duration};

use parking_lot::RwLock;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use zot_process::{Exit, Net, Process, Spawner, Spec, Support};
use zot_protocol::{Content, RPC_TOKEN, ToolStatus};

use self::output::OutputLimits;
pub(super) use self::{output::Output, pump::Pump};
use super::{
    args::{boolean, completed, failed, grouped, integer},
    background::{self, Background, Slot},
    scratch::{Scratch, TemporaryFolder},
    spec,
    workspace::Workspace,
};
use crate::{ToolOutcome, provider::ToolSpec};

pub(super) const NAME: &str = "bash";

/// How much of a command's output the model sees, and how much is stored in a file.
const OUTPUT_LIMITS: OutputLimits = OutputLimits {
    head: 10 << 10,
    tail: 20 << 10,
    file: 64 << 20,
};
/// How long a process tree has to exit before it is killed. Git, for example, uses this time to
/// remove its locks.
pub(super) const GRACE: Duration = Duration::from_millis(500);
/// The maximum length of a command in bytes. The kernel limits an argument to 128 KiB.
const COMMAND: usize = 120_000;
/// How many background processes to list.
const NAMED: usize = 5;

#[derive(Debug, Deserialize)]
pub(super) struct Args {
    command: String,
    #[serde(default, deserialize_with = "integer")]
    timeout: Option<u64>,
    #[serde(default, deserialize_with = "boolean")]
    run_in_background: bool,
}

/// Runs commands.
#[derive(Debug)]
pub(super) struct Shell {
    pub(super) program: PathBuf,
    pub(super) spawner: Spawner,
    /// Environment variables that commands do not inherit.
    pub(super) secrets: Vec<String>,
    /// The scratch folder of the session.
    pub(super) scratch: RwLock<Arc<Scratch>>,
    pub(super) support: Support,
    pub(super) jail_net: Net,
    pub(super) timeout: Duration,
    pub(super) most: Duration,
    pub(super) background: Background,
}

/// How the command ended.
enum End {
    Exited(Exit),
    TimedOut,
    Cancelled,
}

/// Returns the shell to use.
pub(super) fn find_shell() -> PathBuf {
    let usual = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"].map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let others = std::env::split_paths(&path).map(|folder| folder.join("bash"));
    usual
        .into_iter()
        .chain(others.filter(|path| path.is_absolute()))
        .find(|path| path.is_file())
        .unwrap_or_else(|| "/bin/sh".into())
}

impl Shell {
    pub(super) fn tool_spec(&self) -> ToolSpec {
        let shell = if self.program.ends_with("bash") {
            "bash"
        } else {
            "sh (bash is not installed)"
        };
        let (timeout, most) = (self.timeout.as_secs(), self.most.as_secs());
        spec(
            NAME,
            format!(
                "Runs a command with {shell} in the working directory and returns its output, including standard error, and its exit \
                 status. Each call starts a new shell: `cd` and variables do not carry over. There is no terminal and no input. If the \
                 output is long, the result contains its beginning and its end, and the path of a file with the full output. When the shell exits, \
                 the processes that it left running are killed: start a server or a long-running command with `run_in_background`, and use `{}` \
                 to read its output or to kill it.",
                background::NAME
            ),
            json!({
                "type": "object",
                "properties": {
                    "command": {"type": "string", "description": "The command to run."},
                    "timeout": {
                        "type": "integer", "minimum": 1, "maximum": most,
                        "description": format!("The timeout in seconds. Default: {timeout}.")
                    },
                    "run_in_background": {"type": "boolean", "description": "Return immediately and let the command run without a timeout, until it exits or zot ends. Default: false."}
                },
                "required": ["command"],
                "additionalProperties": false
            }),
        )
    }

    pub(super) async fn run(
        &self,
        workspace: &Workspace,
        args: Args,
        progress: impl FnMut(String),
        cancel: &CancellationToken,
    ) -> ToolOutcome {
        let limit = args.timeout.map_or(self.timeout, Duration::from_secs);
        if limit.is_zero() || limit > self.most {
            return failed(format!(
                "`timeout` is {}, but must be from 1 to {} seconds",
                limit.as_secs(),
                self.most.as_secs()
            ));
        }
        let scratch = self.scratch();
        // Reserve what a background command needs before it starts, so that a refused command does
        // nothing.
        let background = match args.run_in_background.then(|| self.reserve(&scratch)) {
            None => None,
            Some(Ok(reserved)) => Some(reserved),
            Some(Err(why)) => return failed(why),
        };
        let temporary = match workspace
            .is_jailed()
            .then(|| scratch.temporary())
            .transpose()
        {
            Ok(temporary) => temporary,
            Err(error) => {
                let folder = scratch.folder().display();
                return failed(format!("cannot access `{folder}`: {error}"));
            }
        };
        let spec = match self.command(workspace, &args.command, temporary.as_ref()) {
            Ok(spec) => spec,
            Err(why) => return failed(why),
        };
        let mut process = match self.spawner.spawn(spec).await {
            Ok(process) => process,
            Err(error) => return failed(error.to_string()),
        };
        // Close standard input. The pipe for standard error is not used, because standard error
        // goes to the same pipe as standard output.
        drop((process.take_stdin(), process.take_stderr()));
        if let Some((slot, output, file)) = background {
            let path = file.display().to_string();
            let id = self
                .background
                .add(slot, args.command, process, output, file, temporary);
            return completed(format!(
                "started in the background as {id}; its output goes to {path}"
            ));
        }
        let output = Output::new(scratch, OUTPUT_LIMITS);
        let mut pump = Pump::new(process.take_stdout(), output, progress);
        let over = async {
            tokio::select! {
                biased;
                () = cancel.cancelled() => End::Cancelled,
                exit = process.wait() => End::Exited(exit),
                () = tokio::time::sleep(limit) => End::TimedOut,
            }
        };
        let end = pump.until(over).await;
        let left = if let End::Exited(_) = end {
            pump.drain().await;
            left_running(&process).await
        } else {
            None
        };
        let ended = pump.until(process.end(GRACE)).await;
        pump.drain().await;
        if let Some(temporary) = temporary {
            temporary.remove().await;
        }
        let survivors = ended.survivors.iter().map(|it| it.pid.to_string());
        let survivors: Vec<String> = survivors.collect();
        outcome(&end, pump.finish(), limit, left, &survivors)
    }

    /// Reserves what a background command needs: a slot and a file for its output.
    fn reserve(&self, scratch: &Arc<Scratch>) -> Result<(Slot<'_>, Output, PathBuf), String> {
        let slot = self.background.reserve()?;
        let (output, file) = Output::in_file(scratch, background::FILE)
            .map_err(|error| format!("cannot save the output: {error}"))?;
        Ok((slot, output, file))
    }

    pub(super) fn scratch(&self) -> Arc<Scratch> {
        Arc::clone(&self.scratch.read())
    }

    fn command(
        &self,
        workspace: &Workspace,
        command: &str,
        temporary: Option<&TemporaryFolder>,
    ) -> Result<Spec, String> {
        if command.contains('\0') {
            return Err("command contains a NUL byte".to_owned());
        }
        if command.len() > COMMAND {
            return Err(format!(
                "command is {} bytes, but the limit is {}\nhint: write it to a file and run the file",
                grouped(command.len() as u64),
                grouped(COMMAND as u64)
            ));
        }
        // Use one pipe for standard output and standard error, to keep their order.
        let merged = "exec \"$0\" -c \"$1\" 2>&1";
        let spec = Spec::new(&self.program)
            .args(["-c", merged])
            .arg(&self.program)
            .arg(command)
            .cwd(workspace.cwd())
            // There is no user to answer prompts.
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("PAGER", "cat");
        let withheld = self.secrets.iter().map(String::as_str).chain([RPC_TOKEN]);
        let spec = withheld.fold(spec, Spec::env_remove);
        match temporary {
            Some(temporary) => self.confine(spec, workspace, temporary.path()),
            None => Ok(spec),
        }
    }
}

/// Describes the processes that the shell left running.
async fn left_running(process: &Process) -> Option<String> {
    let left = process.descendants().await;
    if left.is_empty() {
        return None;
    }
    let mut names: Vec<String> = left.iter().take(NAMED).map(|it| it.name.clone()).collect();
    if left.len() > NAMED {
        names.push(format!("{} more", left.len() - NAMED));
    }
    Some(names.join(", "))
}

fn outcome(
    end: &End,
    mut text: String,
    limit: Duration,
    left: Option<String>,
    survivors: &[String],
) -> ToolOutcome {
    let (status, note) = match end {
        End::Exited(exit) if exit.success() => (ToolStatus::Completed, None),
        End::Exited(exit) => (ToolStatus::Failed, Some(exit.to_string())),
        End::TimedOut => (
            ToolStatus::TimedOut,
            Some(format!(
                "timed out after {} s and was killed",
                limit.as_secs()
            )),
        ),
        End::Cancelled if text.is_empty() => return ToolOutcome::cancelled(),
        End::Cancelled => (ToolStatus::Cancelled, Some("cancelled".to_owned())),
    };
    let left = left.map(|left| format!("killed background processes: {left}"));
    let survivors = (!survivors.is_empty()).then(|| {
        let es = if survivors.len() == 1 { "" } else { "es" };
        format!("cannot kill process{es} {}", survivors.join(", "))
    });
    if text.is_empty() {
        text.push_str("(no output)");
    }
    for note in [note, left, survivors].into_iter().flatten() {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("[{note}]"));
    }
    let exit_code = match end {
        End::Exited(Exit::Code(code)) => Some(*code),
        _ => None,
    };
    ToolOutcome {
        structured_content: Some(json!({"exit_code": exit_code})),
        ..ToolOutcome::new(status, vec![Content::text(text)])
    }
}
