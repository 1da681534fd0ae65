//! What holds whatever an extension does.

use std::fs;

use zot_host::extension::Launch;
use zot_protocol::{limits::Limits, rpc::ReloadStats};

use super::{Stage, children, processes_in, until, within};

/// A host in a process of its own, with an extension that behaves beside those that do not. [`Trial::hold`] says what
/// must be so at the end of every fault.
pub(crate) struct Trial {
    pub(crate) stage: Stage,
    descriptors: usize,
}

impl Trial {
    /// Call `alone!()` first.
    pub(crate) fn begin(limits: Limits) -> Self {
        Self::on(|| Stage::with(limits))
    }

    /// With a host that is set up otherwise.
    pub(crate) fn on(stage: impl FnOnce() -> Stage) -> Self {
        let descriptors = descriptors();
        Self {
            stage: stage(),
            descriptors,
        }
    }

    /// Loads these and, as the last one, an extension called `good`.
    pub(crate) async fn load(&self, mut launches: Vec<Launch>) -> ReloadStats {
        launches.push(self.stage.good("good"));
        within("load", self.stage.host.load(launches)).await
    }

    /// The other extension answers, whatever the faulty one does at this moment.
    pub(crate) async fn the_other_answers(&self) {
        let answer = within("a command", self.stage.host.command("good", "still there")).await;
        let shown = answer.expect("the other one answers").display;
        assert_eq!(shown.as_deref(), Some("good: still there"));
        assert_eq!(self.stage.answer("good").await, "good: called");
    }

    /// Waits until the user has been told of the extension, in one line that names it and has these words.
    pub(crate) async fn told(&self, extension: &str, words: &str) {
        let lines = || -> Vec<String> {
            let all = self.stage.notes.all();
            all.into_iter()
                .filter(|note| note.starts_with(&format!("[{extension}] Error")))
                .collect()
        };
        until(&format!("a note: {words}"), || !lines().is_empty()).await;
        let lines = lines();
        assert_eq!(lines.len(), 1, "told once: {lines:?}");
        assert!(
            lines[0].contains(words) && !lines[0].contains('\n'),
            "{lines:?}"
        );
    }

    /// Nobody was told anything.
    pub(crate) fn nothing_told(&self) {
        assert_eq!(self.stage.notes.all(), [""; 0]);
    }

    /// The host lives, the other extension answers, and after the end no process, no zombie and no descriptor is left.
    pub(crate) async fn hold(self) {
        self.the_other_answers().await;
        self.end().await;
    }

    /// The part of [`Trial::hold`] after the shutdown, for a trial without the other extension.
    pub(crate) async fn end(self) {
        within("shutdown", self.stage.host.shutdown()).await;
        assert_eq!(children(), [""; 0], "left behind");
        assert_eq!(processes_in(self.stage.home.path()), [""; 0], "orphaned");
        assert!(self.stage.host.extensions().is_empty());
        let before = self.descriptors;
        drop(self.stage);
        // The threads behind the host close theirs a moment after it.
        until(
            &format!("{before} descriptors, as before: {:?}", open()),
            || descriptors() == before,
        )
        .await;
    }

    /// Drops the host without a shutdown; all is gone a moment later.
    pub(crate) async fn drop_host(self) {
        let Stage { host, home, .. } = self.stage;
        drop(host);
        until("nothing is left", || {
            children().is_empty()
                && processes_in(home.path()).is_empty()
                && descriptors() == self.descriptors
        })
        .await;
    }
}

/// How many descriptors this process has.
fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").expect("Linux").count()
}

/// What they are.
fn open() -> Vec<String> {
    fs::read_dir("/proc/self/fd")
        .expect("Linux")
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let target = fs::read_link(&path).ok()?;
            Some(format!(
                "{} {}",
                path.file_name()?.display(),
                target.display()
            ))
        })
        .collect()
}
