//! Starts, watches and stops process trees.
//!
//! It is meant for programs that run other people's programs, such as an extension host or a shell
//! tool. It guarantees three things: the caller is notified immediately when a process exits, it
//! can stop a process *and everything it started*, and no process outlives the caller. As a
//! library, it waits only for its own children and changes no signal handlers or process-wide
//! settings, except through [`Subreaper::enable`].
//!
//! It knows nothing about the data in the pipes. It does not search `PATH`, restart processes or
//! allocate terminals. The caller decides what a process may access ([`Confinement`]), and the
//! kernel enforces it.
//!
//! ```
//! use std::time::Duration;
//!
//! use tokio::io::AsyncReadExt;
//! use zot_process::{Exit, LogFile, LogLimits, Spawner, Spec, pump};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let logs = tempfile::tempdir()?;
//! # let path = logs.path().join("ext-hello.log");
//! let spawner = Spawner::new()?;
//! let spec = Spec::new("/bin/sh").args(["-c", "echo hello; echo careful >&2; exit 3"]);
//! let mut process = spawner.spawn(spec).await?;
//!
//! // Copy its standard error to a log, which also keeps the last lines in memory.
//! let log = LogFile::new(path, &LogLimits::default());
//! let stderr = process.take_stderr().expect("taken once");
//! let pumping = tokio::spawn({
//!     let log = log.clone();
//!     async move { pump(stderr, &log).await }
//! });
//!
//! let mut output = String::new();
//! let mut stdout = process.take_stdout().expect("taken once");
//! stdout.read_to_string(&mut output).await?;
//! assert_eq!(output, "hello\n");
//!
//! let exit = process.wait().await;
//! assert_eq!(exit, Exit::Code(3));
//! assert_eq!(exit.to_string(), "exit status 3");
//!
//! // Stops whatever it left behind: SIGTERM first, SIGKILL after two seconds.
//! let ended = process.end(Duration::from_secs(2)).await;
//! assert!(ended.survivors.is_empty());
//!
//! pumping.await?;
//! assert_eq!(log.tail(), "careful");
//! # Ok(())
//! # }
//! ```
//!
//! # One thread starts everything
//!
//! A [`Spawner`] owns a thread that forks, watches, signals and reaps every process. The kernel
//! kills a child when the thread that forked it exits (`PR_SET_PDEATHSIG`). Children therefore die
//! when their host is killed with `kill -9`, but not when a runtime retires one of its worker
//! threads. Because one thread both reaps and signals, it never signals a reused process id. The
//! thread has its own small runtime, so trees are watched and stopped even if the caller's runtime
//! shuts down.
//!
//! A child starts in its own process group, with an empty signal mask, SIGPIPE reset to its default
//! action, and three pipes.
//!
//! # How a tree is found
//!
//! A process belongs to a tree if it descends from the process that was started, is in its process
//! group, or has one of its two marks. One mark is the environment variable `ZOT_PROCESS_TREE`. The
//! other is a resource limit, which survives an empty environment: the hard limit of
//! `RLIMIT_RTTIME`, normally unlimited, is set to a number close to 2^62. Children inherit both. A
//! grandchild that called `setsid` is therefore found through its parents, a grandchild whose
//! parents have exited is found through its group, and a grandchild that has neither is found
//! through its marks.
//!
//! A grandchild that has neither and also removed both marks is missed: it must have cleared its
//! environment and lowered the limit on purpose. (A confined process cannot lower it.) A
//! [`Subreaper`] of [all orphans](Orphans::All) still finds it when the next tree stops.
//!
//! What a [program in the foreground](run_in_foreground) leaves running has another mark, and is
//! not stopped.
//!
//! Every process that is signalled individually is signalled through a pidfd. Before SIGKILL, all
//! processes are stopped, and the search is repeated until it finds no new ones, because a process
//! killed while it forks leaves an unknown child.
//!
//! This crate cannot stop:
//!
//! - processes of another user (`sudo`);
//! - a tree that forks into new sessions faster than `/proc` can be read. Only a control group
//!   (cgroup) could contain it;
//! - after the host has been killed with `kill -9`, any process except its direct children. A
//!   direct child also survives if it executed a program that gains privileges (setuid, file
//!   capabilities), because the kernel then clears the parent-death signal.
//!
//! # Supported systems
//!
//! Linux 5.4 or later, with `/proc`. Without pidfds (an older kernel, a container's seccomp
//! filter) and on macOS, a tree is its process group: processes that leave the group are not
//! stopped, [`Process::descendants`] returns none, an exited process stays a zombie until its
//! [`Process`] is stopped or dropped, and its group is killed then. macOS also has no death signal
//! and no subreaper: when the host is killed, its children only see the end of their input.
#![warn(missing_docs)]

mod confine;
mod ending;
mod error;
mod exit;
mod foreground;
mod launch;
mod leader;
#[cfg(target_os = "linux")]
mod limit;
mod log;
mod marker;
mod member;
mod process;
mod registry;
mod shebang;
mod spawner;
mod spec;
mod subreaper;
mod table;
mod tree;

pub use confine::{Confined, Confinement, Enforced, Net, Support};
pub use ending::Ended;
pub use error::{InterpreterProblem, SpawnError};
pub use exit::Exit;
pub use foreground::run_in_foreground;
pub use log::{LogFile, LogLimits, pump, untimed};
pub use process::Process;
pub use spawner::Spawner;
pub use spec::Spec;
pub use subreaper::{Orphans, Subreaper, Swept};
pub use tree::Descendant;
