//! The processes of a tree: finds them, and signals all of them.

use std::collections::HashMap;
use std::sync::Arc;

use rustix::process::{Pid, Resource, Signal, WaitId, WaitIdOptions, getpid, getrlimit, waitid};

use crate::leader::Group;
use crate::marker::TreeId;
use crate::member::Member;
use crate::subreaper::{self, Orphans};
use crate::table::{Row, Scanner, Table};

/// Another process that belongs to a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Descendant {
    /// Its process id.
    pub pid: u32,
    /// Its name: the program's file name, truncated to 15 bytes. The command line is omitted on
    /// purpose, because people pass secrets there.
    pub name: String,
}

impl Descendant {
    fn of(pid: i32, name: &str) -> Option<Self> {
        Some(Self {
            pid: u32::try_from(pid).ok()?,
            name: name.to_owned(),
        })
    }
}

impl std::fmt::Display for Descendant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.name.escape_debug(), self.pid)
    }
}

/// Where a tree starts.
#[derive(Debug, Clone)]
pub(crate) enum Root {
    /// At a process that was started.
    Started { id: TreeId, group: Group },
    /// At adopted processes whose trees have ended.
    Orphans(Orphans),
    /// At everything that this program started, and at those orphans.
    Everything(Orphans),
}

impl Root {
    /// The processes of the tree, without the leader.
    fn rows<'t>(&self, table: &'t Table, known: &[Member]) -> HashMap<i32, &'t Row> {
        // Whose parent has gone is no longer reached from the root, but from itself.
        let known = known.iter().filter_map(|member| {
            table
                .get(member.pid)
                .filter(|row| row.start == member.start)
        });
        let mut seeds: Vec<&Row> = known.collect();
        match self {
            Self::Started { id, group } => {
                seeds.extend(group.rows(table));
                if group.has_leader() {
                    seeds.extend(table.get(group.pid()));
                }
                // What is older than the leader does not descend from it, which spares most of the reading.
                let newer = |row: &&Row| row.start >= group.start;
                seeds.extend(table.rows().filter(newer).filter(|row| row.is_of(*id)));
                seeds.extend(subreaper::unclaimed(table).into_iter().filter(newer));
            }
            Self::Orphans(orphans) => seeds.extend(orphans.rows(table)),
            Self::Everything(orphans) => seeds.extend(orphans.rows_and_leaders(table)),
        }
        let mut rows = table.with_descendants(seeds);
        if let Self::Started { group, .. } = self
            && group.has_leader()
        {
            rows.remove(&group.pid());
        }
        rows
    }

    /// Whether there is a process outside of the tree, `rows`, that cannot be told from one that belongs to it.
    fn is_unsure(&self, table: &Table, rows: &HashMap<i32, &Row>) -> bool {
        let Self::Started { group, .. } = self else {
            return false;
        };
        let others = table.rows().filter(|row| !rows.contains_key(&row.pid));
        others
            .filter(|row| row.start >= group.start && row.pid != group.pid())
            .any(|row| row.tree_by_limit().is_none() && row.has_no_environment())
    }
}

/// The known processes of a tree, each held so that no other process is signalled by mistake.
#[derive(Debug)]
pub(crate) struct Tree {
    root: Root,
    /// Without the leader.
    members: Vec<Member>,
    /// Those that have ended, by id and start, to be reaped at the end if they turn out to be ours. They are not held
    /// any more: a descriptor each would be missing for those that live.
    dead: Vec<(i32, u64)>,
    /// Those that were seen and not held, because as many are held as may be.
    unheld: Vec<Descendant>,
    /// How many looks have yet to find nobody until nobody is taken to be there.
    restless: u8,
    /// How many looks more may be in doubt whether a process without an environment belongs to the tree.
    doubts: u8,
}

/// So many looks find nobody before a tree counts as settled: a process that starts another one and ends, all while the
/// list of processes is read, is not seen, and neither is the other one.
const QUIET: u8 = 2;
/// And so many when a process was seen that ended before it could be held, for it may have done just that.
const RESTLESS: u8 = 3;
/// Executing a program takes less than so many looks, and a program without an environment delays us for no more.
const DOUBTS: u8 = 8;

/// What a look at the system has found.
pub(crate) struct Look<'t> {
    /// Processes that were not known before.
    pub(crate) new: &'t [Member],
    settled: bool,
}

impl Look<'_> {
    /// Whether no other process is to be expected, unless one of those that are known starts it.
    pub(crate) fn is_settled(&self) -> bool {
        self.settled
    }
}

impl Tree {
    pub(crate) fn new(root: Root) -> Self {
        Self {
            root,
            members: Vec::new(),
            dead: Vec::new(),
            unheld: Vec::new(),
            restless: QUIET,
            doubts: DOUBTS,
        }
    }

    /// Adds the living processes that were not known.
    pub(crate) fn look(&mut self, table: &Table) -> Look<'_> {
        self.let_go_of_the_dead();
        self.unheld.clear();
        let most = most_held();
        let known = self.members.len();
        let own = std::process::id();
        let mut missed = false;
        let rows = self.root.rows(table, &self.members);
        let unsure = self.doubts > 0 && self.root.is_unsure(table, &rows);
        self.doubts -= u8::from(unsure);
        for row in rows.into_values() {
            // Neither can be in a tree of ours; a mistake here would be the end of more than the tree.
            if row.pid == 1 || u32::try_from(row.pid) == Ok(own) {
                continue;
            }
            let is_known = |member: &Member| member.pid == row.pid && member.start == row.start;
            if self.members.iter().any(is_known) {
                continue;
            }
            if self.members.len() >= most && !row.zombie {
                self.unheld.extend(Descendant::of(row.pid, &row.name));
                continue;
            }
            match Member::of(row).filter(|member| !member.is_gone()) {
                Some(member) => self.members.push(member),
                None => missed |= !row.zombie,
            }
        }
        let new = &self.members[known..];
        if missed {
            self.restless = RESTLESS;
        } else if new.is_empty() && !unsure {
            self.restless = self.restless.saturating_sub(1);
        }
        Look {
            new,
            settled: new.is_empty() && !unsure && self.restless == 0 && self.unheld.is_empty(),
        }
    }

    /// Whether there are more than can be held at a time: those that are must end first.
    pub(crate) fn is_short(&self) -> bool {
        !self.unheld.is_empty()
    }

    fn let_go_of_the_dead(&mut self) {
        let dead = &mut self.dead;
        self.members.retain(|member| {
            let gone = member.is_gone();
            // An error says that it was not our child; it may become one.
            if gone && member.reap().is_err() {
                dead.push((member.pid, member.start));
            }
            !gone
        });
    }

    /// Signals the group, if it still has its leader, and every known process outside of it.
    pub(crate) fn signal(&self, signal: Signal) {
        let group = match &self.root {
            Root::Started { group, .. } if group.signal(signal) => Some(group.pid()),
            _ => None,
        };
        for member in &self.members {
            // Where it is *now*: it may have left the group since it was found, and just before the signal came. Whoever
            // is still in it has been reached.
            if group.is_none() || Row::read(member.pid).map(|row| row.group) != group {
                member.signal(signal);
            }
        }
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.members.iter().all(Member::is_gone)
    }

    /// Resolves when all known processes have exited, not counting the leader.
    pub(crate) async fn gone(&self) {
        for member in &self.members {
            member.gone().await;
        }
    }

    /// Looks until it is settled who belongs to it, or for a while, and gives those that live.
    pub(crate) async fn find(mut self, scanner: &Arc<Scanner>) -> Vec<Descendant> {
        for _ in 0..2 * DOUBTS {
            let table = scanner.table().await;
            if self.look(&table).is_settled() {
                break;
            }
        }
        self.descendants()
    }

    /// The ids of the known running processes.
    pub(crate) fn descendants(&self) -> Vec<Descendant> {
        let mut living: Vec<_> = self
            .members
            .iter()
            .filter(|member| !member.is_gone())
            .filter_map(|member| Descendant::of(member.pid, &member.name))
            .collect();
        living.extend(self.unheld.iter().cloned());
        living.sort_by_key(|descendant| descendant.pid);
        living
    }

    /// Reaps processes that a subreaper adopted when their parents exited.
    pub(crate) fn reap_adopted(&self) {
        for member in &self.members {
            // An error says that it was not our child.
            let _ = member.reap();
        }
        let own = getpid().as_raw_pid();
        for &(pid, start) in &self.dead {
            let row = Row::read(pid).filter(|row| row.start == start);
            if row.is_some_and(|row| row.zombie && row.parent == own)
                && let Some(pid) = Pid::from_raw(pid)
            {
                // A zombie that is our child keeps its number until it is reaped.
                let _ = waitid(
                    WaitId::Pid(pid),
                    WaitIdOptions::EXITED | WaitIdOptions::NOHANG,
                );
            }
        }
    }
}

/// The maximum number of processes to hold at a time: half of the file descriptors that this
/// program may have.
fn most_held() -> usize {
    const FEWEST: u64 = 32;
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from((limit / 2).max(FEWEST)).unwrap_or(usize::MAX)
}
