//! Stops a tree: SIGTERM, a grace period, then SIGKILL.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::sync::watch;

use crate::Exit;
use crate::table::{Scanner, Table};
use crate::tree::{Descendant, Tree};

/// How long to wait for the kernel to carry out SIGKILL. Only a process in an uninterruptible
/// sleep, or another user's process, takes longer.
const AFTER_KILL: Duration = Duration::from_secs(1);

/// How long to keep searching for processes before and after SIGKILL. Only a tree that keeps
/// forking reaches this limit: its known processes are then killed.
const STOPPING: Duration = Duration::from_secs(1);

/// The same limit for a tree with more processes than pidfds that can be open at a time.
const MANY: Duration = Duration::from_secs(10);

/// How a tree was stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ended {
    /// How the leader exited; `None` if not even SIGKILL has ended it yet.
    pub exit: Option<Exit>,
    /// Whether any process was still running after the grace period and had to be killed.
    pub forced: bool,
    /// Processes that are still running after SIGKILL, because they belong to another user or are
    /// stuck in the kernel.
    pub survivors: Vec<Descendant>,
}

/// The end of the grace period; `None` until a stop is requested. It can be moved earlier, but not
/// later.
pub(crate) type Deadline = watch::Receiver<Option<Instant>>;

/// The leader's exit, published after it was reaped.
pub(crate) type ExitWatch = watch::Receiver<Option<Exit>>;

/// A tree that is being stopped.
pub(crate) struct Ending {
    pub(crate) tree: Tree,
    /// `None` for a tree without a leader.
    pub(crate) exit: Option<ExitWatch>,
    pub(crate) scanner: Arc<Scanner>,
    /// Whether only the process group is known (see
    /// [`Leader::lacks_pidfd`](crate::leader::Leader::lacks_pidfd)).
    pub(crate) lacks_pidfd: bool,
}

impl Ending {
    /// Stops the tree. Runs on the spawner's thread and is never cancelled.
    pub(crate) async fn run(mut self, mut deadline: Deadline) -> Ended {
        let forced = !self.terminate(&mut deadline).await && self.kill().await;
        if self.lacks_pidfd {
            // Without a process table, we cannot tell whether other members of the group are alive,
            // so kill the whole group.
            self.tree.signal(Signal::KILL);
        }
        self.tree.reap_adopted();
        Ended {
            exit: self.exit.and_then(|exit| *exit.borrow()),
            forced,
            survivors: self.tree.descendants(),
        }
    }

    /// Sends SIGTERM to all processes. Returns whether all of them exited before the deadline.
    async fn terminate(&mut self, deadline: &mut Deadline) -> bool {
        let mut signalled = false;
        loop {
            let table = self.table().await;
            let found = self.tree.search(&table);
            let settled = found.is_settled;
            if signalled {
                // Processes that are new, or were found only now, are signalled one by one.
                for member in found.new {
                    member.signal(Signal::TERM);
                    member.signal(Signal::CONT);
                }
            }
            if settled && self.is_gone() {
                return true;
            }
            if is_over(deadline) {
                return false;
            }
            if !signalled {
                self.tree.signal(Signal::TERM);
                // Resume stopped processes, which would otherwise not handle SIGTERM.
                self.tree.signal(Signal::CONT);
                signalled = true;
            }
            tokio::select! {
                () = self.gone() => {}
                () = over(deadline) => return self.is_gone() && self.is_settled().await,
            }
        }
    }

    /// Sends SIGKILL to all processes. Returns whether there were any.
    async fn kill(&mut self) -> bool {
        let mut forced = false;
        let start = Instant::now();
        let until = start + STOPPING;
        loop {
            // A stopped process cannot fork, so it cannot leave a child that can no longer be
            // found. So first stop processes until a search finds no new ones.
            self.tree.signal(Signal::STOP);
            while !self.stop().await && !self.tree.is_short() && Instant::now() < until {}
            forced |= !self.is_gone();
            self.tree.signal(Signal::KILL);
            let gone = tokio::time::timeout(AFTER_KILL, self.gone()).await;
            if gone.is_err() || self.is_settled().await {
                return forced;
            }
            // Next, kill the processes for which no pidfd was available. This may take a few
            // rounds.
            let until = if self.tree.is_short() {
                start + MANY
            } else {
                until
            };
            if Instant::now() > until {
                return forced;
            }
        }
    }

    /// Sends SIGSTOP to newly found processes. Returns whether there were none and no more are
    /// expected.
    async fn stop(&mut self) -> bool {
        let table = self.table().await;
        let found = self.tree.search(&table);
        for member in found.new {
            member.signal(Signal::STOP);
        }
        found.is_settled
    }

    /// Searches again, and reports whether the search is complete.
    async fn is_settled(&mut self) -> bool {
        let table = self.table().await;
        self.tree.search(&table).is_settled
    }

    async fn table(&self) -> Arc<Table> {
        if self.lacks_pidfd {
            // Without pidfds, processes from a table cannot be signalled safely, so use none.
            Arc::default()
        } else {
            self.scanner.table().await
        }
    }

    fn is_gone(&self) -> bool {
        let leader_gone = self
            .exit
            .as_ref()
            .is_none_or(|exit| exit.borrow().is_some());
        leader_gone && self.tree.is_gone()
    }

    async fn gone(&self) {
        if let Some(exit) = &self.exit {
            // An error means that the task that watches the leader has ended. This task then ends
            // too.
            let _ = exit.clone().wait_for(Option::is_some).await;
        }
        self.tree.gone().await;
    }
}

fn is_over(deadline: &Deadline) -> bool {
    deadline.borrow().is_some_and(|at| at <= Instant::now())
}

/// Resolves when the deadline has passed. The deadline may be moved earlier in the meantime.
async fn over(deadline: &mut Deadline) {
    loop {
        let at = *deadline.borrow_and_update();
        let passed = async {
            match at {
                Some(at) => tokio::time::sleep_until(at.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = passed => return,
            // If the sender is gone, the deadline no longer changes.
            Ok(()) = deadline.changed() => {}
        }
    }
}
