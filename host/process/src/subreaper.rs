//! Orphans: processes that lost their parent and were adopted by this one, their subreaper.

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
/// A process of a tree whose [`Process`](crate::Process) is still held is never swept; it is
/// stopped with its tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Orphans {
    /// Those that carry a mark of a tree of this program. Children that the program started by other means do not
    /// have one and are never touched. Neither is a daemon that removed both its marks, see
    /// [how a tree is found](crate#how-a-tree-is-found).
    Marked,
    /// Every child that this crate did not start itself. Those without a mark also end with the next tree that ends and
    /// is older. Only for a program that starts all its processes by this
    /// crate: anything else in it that waits for a child of its own would find that somebody else has reaped it.
    All,
}

impl Orphans {
    /// The orphans in the table; their descendants are not among them.
    pub(crate) fn rows(self, table: &Table) -> Vec<&Row> {
        let listed = Listed::now();
        adopted(table, &listed)
            .filter(|row| match row.tree() {
                Some(tree) => !listed.has(tree),
                None => self == Self::All && !in_live_group(row, table, &listed),
            })
            .collect()
    }

    /// The orphans, and the processes that this crate started and still holds.
    pub(crate) fn rows_and_leaders(self, table: &Table) -> Vec<&Row> {
        let own = getpid().as_raw_pid();
        let listed = Listed::now();
        table
            .rows()
            .filter(|row| row.parent == own)
            .filter(|row| self == Self::All || listed.is_leader(row.pid) || is_marked(row))
            .collect()
    }
}

/// This program as the one that orphans of its trees come to, instead of the system's first process.
///
/// A daemon forks twice and lets its parent go, so that nobody finds it from the tree it came from. With this on, it
/// becomes a child of this program. That is a setting of the whole program, so it is for a binary to switch on, not
/// for a library. It is switched off when this is dropped.
///
/// Orphans that end by themselves are reaped as they go, when SIGCHLD arrives. Under [`Orphans::Marked`] one that
/// removed the mark that a dead process keeps, its limit, began a session of its own and ended before it was seen stays a
/// zombie until this program ends; under [`Orphans::All`] none does.
#[derive(Debug)]
pub struct Subreaper {
    thread: Arc<Thread>,
    orphans: Orphans,
    reaper: AbortHandle,
    was_set: bool,
}

/// How many subreapers of [all orphans](Orphans::All) there are.
static OF_ALL: AtomicUsize = AtomicUsize::new(0);

/// Orphans without a mark of any tree. Every process of a tree has one and can only lose it on purpose, so whose they
/// were cannot be told: they are ended with the next tree that ends. None where that would be a guess: this program may
/// have children of its own, or trees without a mark.
#[cfg(target_os = "linux")]
pub(crate) fn unclaimed(table: &Table) -> Vec<&Row> {
    if OF_ALL.load(Ordering::Relaxed) == 0 || !crate::limit::is_reliable() {
        return Vec::new();
    }
    let mut rows = Orphans::All.rows(table);
    rows.retain(|row| row.tree().is_none());
    rows
}

/// There is no subreaper here.
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
    /// Those that SIGKILL did not end.
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
        // It holds no share of the thread, which must be free to end when everybody else is done with it.
        let reaper = thread.handle.spawn(reaper.run(sigchld)).abort_handle();
        Ok(Self {
            thread,
            orphans,
            reaper,
            was_set,
        })
    }

    /// Stops and reaps the orphans of ended trees, like a tree: SIGTERM, `grace`, SIGKILL.
    ///
    /// Call it last before the program exits, after its processes have been stopped.
    pub async fn sweep(&self, grace: Duration) -> Swept {
        self.end(Root::Orphans(self.orphans), grace).await
    }

    /// Kills everything that this program started, with all descendants, for a user who does not
    /// want to wait. Only exit the program after this.
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
                blind: false,
            };
            let survivors = ending.run(deadline).await.survivors;
            Swept { found, survivors }
        };
        // It goes on if the caller stops waiting. An error would be a panic there; then nothing is known.
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
            // It was possible to set it, so it is possible to set it back.
            let _ = setting::replace(false);
        }
    }
}

/// How often, and how soon, to look again for the mark of a process that is about to execute its program.
const UNSURE_TRIES: u32 = 5;
const UNSURE_PAUSE: Duration = Duration::from_millis(20);

/// Reaps orphans that end by themselves.
struct Reaper {
    scanner: Arc<Scanner>,
    orphans: Orphans,
    /// This program's session when it became the subreaper.
    session: i32,
    /// Living orphans that have been seen with a mark, which is gone when they are: by id and start.
    held: HashSet<(i32, u64)>,
}

impl Reaper {
    async fn run(mut self, mut sigchld: Signal) {
        loop {
            for _ in 0..UNSURE_TRIES {
                let table = self.scanner.table().await;
                if self.look(&table) {
                    break;
                }
                tokio::time::sleep(UNSURE_PAUSE).await;
            }
            if sigchld.recv().await.is_none() {
                return;
            }
        }
    }

    /// Whether a dead child is an orphan for certain, by what is left of it.
    fn is_orphan(&self, row: &Row) -> bool {
        // A child is born into its parent's session and can only leave it for one of its own.
        self.orphans == Orphans::All
            || row.tree_by_limit().is_some()
            || ![self.session, session(), row.pid].contains(&row.session)
    }

    /// Reaps the dead and holds the living. `false` if it should look again soon.
    fn look(&mut self, table: &Table) -> bool {
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

    /// Has a living orphan reaped when it ends.
    fn hold(&mut self, row: &Row) {
        if let Some(member) = Member::of(row) {
            self.held.insert((row.pid, row.start));
            tokio::spawn(async move {
                member.gone().await;
                // An error says that whoever ended its tree was faster.
                let _ = member.reap();
            });
        }
    }
}

/// The children of this program that this crate did not start: adopted, or started by other means.
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
        // An error says that somebody else was faster.
        let _ = member.reap();
    }
}

/// This program's session, 0 if it is one of another pid namespace. (rustix takes that 0 for impossible and panics.)
fn session() -> i32 {
    Row::read(getpid().as_raw_pid()).map_or(0, |row| row.session)
}

#[cfg(target_os = "linux")]
mod setting {
    use std::io;

    use rustix::process::{child_subreaper, getpid, set_child_subreaper};

    /// Sets it, and gives what it was.
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
