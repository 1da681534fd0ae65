//! A snapshot of all processes of the system, from `/proc`.

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::marker::{Marker, TreeId};

/// The state of a process when the table was read.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    pub(crate) session: i32,
    /// The start time, in clock ticks since boot. Together with the id, it identifies a process
    /// even if ids are reused.
    pub(crate) start: u64,
    /// Whether the main thread has exited. The process may be a zombie, or have other running
    /// threads.
    pub(crate) zombie: bool,
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "only used on Linux")
    )]
    pub(crate) name: String,
    mark: OnceLock<Mark>,
    #[cfg(target_os = "linux")]
    limit: OnceLock<Option<TreeId>>,
}

#[derive(Debug)]
enum Mark {
    Found(Marker),
    None,
    NoEnvironment,
}

impl Row {
    /// Returns the tree that the process's marks identify, if it is one of this program's.
    pub(crate) fn tree(&self) -> Option<TreeId> {
        // Check the limit first: a process can write another tree's name into its environment.
        self.tree_by_limit()
            .or_else(|| self.marker().and_then(Marker::tree))
    }

    /// Reports whether the process has a mark of this tree.
    pub(crate) fn is_of(&self, tree: TreeId) -> bool {
        match self.tree_by_limit() {
            Some(other) => other == tree,
            None => self.marker().is_some_and(|mark| mark.names(tree)),
        }
    }

    /// Reports whether a program in the foreground left the process running. A mark in the
    /// environment counts only if there are no limits, because a process of a tree can forge it.
    pub(crate) fn is_of_foreground(&self) -> bool {
        #[cfg(target_os = "linux")]
        if crate::limit::is_reliable() {
            return self.tree_by_limit() == Some(TreeId::FOREGROUND);
        }
        self.tree() == Some(TreeId::FOREGROUND)
    }

    /// Returns the tree that the process's limits identify. An exited process keeps its limits
    /// until it is reaped.
    #[cfg(target_os = "linux")]
    pub(crate) fn tree_by_limit(&self) -> Option<TreeId> {
        *self.limit.get_or_init(|| {
            let limits = fs::read_to_string(format!("/proc/{}/limits", self.pid)).ok()?;
            crate::limit::find(&limits)
        })
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unused_self, reason = "same signature as on Linux")]
    pub(crate) fn tree_by_limit(&self) -> Option<TreeId> {
        None
    }

    /// Returns the mark in the process's environment, read on first use. `None` if it has no mark,
    /// or belongs to another user and its environment cannot be read.
    pub(crate) fn marker(&self) -> Option<&Marker> {
        match self.mark.get_or_init(|| self.read_mark()) {
            Mark::Found(marker) => Some(marker),
            Mark::None | Mark::NoEnvironment => None,
        }
    }

    /// Reports whether it is running and has no environment. Either it was given none, or it is in
    /// the middle of `execve`: the kernel has dropped its old environment and not yet set the new
    /// one, which may well have a mark.
    pub(crate) fn has_no_environment(&self) -> bool {
        // Zombies and kernel threads (the children of process 2, `kthreadd`) never have one, so
        // they are excluded.
        let never_has_one = self.zombie || self.parent == 2;
        !never_has_one
            && matches!(
                self.mark.get_or_init(|| self.read_mark()),
                Mark::NoEnvironment
            )
    }

    fn read_mark(&self) -> Mark {
        // Bounds the cost of reading an environment. The kernel's default limit is lower.
        const MOST: u64 = 8 << 20;
        let mut environ = Vec::new();
        let read = fs::File::open(format!("/proc/{}/environ", self.pid))
            .and_then(|file| file.take(MOST).read_to_end(&mut environ));
        match read {
            Ok(0) => Mark::NoEnvironment,
            Ok(_) => Marker::find(&environ).map_or(Mark::None, Mark::Found),
            Err(_) => Mark::None,
        }
    }

    /// Returns the process that has this id now.
    pub(crate) fn read(pid: i32) -> Option<Self> {
        let mut text = Vec::with_capacity(512);
        fs::File::open(format!("/proc/{pid}/stat"))
            .and_then(|mut file| file.read_to_end(&mut text))
            .ok()?;
        Self::parse(&text)
    }

    fn parse(text: &[u8]) -> Option<Self> {
        // The name is in parentheses and may itself contain parentheses and spaces, so the fields
        // after it start at the last parenthesis.
        let open = text.iter().position(|&b| b == b'(')?;
        let close = text.iter().rposition(|&b| b == b')')?;
        let pid = std::str::from_utf8(&text[..open]).ok()?.trim();
        let rest = std::str::from_utf8(text.get(close + 1..)?).ok()?;
        let mut fields = rest.split_ascii_whitespace();
        let zombie = matches!(fields.next()?, "Z" | "X");
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        let session = fields.next()?.parse().ok()?;
        // `starttime` is field 22 and `session` field 6, as proc(5) counts them.
        let start = fields.nth(15)?.parse().ok()?;
        Some(Self {
            pid: pid.parse().ok()?,
            parent,
            group,
            session,
            start,
            zombie,
            name: String::from_utf8_lossy(text.get(open + 1..close)?).into_owned(),
            mark: OnceLock::new(),
            #[cfg(target_os = "linux")]
            limit: OnceLock::new(),
        })
    }
}

/// All processes that this user may see. Empty if there is no `/proc`.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: HashMap<i32, Row>,
}

impl Table {
    pub(crate) fn read() -> Self {
        let Ok(entries) = fs::read_dir("/proc") else {
            return Self::default();
        };
        let rows = entries
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter_map(|pid| Some((pid, Row::read(pid)?)))
            .collect();
        Self { rows }
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.values()
    }

    pub(crate) fn get(&self, pid: i32) -> Option<&Row> {
        self.rows.get(&pid)
    }

    /// Returns the given processes and all their descendants.
    pub(crate) fn with_descendants<'t>(
        &'t self,
        seeds: impl IntoIterator<Item = &'t Row>,
    ) -> HashMap<i32, &'t Row> {
        let mut children: HashMap<i32, Vec<&Row>> = HashMap::new();
        for row in self.rows() {
            children.entry(row.parent).or_default().push(row);
        }
        let mut found = HashMap::new();
        let mut queue: Vec<&Row> = seeds.into_iter().collect();
        while let Some(row) = queue.pop() {
            if found.insert(row.pid, row).is_none() {
                queue.extend(children.get(&row.pid).into_iter().flatten().copied());
            }
        }
        found
    }
}

/// Shares one read of `/proc` between all callers that ask before it starts. Otherwise fifty trees
/// that stop at the same time would each read all of `/proc` several times.
#[derive(Debug, Default)]
pub(crate) struct Scanner {
    waiting: Mutex<Vec<oneshot::Sender<Arc<Table>>>>,
}

impl Scanner {
    /// Returns a table whose read started after this function was called.
    pub(crate) async fn table(self: &Arc<Self>) -> Arc<Table> {
        let (answer, table) = oneshot::channel();
        let first = {
            let mut waiting = self.waiting.lock();
            waiting.push(answer);
            waiting.len() == 1
        };
        if first {
            let scanner = Arc::clone(self);
            // Read in a separate task: if the first caller read the table and was cancelled, the
            // others would wait forever.
            tokio::spawn(async move {
                tokio::task::yield_now().await;
                let waiting = std::mem::take(&mut *scanner.waiting.lock());
                let table = Arc::new(Table::read());
                for answer in waiting {
                    // The receiver is gone if the caller stopped waiting.
                    let _ = answer.send(Arc::clone(&table));
                }
            });
        }
        table.await.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str =
        "42 (a) b (c)) S 7 40 39 34816 42 4194304 1 0 0 0 0 0 0 0 20 0 1 0 5551234 1 2 3";

    #[test]
    fn a_name_may_contain_parentheses_and_spaces() {
        let row = Row::parse(STAT.as_bytes()).unwrap();
        assert_eq!((row.pid, row.parent, row.group), (42, 7, 40));
        assert_eq!((row.session, row.start), (39, 5_551_234));
        assert_eq!(row.name, "a) b (c)");
        assert!(!row.zombie);
    }

    #[test]
    fn a_truncated_row_is_rejected() {
        for end in 0..STAT.rfind(" 1 2 3").unwrap() - 8 {
            assert!(Row::parse(&STAT.as_bytes()[..end]).is_none(), "{end}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_descends_from_its_parent() {
        let table = Table::read();
        let own = i32::try_from(std::process::id()).unwrap();
        let row = table.get(own).expect("this process is in the table");
        let family = table.with_descendants(table.get(row.parent));
        assert!(family.contains_key(&own));
    }
}
