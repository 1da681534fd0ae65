//! Finds and signals the processes of a tree.

use std::collections::HashMap;
use std::sync::Arc;

use rustix::process::{Pid, Resource, Signal, WaitId, WaitIdOptions, getpid, getrlimit, waitid};

use crate::leader::Group;
use crate::marker::TreeId;
use crate::member::Member;
use crate::subreaper::{self, Orphans};
use crate::table::{Row, Scanner, Table};

/// A process that belongs to a tree, other than the one that was started.
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

/// Where the search for the processes of a tree starts.
#[derive(Debug, Clone)]
pub(crate) enum Root {
    /// At a process that was started.
    Started { id: TreeId, group: Group },
    /// At adopted processes whose trees have ended.
    Orphans(Orphans),
    /// At every process that this program started, and at adopted ones.
    Everything(Orphans),
}

impl Root {
    /// Returns the processes of the tree, without the leader.
    fn rows<'t>(&self, table: &'t Table, known: &[Member]) -> HashMap<i32, &'t Row> {
        // Start at the known processes too: one whose parent has exited is no longer reachable from
        // the root.
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
                // A process older than the leader cannot descend from it. Skipping these avoids
                // most of the reads.
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

    /// Reports whether a process that is not in `rows` may still be a member, because its mark
    /// cannot be read yet.
    fn has_unidentified(&self, table: &Table, rows: &HashMap<i32, &Row>) -> bool {
        let Self::Started { group, .. } = self else {
            return false;
        };
        let others = table.rows().filter(|row| !rows.contains_key(&row.pid));
        others
            .filter(|row| row.start >= group.start && row.pid != group.pid())
            .any(|row| row.tree_by_limit().is_none() && row.has_no_environment())
    }
}

/// The known processes of a tree. Each has an open pidfd, so that a reused process id is never
/// signalled.
#[derive(Debug)]
pub(crate) struct Tree {
    root: Root,
    /// The known processes, without the leader.
    members: Vec<Member>,
    /// Exited processes, by id and start, to be reaped at the end if they became our children.
    /// Their pidfds are closed, to save file descriptors.
    exited: Vec<(i32, u64)>,
    /// Processes that were found but have no pidfd, because the limit on open pidfds was reached.
    unheld: Vec<Descendant>,
    /// How many more searches must find no new process before the tree counts as settled.
    searches_left: u8,
    /// How many more searches may treat a process without an environment as a possible member.
    unsure_left: u8,
}

/// How many searches must find no new process before a tree counts as settled. One is not enough:
/// if a process starts another one and exits while the process list is read, both can be missed.
const QUIET_SEARCHES: u8 = 2;
/// Replaces [`QUIET_SEARCHES`] after a process exited before its pidfd could be opened, because it
/// may have started another process.
const SEARCHES_AFTER_MISS: u8 = 3;
/// How many searches may be delayed by a process without an environment. Executing a program takes
/// less time than this.
const UNSURE_SEARCHES: u8 = 8;

/// The result of a search for processes.
pub(crate) struct SearchResult<'t> {
    /// Processes that were not known before.
    pub(crate) new: &'t [Member],
    /// Whether the search is complete: only a known process can still add to the tree.
    pub(crate) is_settled: bool,
}

impl Tree {
    pub(crate) fn new(root: Root) -> Self {
        Self {
            root,
            members: Vec::new(),
            exited: Vec::new(),
            unheld: Vec::new(),
            searches_left: QUIET_SEARCHES,
            unsure_left: UNSURE_SEARCHES,
        }
    }

    /// Adds running processes that were not known before.
    pub(crate) fn search(&mut self, table: &Table) -> SearchResult<'_> {
        self.drop_exited();
        self.unheld.clear();
        let most = most_held();
        let known = self.members.len();
        let own = std::process::id();
        let mut missed = false;
        let rows = self.root.rows(table, &self.members);
        let unsure = self.unsure_left > 0 && self.root.has_unidentified(table, &rows);
        self.unsure_left -= u8::from(unsure);
        for row in rows.into_values() {
            // Process 1 and this program cannot belong to one of our trees, and signalling them by
            // mistake would be fatal.
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
            self.searches_left = SEARCHES_AFTER_MISS;
        } else if new.is_empty() && !unsure {
            self.searches_left = self.searches_left.saturating_sub(1);
        }
        SearchResult {
            new,
            is_settled: new.is_empty()
                && !unsure
                && self.searches_left == 0
                && self.unheld.is_empty(),
        }
    }

    /// Reports whether the tree has more processes than pidfds that can be open at a time. The
    /// remaining processes can be signalled only after known ones have exited.
    pub(crate) fn is_short(&self) -> bool {
        !self.unheld.is_empty()
    }

    fn drop_exited(&mut self) {
        let exited = &mut self.exited;
        self.members.retain(|member| {
            let gone = member.is_gone();
            // An error means that it is not our child. It becomes one if its parent exits and this
            // program is a subreaper.
            if gone && member.reap().is_err() {
                exited.push((member.pid, member.start));
            }
            !gone
        });
    }

    /// Signals the group, if it still has its leader, and every known process outside it.
    pub(crate) fn signal(&self, signal: Signal) {
        let group = match &self.root {
            Root::Started { group, .. } if group.signal(signal) => Some(group.pid()),
            _ => None,
        };
        for member in &self.members {
            // Check the member's group now: it may have left the group just before the signal was
            // sent. A process that is still in the group has received the signal.
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

    /// Searches until the tree is settled, but only a limited number of times, and returns the
    /// running processes.
    pub(crate) async fn find(mut self, scanner: &Arc<Scanner>) -> Vec<Descendant> {
        for _ in 0..2 * UNSURE_SEARCHES {
            let table = scanner.table().await;
            if self.search(&table).is_settled {
                break;
            }
        }
        self.descendants()
    }

    /// Returns the known running processes.
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
            // An error means that it was not our child.
            let _ = member.reap();
        }
        let own = getpid().as_raw_pid();
        for &(pid, start) in &self.exited {
            let row = Row::read(pid).filter(|row| row.start == start);
            if row.is_some_and(|row| row.zombie && row.parent == own)
                && let Some(pid) = Pid::from_raw(pid)
            {
                // The id cannot have been reused: a zombie that is our child keeps it until reaped.
                let _ = waitid(
                    WaitId::Pid(pid),
                    WaitIdOptions::EXITED | WaitIdOptions::NOHANG,
                );
            }
        }
    }
}

/// The maximum number of processes to open pidfds for at a time: half of the file descriptors that
/// this program may open.
fn most_held() -> usize {
    const FEWEST: u64 = 32;
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from((limit / 2).max(FEWEST)).unwrap_or(usize::MAX)
}
