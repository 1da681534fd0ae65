use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::watch;

use crate::ending::{Ended, ExitWatch};
use crate::spawner::{Started, Thread};
use crate::tree::{Descendant, Root, Tree};
use crate::{Confined, Exit};

/// A running process and all that descends from it.
///
/// Dropping it kills the whole tree, without a grace and without blocking: the spawner's thread does it.
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

    /// Its process id, which is also that of its group. The number may be another's once the process has exited.
    pub fn id(&self) -> u32 {
        self.control.pid
    }

    /// What became of its [`Confinement`](crate::Confinement); `None` if it was started without one.
    pub fn confined(&self) -> Option<&Confined> {
        self.confined.as_ref()
    }

    /// The pipe to its standard input, the first time. Dropping it is the end of its input.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.stdin.take()
    }

    /// The pipe from its standard output, the first time.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.stdout.take()
    }

    /// The pipe from its standard error, the first time. [`pump`](crate::pump) moves it to a log.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.stderr.take()
    }

    /// How it has exited, if it has.
    pub fn exited(&self) -> Option<Exit> {
        *self.control.exit.borrow()
    }

    /// Waits until the process has exited: the process itself, not its descendants and not its pipes. A grandchild
    /// that holds its standard output open does not delay this, and what it has written may still be in the pipes.
    ///
    /// May be awaited by several, at any time, any number of times, and be cancelled.
    pub async fn wait(&self) -> Exit {
        match self.control.exit.clone().wait_for(Option::is_some).await {
            Ok(exit) => exit.unwrap_or(Exit::Unknown),
            // The spawner's thread has died, which has killed the process as well.
            Err(_) => Exit::Unknown,
        }
    }

    /// Ends the whole tree: SIGTERM to its group and to whoever left the group, `grace` to go, then SIGKILL.
    ///
    /// Resolves when the tree is gone, at the latest a second after the grace. The tree is also ended when the process
    /// itself has exited before and left others behind. What has begun goes on if the caller stops waiting; when asked
    /// again, the earlier deadline counts.
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

    /// Ends the whole tree with SIGKILL, also while [`end`](Self::end) waits for its grace to pass.
    pub async fn kill(&self) -> Ended {
        self.end(Duration::ZERO).await
    }

    /// The living processes of the tree besides the process itself, which may have exited. On systems without `/proc`
    /// there are none to be seen.
    pub async fn descendants(&self) -> Vec<Descendant> {
        let scanner = Arc::clone(&self.control.thread.scanner);
        let tree = Tree::new(self.control.root.clone());
        let look = async move { tree.find(&scanner).await };
        // An error would be a panic there; then nothing is known.
        let found = self.control.thread.handle.spawn(look).await;
        found.unwrap_or_default()
    }
}

/// The caller's end of what [`keep`](crate::spawner) does for a tree. Dropped, it has the tree killed.
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
        // Longer than any program runs; the sum must not overflow.
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
