//! The end of a tree: asked to go, given time, then killed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::sync::watch;

use crate::Exit;
use crate::table::{Scanner, Table};
use crate::tree::{Descendant, Tree};

/// How long the kernel is given to carry out SIGKILL. Only a process in an uninterruptible wait, or one that belongs
/// to another user, takes longer.
const AFTER_KILL: Duration = Duration::from_secs(1);

/// How long processes are looked for while a tree is being stopped. One look after the other finds nobody new, except
/// in a tree that runs away: that one is killed as far as it is known, and looked for again.
const STOPPING: Duration = Duration::from_secs(1);

/// How long that may take for more processes than can be held at a time.
const MANY: Duration = Duration::from_secs(10);

/// How a tree ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ended {
    /// How the started process ended; `None` if not even SIGKILL has ended it yet.
    pub exit: Option<Exit>,
    /// Whether anything was still there when the grace was over, and had to be killed.
    pub forced: bool,
    /// What not even SIGKILL has ended: processes of another user, or stuck in the kernel.
    pub survivors: Vec<Descendant>,
}

/// When the grace is over. `None` while nobody has asked for the end; it only ever moves closer.
pub(crate) type Deadline = watch::Receiver<Option<Instant>>;

/// The leader's exit, published once it has been reaped.
pub(crate) type ExitWatch = watch::Receiver<Option<Exit>>;

/// A tree on its way to the end.
pub(crate) struct Ending {
    pub(crate) tree: Tree,
    /// `None` for a tree without a leader.
    pub(crate) exit: Option<ExitWatch>,
    pub(crate) scanner: Arc<Scanner>,
    /// Whether the group is all that is known of the tree (see [`Leader::is_blind`](crate::leader::Leader::is_blind)).
    pub(crate) blind: bool,
}

impl Ending {
    /// Ends the tree. Once it has begun it is never cancelled: it runs on the spawner's thread.
    pub(crate) async fn run(mut self, mut deadline: Deadline) -> Ended {
        let forced = !self.ask(&mut deadline).await && self.force().await;
        if self.blind {
            // Whether others of the group live on cannot be seen.
            self.tree.signal(Signal::KILL);
        }
        self.tree.reap_adopted();
        Ended {
            exit: self.exit.and_then(|exit| *exit.borrow()),
            forced,
            survivors: self.tree.descendants(),
        }
    }

    /// SIGTERM to all; whether all have gone before the deadline.
    async fn ask(&mut self, deadline: &mut Deadline) -> bool {
        let mut asked = false;
        loop {
            let table = self.table().await;
            let look = self.tree.look(&table);
            let settled = look.is_settled();
            if asked {
                // Born since, or found only now: asked one by one.
                for member in look.new {
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
            if !asked {
                self.tree.signal(Signal::TERM);
                // A stopped process would not see it before the deadline.
                self.tree.signal(Signal::CONT);
                asked = true;
            }
            tokio::select! {
                () = self.gone() => {}
                () = over(deadline) => return self.is_gone() && self.is_settled().await,
            }
        }
    }

    /// SIGKILL to all; whether there was anybody.
    async fn force(&mut self) -> bool {
        let mut forced = false;
        let start = Instant::now();
        let until = start + STOPPING;
        loop {
            // Whoever is stopped cannot fork, and cannot leave children behind that are no longer found as such. So
            // all are stopped first, until a look finds nobody new.
            self.tree.signal(Signal::STOP);
            while !self.stop().await && !self.tree.is_short() && Instant::now() < until {}
            forced |= !self.is_gone();
            self.tree.signal(Signal::KILL);
            let gone = tokio::time::timeout(AFTER_KILL, self.gone()).await;
            if gone.is_err() || self.is_settled().await {
                return forced;
            }
            // Those that could not be held before are next, which may take a few rounds.
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

    /// Stops whoever was not known. Whether that is nobody, and will be nobody the next time.
    async fn stop(&mut self) -> bool {
        let table = self.table().await;
        let look = self.tree.look(&table);
        for member in look.new {
            member.signal(Signal::STOP);
        }
        look.is_settled()
    }

    /// Whether a new look at the system finds nobody.
    async fn is_settled(&mut self) -> bool {
        let table = self.table().await;
        self.tree.look(&table).is_settled()
    }

    async fn table(&self) -> Arc<Table> {
        if self.blind {
            // What is in it could not be held.
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
            // An error would mean that nobody watches the leader any more, which ends with this task.
            let _ = exit.clone().wait_for(Option::is_some).await;
        }
        self.tree.gone().await;
    }
}

fn is_over(deadline: &Deadline) -> bool {
    deadline.borrow().is_some_and(|at| at <= Instant::now())
}

/// Resolves when the deadline has passed, which may be moved closer meanwhile.
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
            // Its sender may be gone; then it stays where it is.
            Ok(()) = deadline.changed() => {}
        }
    }
}
