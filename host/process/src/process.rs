use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::watch;

use crate::ending::{Ended, ExitWatch};
use crate::spawner::{Started, Thread};
use crate::tree::{Descendant, Root, Tree};
use crate::{Confined, Exit};

/// A running process and its descendants.
///
/// Dropping it kills the whole tree immediately. This does not block, because the spawner's thread
/// does the work.
#[derive(Debug)]
#[must_use = "dropping it kills the process"]
pub struct Process {
    control: Control,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    confined: Option<Confined>,
}

impl Process {
    /// Registers the pipes with the current runtime.
    pub(crate) fn new(started: Started) -> io::Result<Self> {
        Ok(Self {
            control: started.control,
            confined: started.confined,
            stdin: started.stdin.map(ChildStdin::from_std).transpose()?,
            stdout: started.stdout.map(ChildStdout::from_std).transpose()?,
            stderr: started.stderr.map(ChildStderr::from_std).transpose()?,
        })
    }

    /// Returns the process id, which is also the group id. The id may be reused after the process
    /// exits.
    pub fn id(&self) -> u32 {
        self.control.pid
    }

    /// Returns how the process was [confined](crate::Confinement); `None` if it was started without
    /// confinement.
    pub fn confined(&self) -> Option<&Confined> {
        self.confined.as_ref()
    }

    /// Takes the pipe to its standard input. Dropping the pipe closes the input.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.stdin.take()
    }

    /// Takes the pipe from its standard output.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.stdout.take()
    }

    /// Takes the pipe from its standard error. [`pump`](crate::pump) copies it to a log.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.stderr.take()
    }

    /// Returns how the process exited; `None` if it is still running.
    pub fn exited(&self) -> Option<Exit> {
        *self.control.exit.borrow()
    }

    /// Waits for the process itself to exit, not for its descendants or its pipes. A grandchild
    /// that keeps standard output open does not delay this, and the pipes may still contain output.
    ///
    /// Can be awaited concurrently and repeatedly, and is cancel safe.
    pub async fn wait(&self) -> Exit {
        match self.control.exit.clone().wait_for(Option::is_some).await {
            Ok(exit) => exit.unwrap_or(Exit::Unknown),
            // The spawner's thread has died, which killed the process too.
            Err(_) => Exit::Unknown,
        }
    }

    /// Stops the whole tree: sends SIGTERM to its group and to processes that left the group, waits
    /// for `grace`, then sends SIGKILL.
    ///
    /// Resolves when the tree is gone, normally at most a second after the grace period. Also stops
    /// processes left behind after the process itself has exited. Continues if the caller stops
    /// waiting. If called again, the earlier deadline applies.
    pub async fn end(&self, grace: Duration) -> Ended {
        self.control.end_by(grace);
        match self.control.ended.clone().wait_for(Option::is_some).await {
            Ok(ended) => ended.clone(),
            Err(_) => None,
        }
        .unwrap_or_else(|| Ended {
            exit: self.exited(),
            forced: true,
            survivors: Vec::new(),
        })
    }

    /// Kills the whole tree with SIGKILL, even during the grace period of [`end`](Self::end).
    pub async fn kill(&self) -> Ended {
        self.end(Duration::ZERO).await
    }

    /// Returns the running processes of the tree, except the process itself. Empty on systems
    /// without `/proc`.
    pub async fn descendants(&self) -> Vec<Descendant> {
        let scanner = Arc::clone(&self.control.thread.scanner);
        let tree = Tree::new(self.control.root.clone());
        let search = async move { tree.find(&scanner).await };
        // An error means that the task panicked, so nothing is known.
        let found = self.control.thread.handle.spawn(search).await;
        found.unwrap_or_default()
    }
}

/// The caller's handle to `watch_tree`. Dropping it kills the tree.
#[derive(Debug)]
pub(crate) struct Control {
    pub(crate) pid: u32,
    pub(crate) root: Root,
    pub(crate) thread: Arc<Thread>,
    pub(crate) deadline: watch::Sender<Option<Instant>>,
    pub(crate) exit: ExitWatch,
    pub(crate) ended: watch::Receiver<Option<Ended>>,
}

impl Control {
    fn end_by(&self, grace: Duration) {
        // Longer than any program runs, but short enough that the sum does not overflow.
        const FOREVER: Duration = Duration::from_secs(1 << 32);
        let at = Instant::now() + grace.min(FOREVER);
        self.deadline.send_if_modified(|deadline| {
            let sooner = deadline.is_none_or(|old| at < old);
            if sooner {
                *deadline = Some(at);
            }
            sooner
        });
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.end_by(Duration::ZERO);
    }
}
