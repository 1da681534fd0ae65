use std::io;
use std::process::{ChildStderr, ChildStdin, ChildStdout};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Signal, WaitOptions, kill_process, waitpid};
use tokio::runtime::{Builder, Handle};
use tokio::sync::{oneshot, watch};

use crate::confine::Jail;
use crate::ending::{Deadline, Ended, Ending};
use crate::launch::launch;
use crate::leader::Leader;
use crate::marker::TreeId;
use crate::process::Control;
use crate::registry::{self, Live};
use crate::table::Scanner;
use crate::tree::{Root, Tree};
use crate::{Confined, Exit, Process, SpawnError, Spec};

/// How many times to retry if the file is busy (ETXTBSY). All retries together take half a second,
/// because a failure to start must be reported within one second.
const BUSY_TRIES: u32 = 25;
const BUSY_PAUSE: Duration = Duration::from_millis(20);

/// Starts, watches and stops processes, all on its own thread.
///
/// The kernel kills a child when the *thread* that forked it exits, so that thread must not be one
/// that a runtime or a caller may end. The spawner's thread lives as long as any clone of the
/// spawner, any [`Process`], and any tree that is still being stopped.
///
/// A program needs one spawner. Clones are cheap and share it.
#[derive(Debug, Clone)]
pub struct Spawner {
    pub(crate) thread: Arc<Thread>,
}

#[derive(Debug)]
pub(crate) struct Thread {
    /// The thread's runtime; tasks spawned on it run on the thread.
    pub(crate) handle: Handle,
    pub(crate) scanner: Arc<Scanner>,
    trees: watch::Sender<usize>,
    /// The thread exits when this is dropped.
    _alive: oneshot::Sender<()>,
}

impl Spawner {
    /// Starts the thread. Fails if the system has no threads or file descriptors left.
    pub fn new() -> io::Result<Self> {
        let runtime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()?;
        let handle = runtime.handle().clone();
        let (alive, ended) = oneshot::channel::<()>();
        std::thread::Builder::new()
            .name("zot-spawner".to_owned())
            .spawn(move || {
                // Resolves with an error when the other end is dropped.
                let _ = runtime.block_on(ended);
            })?;
        Ok(Self {
            thread: Arc::new(Thread {
                handle,
                scanner: Arc::default(),
                trees: watch::Sender::new(0),
                _alive: alive,
            }),
        })
    }

    /// Starts a process. Must be called on a tokio runtime with I/O enabled, which drives its
    /// pipes; the process itself does not depend on that runtime.
    ///
    /// Returns once the program is running or has failed to start. If the caller stops waiting, the
    /// process is killed.
    pub async fn spawn(&self, spec: Spec) -> Result<Process, SpawnError> {
        let program = spec.program().to_owned();
        let other = |source| SpawnError::Other { program, source };
        let thread = Arc::clone(&self.thread);
        let started = self
            .thread
            .handle
            .spawn(async move { start_when_written(thread, &spec).await });
        match started.await {
            Ok(started) => Process::new(started?).map_err(other),
            Err(error) => Err(other(io::Error::other(error))),
        }
    }

    /// Resolves when every tree of this spawner has ended.
    ///
    /// A dropped [`Process`] is killed in the background; a program that is about to exit can wait
    /// for that here.
    pub async fn idle(&self) {
        // The sender lives as long as `self`.
        let _ = self.thread.trees.subscribe().wait_for(|n| *n == 0).await;
    }
}

/// A started process whose pipes are not yet registered with a runtime.
pub(crate) struct Started {
    pub(crate) control: Control,
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: Option<ChildStdout>,
    pub(crate) stderr: Option<ChildStderr>,
    pub(crate) confined: Option<Confined>,
}

/// Starts a process, and retries for a while if its file is busy (ETXTBSY).
///
/// A program that was just installed can be busy even after its writer has closed it: if another
/// thread forked while the file was being written, the forked child has it open until it calls
/// exec.
async fn start_when_written(thread: Arc<Thread>, spec: &Spec) -> Result<Started, SpawnError> {
    for _ in 0..BUSY_TRIES {
        match start(Arc::clone(&thread), spec) {
            Err(SpawnError::Other { source, .. })
                if source.kind() == io::ErrorKind::ExecutableFileBusy =>
            {
                tokio::time::sleep(BUSY_PAUSE).await;
            }
            result => return result,
        }
    }
    start(thread, spec)
}

/// Starts a process and begins to watch it. Runs on the spawner's thread.
fn start(thread: Arc<Thread>, spec: &Spec) -> Result<Started, SpawnError> {
    let id = TreeId::next();
    let jail = spec.confinement().map(|confinement| {
        Jail::build(confinement, spec).map_err(|source| SpawnError::unconfined(spec, source))
    });
    let (jail, confined) = jail.transpose()?.unzip();
    let spawn = || {
        let launched = launch(spec, id, jail.as_ref())?;
        match Leader::hold(launched.pid) {
            Ok(leader) => Ok((launched, leader)),
            Err(error) => {
                // The process cannot be watched, so kill it.
                let killed = kill_process(launched.pid, Signal::KILL);
                let _ = killed.and_then(|()| waitpid(Some(launched.pid), WaitOptions::empty()));
                Err(error)
            }
        }
    };
    let (live, (launched, leader)) =
        registry::start(id, spawn, |(_, leader)| leader.group().clone())
            .map_err(|error| SpawnError::diagnose(spec, error))?;

    let root = Root::Started {
        id,
        group: leader.group().clone(),
    };
    let (deadline, on_deadline) = watch::channel(None);
    let (exit, on_exit) = watch::channel(None);
    let (ended, on_ended) = watch::channel(None);
    let ending = Ending {
        tree: Tree::new(root.clone()),
        exit: Some(on_exit.clone()),
        scanner: Arc::clone(&thread.scanner),
        lacks_pidfd: leader.lacks_pidfd(),
    };
    thread.trees.send_modify(|n| *n += 1);
    let guard = TreeGuard {
        thread: Arc::clone(&thread),
        _live: live,
    };
    tokio::spawn(watch_tree(guard, leader, ending, on_deadline, exit, ended));
    Ok(Started {
        stdin: launched.stdin,
        stdout: launched.stdout,
        stderr: launched.stderr,
        confined,
        control: Control {
            pid: launched.pid.as_raw_pid().unsigned_abs(),
            root,
            thread,
            deadline,
            exit: on_exit,
            ended: on_ended,
        },
    })
}

/// State that lives as long as a tree.
struct TreeGuard {
    thread: Arc<Thread>,
    _live: Live,
}

impl Drop for TreeGuard {
    fn drop(&mut self) {
        self.thread.trees.send_modify(|n| *n -= 1);
    }
}

/// Watches a tree from start to end. One task both signals and reaps, so it never signals a
/// reaped process by its id.
async fn watch_tree(
    _guard: TreeGuard,
    mut leader: Leader,
    ending: Ending,
    mut deadline: Deadline,
    exit: watch::Sender<Option<Exit>>,
    ended: watch::Sender<Option<Ended>>,
) {
    let mut on_ended = ended.subscribe();
    let watching = async {
        leader.ended().await;
        if leader.lacks_pidfd() {
            exit.send_replace(Some(leader.peek()));
            let _ = on_ended.wait_for(Option::is_some).await;
            leader.reap().await;
        } else {
            exit.send_replace(Some(leader.reap().await));
        }
    };
    let ending = async {
        // The sender sets a deadline when it is dropped, so there always is one.
        let _ = deadline.wait_for(Option::is_some).await;
        ended.send_replace(Some(ending.run(deadline).await));
    };
    tokio::join!(watching, ending);
}
