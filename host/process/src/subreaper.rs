//! Orphans: processes that lost their parent and were adopted by this program, their subreaper.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::getpid;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::Spawner;
use crate::ending::Ending;
use crate::member::Member;
use crate::registry::Listed;
use crate::spawner::Thread;
use crate::table::{Row, Scanner, Table};
use crate::tree::{Descendant, Root, Tree};

/// Which children of this program count as orphans of its trees.
///
/// A process of a tree whose [`Process`](crate::Process) has not been dropped is never swept; it is
/// stopped with its tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Orphans {
    /// Children that have a mark of a tree of this program. Children that the program started by
    /// other means have no mark and are never touched. A daemon that removed both its marks is
    /// missed (see [how a tree is found](crate#how-a-tree-is-found)).
    Marked,
    /// Every child that this crate did not start itself. An orphan without a mark is also stopped
    /// together with the next tree that stops, unless that tree was started after the orphan. Use
    /// this only in a program that starts all its processes with this crate: other code that waits
    /// for its own child would find it already reaped.
    All,
}

impl Orphans {
    /// Returns the orphans in the table, without their descendants.
    pub(crate) fn rows(self, table: &Table) -> Vec<&Row> {
        let listed = Listed::now();
        adopted(table, &listed)
            .filter(|row| !row.is_of_foreground())
            .filter(|row| match row.tree() {
                Some(tree) => !listed.has(tree),
                None => self == Self::All && !in_live_group(row, table, &listed),
            })
            .collect()
    }

    /// Returns the orphans, and the processes that this crate started and still watches.
    pub(crate) fn rows_and_leaders(self, table: &Table) -> Vec<&Row> {
        let own = getpid().as_raw_pid();
        let listed = Listed::now();
        table
            .rows()
            .filter(|row| row.parent == own && !row.is_of_foreground())
            .filter(|row| self == Self::All || listed.is_leader(row.pid) || is_marked(row))
            .collect()
    }
}

/// Makes this program adopt the orphans of its trees, instead of the system's init process.
///
/// A daemon forks twice and its parent exits, so it can no longer be found from the tree it came
/// from. With a subreaper, it becomes a child of this program. The setting applies to the whole
/// process, so a binary should enable it, not a library. Dropping the `Subreaper` disables it.
///
/// Orphans that exit by themselves are reaped when SIGCHLD arrives. Under [`Orphans::Marked`], an
/// orphan stays a zombie until this program exits if it removed its limit (the only mark that an
/// exited process keeps), started its own session and exited before a scan found it. Under
/// [`Orphans::All`], no orphan stays a zombie.
#[derive(Debug)]
pub struct Subreaper {
    thread: Arc<Thread>,
    orphans: Orphans,
    reaper: AbortHandle,
    was_set: bool,
}

/// The number of subreapers with [`Orphans::All`].
static OF_ALL: AtomicUsize = AtomicUsize::new(0);

/// Returns the orphans without a mark of any tree. Every process of a tree has one and can lose it
/// only on purpose, so we cannot tell which tree these came from. They are stopped with the next
/// tree. Returns none if a child without a mark is not necessarily an orphan, because this program
/// may start children by other means or have trees without a mark.
#[cfg(target_os = "linux")]
pub(crate) fn unclaimed(table: &Table) -> Vec<&Row> {
    if OF_ALL.load(Ordering::Relaxed) == 0 || !crate::limit::is_reliable() {
        return Vec::new();
    }
    let mut rows = Orphans::All.rows(table);
    rows.retain(|row| row.tree().is_none());
    rows
}

/// Returns none, because this system has no subreaper.
#[cfg(not(target_os = "linux"))]
pub(crate) fn unclaimed(_: &Table) -> Vec<&Row> {
    Vec::new()
}

/// The result of a sweep.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Swept {
    /// The orphans that were found, including their descendants.
    pub found: Vec<Descendant>,
    /// The orphans that are still running after SIGKILL.
    pub survivors: Vec<Descendant>,
}

impl Subreaper {
    /// Makes this program a subreaper. Fails with `Unsupported` on systems other than Linux.
    pub fn enable(spawner: &Spawner, orphans: Orphans) -> io::Result<Self> {
        let thread = Arc::clone(&spawner.thread);
        let sigchld = {
            let _runtime = thread.handle.enter();
            signal(SignalKind::child())?
        };
        let was_set = setting::replace(true)?;
        if orphans == Orphans::All {
            OF_ALL.fetch_add(1, Ordering::Relaxed);
        }
        let reaper = Reaper {
            scanner: Arc::clone(&thread.scanner),
            orphans,
            session: session(),
            held: HashSet::new(),
        };
        // The task must not keep the thread alive: the thread exits when it is no longer used.
        let reaper = thread.handle.spawn(reaper.run(sigchld)).abort_handle();
        Ok(Self {
            thread,
            orphans,
            reaper,
            was_set,
        })
    }

    /// Stops and reaps the orphans of ended trees: sends SIGTERM, waits for `grace`, then sends
    /// SIGKILL.
    ///
    /// Call it last before the program exits, after its processes have been stopped.
    pub async fn sweep(&self, grace: Duration) -> Swept {
        self.end(Root::Orphans(self.orphans), grace).await
    }

    /// Kills everything that this program started, with all descendants. Use it when the user does
    /// not want to wait for a clean stop. Afterwards, the program should do nothing but exit.
    pub async fn kill_everything(&self) -> Swept {
        self.end(Root::Everything(self.orphans), Duration::ZERO)
            .await
    }

    async fn end(&self, root: Root, grace: Duration) -> Swept {
        let scanner = Arc::clone(&self.thread.scanner);
        let sweep = async move {
            let found = Tree::new(root.clone()).find(&scanner).await;
            let (_kept, deadline) = watch::channel(Instant::now().checked_add(grace));
            let ending = Ending {
                tree: Tree::new(root),
                exit: None,
                scanner: Arc::clone(&scanner),
                lacks_pidfd: false,
            };
            let survivors = ending.run(deadline).await.survivors;
            Swept { found, survivors }
        };
        // This continues if the caller stops waiting. An error means that the task panicked, so
        // nothing is known.
        self.thread.handle.spawn(sweep).await.unwrap_or_default()
    }
}

impl Drop for Subreaper {
    fn drop(&mut self) {
        self.reaper.abort();
        if self.orphans == Orphans::All {
            OF_ALL.fetch_sub(1, Ordering::Relaxed);
        }
        if !self.was_set {
            // Setting it worked, so resetting it works too.
            let _ = setting::replace(false);
        }
    }
}

/// How many times, and after what delay, to check again for the mark of a process that is in the
/// middle of `execve`.
const UNSURE_TRIES: u32 = 5;
const UNSURE_PAUSE: Duration = Duration::from_millis(20);

/// Reaps orphans that exit by themselves.
struct Reaper {
    scanner: Arc<Scanner>,
    orphans: Orphans,
    /// This program's session when it became the subreaper.
    session: i32,
    /// Running orphans that were seen with a mark, by id and start. The mark in their environment
    /// is gone once they exit.
    held: HashSet<(i32, u64)>,
}

impl Reaper {
    async fn run(mut self, mut sigchld: Signal) {
        loop {
            for _ in 0..UNSURE_TRIES {
                let table = self.scanner.table().await;
                if self.update(&table) {
                    break;
                }
                tokio::time::sleep(UNSURE_PAUSE).await;
            }
            if sigchld.recv().await.is_none() {
                return;
            }
        }
    }

    /// Reports whether an exited child is certainly an orphan, judging by the marks it still has.
    fn is_orphan(&self, row: &Row) -> bool {
        // A child starts in its parent's session, and can leave it only by creating a new one.
        self.orphans == Orphans::All
            || row.tree_by_limit().is_some()
            || ![self.session, session(), row.pid].contains(&row.session)
    }

    /// Reaps exited orphans and starts watching running ones. Returns `false` if it should be
    /// called again soon.
    fn update(&mut self, table: &Table) -> bool {
        let mut sure = true;
        self.held
            .retain(|&(pid, start)| table.get(pid).is_some_and(|row| row.start == start));
        let listed = Listed::now();
        for row in adopted(table, &listed) {
            if row.zombie {
                if self.is_orphan(row) || in_live_group(row, table, &listed) {
                    reap(row);
                }
            } else if !self.held.contains(&(row.pid, row.start)) {
                if row.tree().is_some() || in_live_group(row, table, &listed) {
                    self.hold(row);
                } else {
                    sure &= !row.has_no_environment();
                }
            }
        }
        sure
    }

    /// Watches a running orphan and reaps it when it exits.
    fn hold(&mut self, row: &Row) {
        if let Some(member) = Member::of(row) {
            self.held.insert((row.pid, row.start));
            tokio::spawn(async move {
                member.gone().await;
                // This fails if the task that stopped the tree has already reaped it.
                let _ = member.reap();
            });
        }
    }
}

/// Returns the children of this program that this crate did not start: those it adopted, and those
/// started by other means.
fn adopted<'t>(table: &'t Table, listed: &Listed) -> impl Iterator<Item = &'t Row> {
    let own = getpid().as_raw_pid();
    table
        .rows()
        .filter(move |row| row.parent == own && !listed.is_leader(row.pid))
}

fn in_live_group(row: &Row, table: &Table, listed: &Listed) -> bool {
    listed
        .groups()
        .filter(|group| group.pid() == row.group)
        .any(|group| group.rows(table).iter().any(|other| other.pid == row.pid))
}

fn is_marked(row: &Row) -> bool {
    row.marker().is_some() || row.tree().is_some()
}

fn reap(row: &Row) {
    if let Some(member) = Member::of(row) {
        // An error means that it was already reaped.
        let _ = member.reap();
    }
}

/// Returns this program's session, or 0 if the session is in another pid namespace. Reads it from
/// `/proc`, because rustix panics on 0.
fn session() -> i32 {
    Row::read(getpid().as_raw_pid()).map_or(0, |row| row.session)
}

#[cfg(target_os = "linux")]
mod setting {
    use std::io;

    use rustix::process::{child_subreaper, getpid, set_child_subreaper};

    /// Sets whether this process is a subreaper, and returns the previous value.
    pub(super) fn replace(on: bool) -> io::Result<bool> {
        let was = child_subreaper()?.is_some();
        set_child_subreaper(on.then(getpid))?;
        Ok(was)
    }
}

#[cfg(not(target_os = "linux"))]
mod setting {
    use std::io;

    pub(super) fn replace(_: bool) -> io::Result<bool> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
