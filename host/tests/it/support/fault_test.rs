//! Invariants that hold whatever an extension does.

use std::fs;

use zot_host::extension::Launch;
use zot_protocol::{limits::Limits, rpc::ReloadStats};

use super::{HostFixture, children, processes_in, until, within};

/// A host with misbehaving extensions and a well-behaved one. [`FaultTest::finish`] checks the
/// invariants at the end of each test.
pub(crate) struct FaultTest {
    pub(crate) fixture: HostFixture,
    descriptors: usize,
}

impl FaultTest {
    /// Must be called after `run_in_own_process!()`.
    pub(crate) fn new(limits: Limits) -> Self {
        Self::with_host(|| HostFixture::with(limits))
    }

    /// Like [`new`](Self::new), but with a host that the caller configures.
    pub(crate) fn with_host(fixture: impl FnOnce() -> HostFixture) -> Self {
        let descriptors = descriptors();
        Self {
            fixture: fixture(),
            descriptors,
        }
    }

    /// Loads these extensions and then `good`.
    pub(crate) async fn load(&self, mut launches: Vec<Launch>) -> ReloadStats {
        launches.push(self.fixture.good("good"));
        within("load", self.fixture.host.load(launches)).await
    }

    /// Checks that the well-behaved extension answers.
    pub(crate) async fn check_other_extension(&self) {
        let answer = within(
            "a command",
            self.fixture.host.command("good", "still there"),
        )
        .await;
        let shown = answer.expect("the other extension answers").display;
        assert_eq!(shown.as_deref(), Some("good: still there"));
        assert_eq!(self.fixture.answer("good").await, "good: called");
    }

    /// Waits for a one-line error note about the extension that contains `words`.
    pub(crate) async fn wait_for_error(&self, extension: &str, words: &str) {
        let lines = || -> Vec<String> {
            let all = self.fixture.notes.all();
            all.into_iter()
                .filter(|note| note.starts_with(&format!("[{extension}] Error")))
                .collect()
        };
        until(&format!("a note: {words}"), || !lines().is_empty()).await;
        let lines = lines();
        assert_eq!(lines.len(), 1, "expected one note: {lines:?}");
        assert!(
            lines[0].contains(words) && !lines[0].contains('\n'),
            "{lines:?}"
        );
    }

    /// Checks that no note was sent.
    pub(crate) fn check_no_notes(&self) {
        assert_eq!(self.fixture.notes.all(), [""; 0]);
    }

    /// Checks that the well-behaved extension answers, and that the shutdown leaves no process,
    /// zombie or descriptor behind.
    pub(crate) async fn finish(self) {
        self.check_other_extension().await;
        self.shut_down().await;
    }

    /// Shuts down and checks that nothing is left, for tests without the well-behaved extension.
    pub(crate) async fn shut_down(self) {
        within("shutdown", self.fixture.host.shutdown()).await;
        assert_eq!(children(), [""; 0], "child processes left");
        assert_eq!(
            processes_in(self.fixture.home.path()),
            [""; 0],
            "orphaned processes left"
        );
        assert!(self.fixture.host.extensions().is_empty());
        let before = self.descriptors;
        drop(self.fixture);
        // The host's threads close their descriptors slightly later.
        until(
            &format!(
                "{before} descriptors are open, as before: {:?}",
                open_descriptors()
            ),
            || descriptors() == before,
        )
        .await;
    }

    /// Drops the host without a shutdown and waits until nothing is left.
    pub(crate) async fn drop_host(self) {
        let HostFixture { host, home, .. } = self.fixture;
        drop(host);
        until("nothing is left behind", || {
            children().is_empty()
                && processes_in(home.path()).is_empty()
                && descriptors() == self.descriptors
        })
        .await;
    }
}

/// The number of open descriptors.
fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd")
        .expect("/proc should be mounted")
        .count()
}

/// The open descriptors with their targets.
fn open_descriptors() -> Vec<String> {
    fs::read_dir("/proc/self/fd")
        .expect("/proc should be mounted")
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
