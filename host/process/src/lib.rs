//! Starts, watches and ends a process tree.
//!
//! For a program that runs other people's programs beside itself, an extension host or a shell tool, and must be sure
//! of three things: that it hears at once when one of them exits, that it can end one *with everything it has started*,
//! and that none outlives it. It is a library inside somebody's program: it waits for no child but its own, changes no
//! signal handler and no setting of the whole process, except where [`Subreaper::enable`] is called for just that.
//!
//! It knows nothing of what goes through the pipes: no frames, no protocol. It finds no programs in `PATH`, restarts
//! nothing, and has no terminals. What a process may touch it is told ([`Confinement`]) and has the kernel enforce; it has
//! no opinion on what that should be.
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
//! // Its standard error goes to a log, which also remembers the end of it.
//! let log = LogFile::new(path, &LogLimits::default());
//! let stderr = process.take_stderr().expect("taken once");
//! let pumping = tokio::spawn({
//!     let log = log.clone();
//!     async move { pump(stderr, &log).await }
//! });
//!
//! let mut said = String::new();
//! let mut stdout = process.take_stdout().expect("taken once");
//! stdout.read_to_string(&mut said).await?;
//! assert_eq!(said, "hello\n");
//!
//! let exit = process.wait().await;
//! assert_eq!(exit, Exit::Code(3));
//! assert_eq!(exit.to_string(), "exit status 3");
//!
//! // Whatever it has left behind ends here: asked first, killed after two seconds.
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
//! A [`Spawner`] owns a thread, and every process is forked, watched, signalled and reaped there. The kernel is told to
//! kill a child when the thread that forked it ends (`PR_SET_PDEATHSIG`), so a host that is killed with -9 takes its
//! children along, and a runtime that retires a worker does not. Because one thread both reaps and signals, a number
//! that has become somebody else's is never signalled. The thread has a small runtime of its own: a tree is watched and
//! ended whatever happens to the caller's.
//!
//! A child begins with a process group of its own, an empty signal mask, SIGPIPE at its default, and three pipes.
//!
//! # How a tree is found
//!
//! A process belongs to a tree if it descends from the process that was started, or is in its process group, or
//! carries one of its two marks. One is the variable `ZOT_PROCESS_TREE`, which is added to the environment. The other is
//! a resource limit, which survives an empty environment: the hard limit of `RLIMIT_RTTIME`, unlimited by default, is a
//! number close to 2^62 instead. Both are inherited. So a grandchild that has called `setsid` is found by its parents, one
//! that has lost its parents by its group, and one that has lost both by its marks.
//!
//! A process that also lowers the limit on purpose is missed; a confined one is not allowed to. A [`Subreaper`] of
//! [all orphans](Orphans::All) still gets it: it is ended with the next tree that ends.
//!
//! Every process that is signalled by itself is held by a pidfd. Before SIGKILL all are stopped, and looked for again
//! until nobody new is found, since a process that is killed while it forks leaves a child that nobody knows.
//!
//! What is out of reach: processes of another user (`sudo`); a tree that goes on forking into new sessions faster than
//! `/proc` can be read, in milliseconds, for which only a control group would do; and, when the host is killed with -9, everything but the
//! processes it started itself. A program that is executed with more rights than its parent loses the death signal.
//!
//! # Where it runs
//!
//! Linux 5.4 or later, with `/proc`. Without pidfds (an older kernel, a container's filter), and on macOS, a tree is its
//! process group: whoever leaves that is not ended, [`Process::descendants`] sees nobody, an exited process stays a
//! zombie until its [`Process`] is ended or dropped, and its group is killed when it is. On macOS there is no death
//! signal and no subreaper either: when the host is killed, its children see the end of their input and no more.
#![warn(missing_docs)]

mod confine;
mod ending;
mod error;
mod exit;
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
pub use log::{LogFile, LogLimits, pump};
pub use process::Process;
pub use spawner::Spawner;
pub use spec::Spec;
pub use subreaper::{Orphans, Subreaper, Swept};
pub use tree::Descendant;
