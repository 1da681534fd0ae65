//! Runs a fetch on its own thread, which is abandoned if the user interrupts it.

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::Ordering,
        mpsc::{RecvTimeoutError, channel},
    },
    thread,
    time::Duration,
};

use super::{
    super::url::GitUrl,
    local,
    progress::Transfer,
    remote::{self, FetchError, FetchedCommit, Session, Shared},
};
use crate::{
    interrupt::{self, Interrupted},
    spinner::ProgressLine,
};

const TICK: Duration = Duration::from_millis(25);
/// How long to wait for a cancelled thread.
const CANCEL_GRACE: Duration = Duration::from_millis(500);

/// Fetches into a new repository at `own`. A local repository is read in place instead.
pub(super) fn fetch(
    url: &GitUrl,
    wanted: Option<&str>,
    own: &Path,
) -> anyhow::Result<FetchedCommit> {
    let (wanted, place) = (wanted.map(ToOwned::to_owned), own.to_owned());
    on_thread(url, move |url, shared| match url.local_path() {
        Some(path) => local::fetch(&path, wanted.as_deref()),
        None => Session::open(url, &place, shared)?.fetch(wanted.as_deref()),
    })
    // Ignore errors: an abandoned thread may still be writing there.
    .inspect_err(|_| drop(fs::remove_dir_all(own)))
}

/// Asks a server for the commit of a ref, without fetching it. Returns `None` if the server does
/// not list the commit.
pub(crate) fn newest(url: &GitUrl, wanted: Option<&str>) -> anyhow::Result<Option<String>> {
    // The directory is owned here and not by the thread, because the thread may be abandoned.
    let own = remote::refuses_redirects(url)
        .then(tempfile::tempdir)
        .transpose()?;
    let place = own.as_ref().map(|own| own.path().to_owned());
    let wanted = wanted.map(ToOwned::to_owned);
    let found = on_thread(url, move |url, shared| match url.local_path() {
        Some(path) => local::newest(&path, wanted.as_deref()),
        None => remote::newest(url, wanted.as_deref(), place.as_deref(), shared),
    })?;
    Ok(found.commit.map(|commit| commit.to_string()))
}

fn on_thread<T: Send + 'static>(
    url: &GitUrl,
    work: impl FnOnce(&GitUrl, &Shared) -> Result<T, FetchError> + Send + 'static,
) -> anyhow::Result<T> {
    remote::set_up();
    let shared = Arc::new(Shared::default());
    let (done, result) = channel();
    {
        let (url, shared) = (url.clone(), Arc::clone(&shared));
        // The send fails if the user has interrupted the fetch.
        let work = move || drop(done.send(work(&url, &shared)));
        thread::Builder::new()
            .name("fetch".to_owned())
            .spawn(work)?;
    }
    let mut progress = ProgressLine::new();
    loop {
        match result.recv_timeout(TICK) {
            Ok(worked) => return Ok(worked?),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => anyhow::bail!("the fetch thread panicked"),
        }
        if interrupt::check().is_err() {
            shared.cancelled.store(true, Ordering::Relaxed);
            let _ = result.recv_timeout(CANCEL_GRACE);
            return Err(Interrupted.into());
        }
        let received: Transfer = *shared.received.lock();
        progress.show(&format!("fetching {url}: {received}"));
    }
}
