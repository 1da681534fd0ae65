//! Starts, reloads and stops all extensions.

use std::sync::{Arc, atomic::Ordering};

use tokio::task::JoinSet;
use zot_protocol::{
    InterceptName, NoteLevel, OnFailure,
    rpc::{ExtensionInfo, ExtensionState, ReloadFailure, ReloadStats},
};

use super::{
    Host, HostInner,
    slot::{FailedStart, Slot},
};
use crate::extension::{
    Launch, PermissionReport,
    connection::Stage,
    member::{Member, Shared, WarnedFailures, log_of},
    notes::Notes,
};

impl Host {
    /// Starts extensions in parallel and waits until each one is ready or has failed, but no longer
    /// than the startup limit; slower extensions join later. `launches` is in load order.
    /// Previously loaded extensions are shut down first.
    ///
    /// Runs to completion even if the caller stops waiting. Starts nothing after a shutdown.
    pub async fn load(&self, launches: Vec<Launch>) -> ReloadStats {
        self.reload(|| launches).await
    }

    /// Like [`load`](Self::load), but calls `find` to find the extensions to start, after the old
    /// ones have exited and cannot interfere.
    pub async fn reload(&self, find: impl FnOnce() -> Vec<Launch> + Send + 'static) -> ReloadStats {
        let host = self.clone();
        let loading = tokio::spawn(async move { host.replace_all(find).await });
        loading.await.expect("a reload does not panic")
    }

    async fn replace_all(
        &self,
        find: impl FnOnce() -> Vec<Launch> + Send + 'static,
    ) -> ReloadStats {
        // Only one reload at a time.
        let _one = self.0.reloading.lock().await;
        let listing = Listing::new(&self.0);
        let mut stats = ReloadStats::default();
        if *self.0.closing.borrow() {
            return stats;
        }
        let paused = PausedRequests::new(&self.0);
        let old = self.replace(Vec::new());
        retire_all(&old);
        stats.stopped = shut_down_all(&old).await as u64;
        if *self.0.closing.borrow() {
            return stats;
        }
        let Some(launches) = self.find_launches(find).await else {
            return stats;
        };
        let slots = start_all(launches, &self.0.shared).await;
        let started = slots.iter().filter(|it| matches!(it, Slot::Started(_)));
        stats.loaded = started.count() as u64;
        self.replace(slots);
        drop(listing);
        self.warn_about_support();
        self.wait_for_start_up().await;
        drop(paused);
        for info in self.extensions() {
            match (&info.state, info.error) {
                (ExtensionState::Ready, _) => stats.ready += 1,
                (_, Some(error)) => stats.errors.push(ReloadFailure::new(info.name, error)),
                _ => {}
            }
        }
        stats
    }

    /// Runs `find` on a blocking thread, because it may read many files. Returns `None` if the host
    /// is shut down in the meantime, without waiting for `find`.
    async fn find_launches(
        &self,
        find: impl FnOnce() -> Vec<Launch> + Send + 'static,
    ) -> Option<Vec<Launch>> {
        let mut over = self.0.closing.subscribe();
        tokio::select! {
            found = tokio::task::spawn_blocking(find) => {
                Some(found.expect("discovery does not panic"))
            }
            _ = over.wait_for(|over| *over) => None,
        }
    }

    /// Stops all extensions in parallel. The host starts nothing afterwards.
    pub async fn shutdown(&self) {
        // A running reload ends early, and a queued one starts nothing.
        self.0.closing.send_replace(true);
        retire_all(&self.0.slots());
        let _one = self.0.reloading.lock().await;
        let old = self.replace(Vec::new());
        retire_all(&old);
        self.0.publish(Arc::default());
        shut_down_all(&old).await;
    }

    /// Lists every extension and its state, in load order.
    pub fn extensions(&self) -> Vec<ExtensionInfo> {
        self.0.slots().iter().map(info).collect()
    }

    /// Waits until [`extensions`](Self::extensions) lists every extension that was found. Before
    /// the first load, waits for it.
    pub async fn listed(&self) {
        let mut listed = self.0.listed.subscribe();
        // The sender lives as long as the host.
        let _ = listed.wait_for(|listed| *listed).await;
    }

    /// Reports whether [`listed`](Self::listed) would return immediately.
    pub fn is_listed(&self) -> bool {
        *self.0.listed.borrow()
    }

    /// Returns the extensions whose commands and tools may not be in the registry yet.
    pub fn starting(&self) -> Vec<String> {
        let is_paused = self.0.active.borrow().is_none();
        let infos = self.extensions().into_iter();
        let starting = infos.filter(|info| match info.state {
            ExtensionState::Starting => true,
            ExtensionState::Ready => is_paused,
            _ => false,
        });
        starting.map(|info| info.name).collect()
    }

    /// Returns the permissions that each extension declares and which part of them is enforced, in
    /// load order.
    pub fn permissions(&self) -> Vec<(String, PermissionReport)> {
        let slots = self.0.slots();
        let reports = slots.iter().map(|slot| match slot {
            Slot::Started(member) => (member.name().to_owned(), member.permissions.clone()),
            Slot::Failed(failed) => {
                let report = PermissionReport::of(&failed.manifest, self.0.shared.config.support);
                (failed.manifest.name.clone(), report)
            }
        });
        reports.collect()
    }

    /// Warns the user, once, about permissions that are not fully enforced.
    fn warn_about_support(&self) {
        let slots = self.0.slots();
        let short: Vec<&str> = slots
            .iter()
            .filter_map(|slot| match slot {
                Slot::Started(member) if member.permissions.falls_short() => Some(member.name()),
                _ => None,
            })
            .collect();
        if !short.is_empty() && !self.0.warned_about_support.swap(true, Ordering::SeqCst) {
            let line = format!(
                "the permissions of {} are not fully enforced; enforced here: {}",
                short.join(", "),
                self.0.shared.config.support
            );
            self.0.shared.config.hooks.notice(NoteLevel::Warn, &line);
        }
    }

    fn replace(&self, slots: Vec<Slot>) -> Arc<Vec<Slot>> {
        std::mem::replace(&mut *self.0.slots.lock(), Arc::new(slots))
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
        let mut over = self.0.closing.subscribe();
        tokio::select! {
            () = all_settled => {}
            () = tokio::time::sleep(self.0.shared.config.limits.startup) => {}
            _ = over.wait_for(|over| *over) => {}
        }
    }
}

/// Makes requests wait until it is dropped. Then publishes the current extensions, whether or not
/// the reload succeeded.
struct PausedRequests<'h>(&'h HostInner);

impl<'h> PausedRequests<'h> {
    fn new(host: &'h HostInner) -> Self {
        host.active.send_replace(None);
        Self(host)
    }
}

impl Drop for PausedRequests<'_> {
    fn drop(&mut self) {
        self.0.publish(self.0.slots());
    }
}

/// Marks the list of extensions as incomplete until it is dropped, whether or not the reload
/// succeeded.
struct Listing<'h>(&'h HostInner);

impl<'h> Listing<'h> {
    fn new(host: &'h HostInner) -> Self {
        host.listed.send_replace(false);
        Self(host)
    }
}

impl Drop for Listing<'_> {
    fn drop(&mut self) {
        self.0.listed.send_replace(true);
    }
}

async fn start_all(launches: Vec<Launch>, shared: &Arc<Shared>) -> Vec<Slot> {
    let mut starting = JoinSet::new();
    let mut slots: Vec<Option<Slot>> = launches.iter().map(|_| None).collect();
    for (index, mut launch) in launches.into_iter().enumerate() {
        let shared = Arc::clone(shared);
        apply_settings(&mut launch, &shared);
        starting.spawn(async move {
            let slot = match Member::start(launch.clone(), &shared).await {
                Ok(member) => Slot::Started(member),
                Err(why) => {
                    // A note must be a single line.
                    let line = why.replace('\n', "; ");
                    let notes = Notes::new(launch.name(), &shared.config.hooks);
                    notes.add(NoteLevel::Error, &line);
                    Slot::Failed(Arc::new(FailedStart {
                        why,
                        warned: WarnedFailures::default(),
                        notes,
                        log: log_of(&launch, &shared.config.limits),
                        manifest: launch.manifest,
                        audited: launch.audited,
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

/// Applies the user's settings. `on_failure` can change what a failure does from allowing the event
/// to blocking it, but not the reverse. Audit mode is the only way to loosen a guard.
fn apply_settings(launch: &mut Launch, shared: &Shared) {
    let Some(settings) = shared.config.settings.get(&launch.manifest.name) else {
        return;
    };
    for (event, &on_failure) in &settings.on_failure {
        if on_failure == OnFailure::Block {
            let policies = &mut launch.manifest.intercept.0;
            policies.entry(event.clone()).or_default().on_failure = OnFailure::Block;
        }
    }
    launch.audited = settings.audited().cloned().collect();
}

/// Cancels the tool calls that extensions are making and accepts no more, so that no extension acts
/// after the extension that guards it has exited.
fn retire_all(slots: &[Slot]) {
    for slot in slots {
        if let Slot::Started(member) = slot {
            member.retire();
        }
    }
}

/// Shuts down all extensions. Returns how many were running.
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
    let (registered, state, error) = match slot {
        Slot::Failed(failed) => {
            let error = Some(failed.why.clone());
            (Arc::default(), ExtensionState::Failed, error)
        }
        Slot::Started(member) => {
            let (state, error) = match &*member.connection.stage().borrow() {
                Stage::Starting | Stage::Registering => (ExtensionState::Starting, None),
                Stage::Ready => (ExtensionState::Ready, None),
                Stage::Ended(why) => (ExtensionState::Failed, Some(why.to_string())),
            };
            (member.connection.registered(), state, error)
        }
    };
    let commands = registered.commands.iter();
    let tools = registered.tools.iter();
    let intercepts = registered.intercepts.iter();
    let manifest = slot.manifest();
    let mut info = ExtensionInfo::new(
        &manifest.name,
        manifest.version.clone().unwrap_or_default(),
        state,
        commands.map(|command| command.name.clone()).collect(),
        tools.map(|tool| tool.frame.name.clone()).collect(),
        intercepts.map(ToString::to_string).collect(),
    );
    info.error = error;
    let audited = slot.audited().iter();
    let intercepted = |event: &&InterceptName| slot.intercepts(event);
    info.audited = audited
        .filter(intercepted)
        .map(ToString::to_string)
        .collect();
    info
}
