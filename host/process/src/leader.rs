//! The spawned child, which leads its own process group. This module detects when the child exits,
//! and keeps its process id from being reused while the id is needed.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process, kill_process_group, waitid,
};
use tokio::sync::oneshot;

use crate::Exit;
#[cfg(target_os = "linux")]
use crate::member::Member;
use crate::table::{Row, Table};

/// The process group of a tree, and whether its id is still ours.
///
/// The kernel reuses an id only when no process and no group has it. So the group is ours until its
/// leader is reaped, and after that for as long as it has a member that started before the reap.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    id: Pid,
    /// When the leader started, in ticks since boot.
    pub(crate) start: u64,
    /// When the leader was reaped, in ticks since boot. Set just before reaping, and read on the
    /// thread that sends signals.
    reaped: Arc<OnceLock<u64>>,
}

impl Group {
    pub(crate) fn pid(&self) -> i32 {
        self.id.as_raw_pid()
    }

    /// Reports whether the leader, running or a zombie, still occupies its id.
    pub(crate) fn has_leader(&self) -> bool {
        self.reaped.get().is_none()
    }

    /// Signals the whole group, and its leader if it has moved to another group. Returns whether
    /// the group was signalled. Once the leader has been reaped, the id may be reused, so nothing
    /// is signalled.
    pub(crate) fn signal(&self, signal: Signal) -> bool {
        if !self.has_leader() {
            return false;
        }
        // An error means that every member has exited or belongs to another user.
        let reached = kill_process_group(self.id, signal).is_ok();
        let moved = |row: Row| row.group != self.pid();
        if Row::read(self.pid()).is_some_and(moved) {
            let _ = kill_process(self.id, signal);
        }
        reached
    }

    /// Returns the members of the group, including its leader.
    pub(crate) fn rows<'t>(&self, table: &'t Table) -> Vec<&'t Row> {
        let rows: Vec<_> = table.rows().filter(|row| row.group == self.pid()).collect();
        let ours = match self.reaped.get() {
            None => true,
            Some(&reaped) => rows.iter().any(|row| row.start <= reaped),
        };
        if ours { rows } else { Vec::new() }
    }
}

/// A started process that has not been reaped.
#[derive(Debug)]
pub(crate) struct Leader {
    group: Group,
    watch: Watch,
}

#[derive(Debug)]
enum Watch {
    #[cfg(target_os = "linux")]
    Pidfd(Member),
    /// Notified by a thread that waits for the process.
    Thread(oneshot::Receiver<()>),
}

impl Leader {
    /// Starts watching a child of this process that has not been reaped.
    pub(crate) fn hold(id: Pid) -> io::Result<Self> {
        let group = |start| Group {
            id,
            start,
            reaped: Arc::default(),
        };
        #[cfg(target_os = "linux")]
        match Member::child(id) {
            Ok(member) => {
                return Ok(Self {
                    group: group(member.start),
                    watch: Watch::Pidfd(member),
                });
            }
            // The kernel is older than 5.3, or a container's seccomp filter denies `pidfd_open`.
            // ESRCH means that this program ignores SIGCHLD and the child has already exited.
            Err(error)
                if matches!(
                    Errno::from_io_error(&error),
                    Some(Errno::NOSYS | Errno::PERM | Errno::SRCH)
                ) => {}
            Err(error) => return Err(error),
        }
        let start = Row::read(id.as_raw_pid()).map_or(0, |row| row.start);
        Ok(Self {
            group: group(start),
            watch: Watch::Thread(wait_on_a_thread(id)?),
        })
    }

    pub(crate) fn group(&self) -> &Group {
        &self.group
    }

    /// Resolves when the process has exited, without reaping it.
    pub(crate) async fn ended(&mut self) {
        match &mut self.watch {
            #[cfg(target_os = "linux")]
            Watch::Pidfd(member) => member.gone().await,
            Watch::Thread(ended) => {
                let _ = ended.await;
            }
        }
    }

    /// Reports whether pidfds are unavailable, so that the tree can only be stopped through its
    /// group id. The leader must not be reaped before that, or the id could be reused.
    pub(crate) fn lacks_pidfd(&self) -> bool {
        matches!(self.watch, Watch::Thread(_))
    }

    /// Returns how the process exited, without reaping it.
    pub(crate) fn peek(&self) -> Exit {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        if let Ok(Some(status)) = waitid(WaitId::Pid(self.group.id), options) {
            return Exit::from_status(&status);
        }
        // Something else reaped it.
        let _ = self.group.reaped.set(ticks_since_boot());
        Exit::Unknown
    }

    /// Reaps the exited process.
    pub(crate) async fn reap(&self) -> Exit {
        // Fails if the time is already set.
        let _ = self.group.reaped.set(ticks_since_boot());
        loop {
            match self.try_reap() {
                Ok(Some(status)) => return Exit::from_status(&status),
                Err(Errno::INTR) => {}
                Err(_) => return Exit::Unknown,
                // A debugger is attached and must see the exit first.
                Ok(None) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    }

    fn try_reap(&self) -> rustix::io::Result<Option<WaitIdStatus>> {
        match &self.watch {
            #[cfg(target_os = "linux")]
            Watch::Pidfd(member) => member.reap(),
            Watch::Thread(_) => waitid(
                WaitId::Pid(self.group.id),
                WaitIdOptions::EXITED | WaitIdOptions::NOHANG,
            ),
        }
    }
}

fn wait_on_a_thread(id: Pid) -> io::Result<oneshot::Receiver<()>> {
    let (ended, receiver) = oneshot::channel();
    std::thread::Builder::new()
        .name("zot-wait".to_owned())
        .stack_size(64 << 10)
        .spawn(move || {
            // Do not reap it here (WNOWAIT). The thread that sends signals also reaps, so the two
            // operations never race.
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while matches!(waitid(WaitId::Pid(id), options), Err(Errno::INTR)) {}
            let _ = ended.send(());
        })?;
    Ok(receiver)
}

#[cfg(target_os = "linux")]
fn ticks_since_boot() -> u64 {
    use rustix::time::{ClockId, clock_gettime};

    let now = clock_gettime(ClockId::Boottime);
    let ticks = rustix::param::clock_ticks_per_second();
    let whole = u64::try_from(now.tv_sec).unwrap_or(0) * ticks;
    whole + u64::try_from(now.tv_nsec).unwrap_or(0) * ticks / 1_000_000_000
}

/// Unused on systems without a process table.
#[cfg(not(target_os = "linux"))]
fn ticks_since_boot() -> u64 {
    0
}
