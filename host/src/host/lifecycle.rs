//! Starting, reloading and ending all extensions.

use std::sync::{Arc, atomic::Ordering};

use tokio::task::JoinSet;
use zot_protocol::{
    InterceptPolicy, Manifest, NoteLevel, OnFailure,
    rpc::{ExtensionInfo, ExtensionState, ReloadFailure, ReloadStats},
};

use super::{
    Host, Inner,
    slot::{FailedStart, Slot},
};
use crate::extension::{
    Launch, PermissionReport,
    connection::Stage,
    member::{Member, Shared, Warned, lock, log_of},
};

impl Host {
    /// Starts extensions, all at once, and waits until each is ready or has failed, or the start-up time is over; who
    /// is later joins later. `launches` is in load order. Those that were loaded before are shut down first.
    ///
    /// Once begun it goes on to its end, also if the caller stops waiting. After a shutdown it starts nothing.
    pub async fn load(&self, launches: Vec<Launch>) -> ReloadStats {
        self.reload(|| launches).await
    }

    /// As [`load`](Self::load), with what `find` finds once those that were loaded before have ended: none of them can
    /// meddle with it.
    pub async fn reload(&self, find: impl FnOnce() -> Vec<Launch> + Send + 'static) -> ReloadStats {
        let host = self.clone();
        let loading = tokio::spawn(async move { host.replace_all(find).await });
        loading.await.expect("a reload does not panic")
    }

    async fn replace_all(
        &self,
        find: impl FnOnce() -> Vec<Launch> + Send + 'static,
    ) -> ReloadStats {
        // One reload after the other.
        let _one = self.0.reloading.lock().await;
        let mut stats = ReloadStats::default();
        if *self.0.over.borrow() {
            return stats;
        }
        let closed = Closed::door_of(&self.0);
        let old = self.replace(Vec::new());
        retire_all(&old);
        stats.stopped = shut_down_all(&old).await as u64;
        if *self.0.over.borrow() {
            return stats;
        }
        let Some(launches) = self.look(find).await else {
            return stats;
        };
        let slots = start_all(launches, &self.0.shared).await;
        let started = slots.iter().filter(|it| matches!(it, Slot::Started(_)));
        stats.loaded = started.count() as u64;
        self.replace(slots);
        self.tell_of_support();
        self.wait_for_start_up().await;
        drop(closed);
        for info in self.extensions() {
            match (&info.state, info.error) {
                (ExtensionState::Ready, _) => stats.ready += 1,
                (_, Some(error)) => stats.errors.push(ReloadFailure::new(info.name, error)),
                _ => {}
            }
        }
        stats
    }

    /// Runs `find` on a thread of its own, since it may read many files. `None` when the host is shut down meanwhile, which
    /// does not wait for it.
    async fn look(
        &self,
        find: impl FnOnce() -> Vec<Launch> + Send + 'static,
    ) -> Option<Vec<Launch>> {
        let mut over = self.0.over.subscribe();
        tokio::select! {
            found = tokio::task::spawn_blocking(find) => {
                Some(found.expect("looking for extensions does not panic"))
            }
            _ = over.wait_for(|over| *over) => None,
        }
    }

    /// Ends all extensions, side by side, and with them this host: nothing is started any more.
    pub async fn shutdown(&self) {
        // A reload that is under way comes to its end at once, and one that waits for its turn starts nothing.
        self.0.over.send_replace(true);
        retire_all(&self.0.slots());
        let _one = self.0.reloading.lock().await;
        let old = self.replace(Vec::new());
        retire_all(&old);
        self.0.publish(Arc::default());
        shut_down_all(&old).await;
    }

    /// Every extension in load order, and how it fares.
    pub fn extensions(&self) -> Vec<ExtensionInfo> {
        self.0.slots().iter().map(info).collect()
    }

    /// What each extension has declared of what it touches, and what of that is enforced, in load order.
    pub fn permissions(&self) -> Vec<(String, PermissionReport)> {
        let slots = self.0.slots();
        let reports = slots.iter().map(|slot| match slot {
            Slot::Started(member) => (member.name().to_owned(), member.permissions.clone()),
            Slot::Failed(failed) => {
                let report = PermissionReport::of(&failed.manifest, self.0.shared.support);
                (failed.manifest.name.clone(), report)
            }
        });
        reports.collect()
    }

    /// Says once that what extensions declare is not enforced.
    fn tell_of_support(&self) {
        let slots = self.0.slots();
        let short: Vec<&str> = slots
            .iter()
            .filter_map(|slot| match slot {
                Slot::Started(member) if member.permissions.falls_short() => Some(member.name()),
                _ => None,
            })
            .collect();
        if !short.is_empty() && !self.0.told_of_support.swap(true, Ordering::SeqCst) {
            let line = format!(
                "the permissions of {} are not held to the full; enforced here: {}",
                short.join(", "),
                self.0.shared.support
            );
            self.0.shared.hooks.notice(NoteLevel::Warn, &line);
        }
    }

    fn replace(&self, slots: Vec<Slot>) -> Arc<Vec<Slot>> {
        std::mem::replace(&mut *lock(&self.0.slots), Arc::new(slots))
    }

    async fn wait_for_start_up(&self) {
        let slots = self.0.slots();
        let all_settled = async {
            for slot in slots.iter() {
                if let Slot::Started(member) = slot {
                    let mut stage = member.connection.stage();
                    let settled = |stage: &Stage| matches!(stage, Stage::Ready | Stage::Ended(_));
                    let _ = stage.wait_for(settled).await;
                }
            }
        };
        let mut over = self.0.over.subscribe();
        tokio::select! {
            () = all_settled => {}
            () = tokio::time::sleep(self.0.shared.limits.startup) => {}
            _ = over.wait_for(|over| *over) => {}
        }
    }
}

/// Nobody is asked while this is there; then whoever is there by then, whatever became of the reload.
struct Closed<'h>(&'h Inner);

impl<'h> Closed<'h> {
    fn door_of(host: &'h Inner) -> Self {
        host.asked.send_replace(None);
        Self(host)
    }
}

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.0.publish(self.0.slots());
    }
}

async fn start_all(launches: Vec<Launch>, shared: &Arc<Shared>) -> Vec<Slot> {
    let mut starting = JoinSet::new();
    let mut slots: Vec<Option<Slot>> = launches.iter().map(|_| None).collect();
    for (index, mut launch) in launches.into_iter().enumerate() {
        let shared = Arc::clone(shared);
        tighten(&mut launch.manifest, &shared);
        starting.spawn(async move {
            let slot = match Member::start(launch.clone(), &shared).await {
                Ok(member) => Slot::Started(member),
                Err(why) => {
                    // A note is one line; the hint has its own elsewhere.
                    let line = why.replace('\n', "; ");
                    shared.hooks.note(launch.name(), NoteLevel::Error, &line);
                    Slot::Failed(Arc::new(FailedStart {
                        why,
                        warned: Warned::default(),
                        log: log_of(&launch, &shared.limits),
                        manifest: launch.manifest,
                    }))
                }
            };
            (index, slot)
        });
    }
    while let Some(started) = starting.join_next().await {
        let (index, slot) = started.expect("starting an extension does not panic");
        slots[index] = Some(slot);
    }
    slots.into_iter().flatten().collect()
}

/// The user may make a failure block where the manifest lets it pass, and not the other way round.
fn tighten(manifest: &mut Manifest, shared: &Shared) {
    let settings = lock(&shared.settings);
    if let Some(settings) = settings.get(&manifest.name) {
        for (event, &on_failure) in &settings.on_failure {
            if on_failure == OnFailure::Block {
                let policy = InterceptPolicy::new(OnFailure::Block);
                manifest.intercept.0.insert(event.clone(), policy);
            }
        }
    }
}

/// Cancels what extensions are having done. From here on nothing is done for any of them, so that none acts while another
/// one, which guards, has gone.
fn retire_all(slots: &[Slot]) {
    for slot in slots {
        if let Slot::Started(member) = slot {
            member.retire();
        }
    }
}

/// How many were running.
async fn shut_down_all(slots: &[Slot]) -> usize {
    let mut ending = JoinSet::new();
    for slot in slots {
        if let Slot::Started(member) = slot {
            let member = Arc::clone(member);
            ending.spawn(async move {
                let running = !member.connection.has_ended();
                member.shut_down().await;
                running
            });
        }
    }
    let mut stopped = 0;
    while let Some(running) = ending.join_next().await {
        stopped += usize::from(running.unwrap_or(false));
    }
    stopped
}

fn info(slot: &Slot) -> ExtensionInfo {
    match slot {
        Slot::Failed(failed) => {
            let version = failed.manifest.version.clone().unwrap_or_default();
            let mut info = ExtensionInfo::new(
                &failed.manifest.name,
                version,
                ExtensionState::Failed,
                vec![],
                vec![],
                vec![],
            );
            info.error = Some(failed.why.clone());
            info
        }
        Slot::Started(member) => {
            let registered = member.connection.registered();
            let (state, error) = match &*member.connection.stage().borrow() {
                Stage::Starting | Stage::Registering => (ExtensionState::Starting, None),
                Stage::Ready => (ExtensionState::Ready, None),
                Stage::Ended(why) => (ExtensionState::Failed, Some(why.to_string())),
            };
            let mut info = ExtensionInfo::new(
                member.name(),
                member.launch.manifest.version.clone().unwrap_or_default(),
                state,
                registered
                    .commands
                    .iter()
                    .map(|command| command.name.clone())
                    .collect(),
                registered
                    .tools
                    .iter()
                    .map(|tool| tool.frame.name.clone())
                    .collect(),
                registered
                    .intercepts
                    .iter()
                    .map(ToString::to_string)
                    .collect(),
            );
            info.error = error;
            info
        }
    }
}
