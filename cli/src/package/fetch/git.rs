//! A fetch on a thread of its own, which is left to itself when the user does not want to wait.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::Ordering,
        mpsc::{RecvTimeoutError, channel},
    },
    thread,
    time::Duration,
};

use git2::Oid;

use super::{
    super::{lock_file::short, url::GitUrl},
    local,
    progress::Progress,
    ref_in_words,
    refs::Found,
    remote::{self, Brought, FetchError, Session, Shared},
};
use crate::interrupt::{self, Interrupted};

const TICK: Duration = Duration::from_millis(25);
/// How long a thread that was told to stop is waited for.
const FAREWELL: Duration = Duration::from_millis(500);

/// A commit that is here now. Displayed, it says what it is and how it was got.
#[derive(Debug)]
pub(crate) struct Clone {
    pub(super) repository: PathBuf,
    pub(super) found: Found,
    pub(super) commit: Oid,
    pub(super) notes: Vec<String>,
    how: String,
}

impl fmt::Display for Clone {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = ref_in_words(self.found.kind, self.found.name.as_deref());
        let commit = self.commit.to_string();
        write!(
            formatter,
            "fetched {what} ({}), {}",
            short(&commit),
            self.how
        )
    }
}

/// Fetches into a new repository at `own`; one on this disk is left where it is.
pub(super) fn fetch(url: &GitUrl, wanted: Option<&str>, own: &Path) -> anyhow::Result<Clone> {
    let brought = {
        let (wanted, place) = (wanted.map(ToOwned::to_owned), own.to_owned());
        on_a_thread(url, move |url, shared| match url.local_path() {
            Some(path) => local::fetch(&path, wanted.as_deref()),
            None => Session::open(url, &place, shared)?.fetch(wanted.as_deref()),
        })
        // What it still writes to goes with the directory.
        .inspect_err(|_| drop(fs::remove_dir_all(own)))?
    };
    let Brought {
        repository,
        found,
        commit,
        how,
    } = brought;
    Ok(Clone {
        repository,
        commit,
        notes: found.note.iter().cloned().collect(),
        found,
        how,
    })
}

/// Asks a server which commit a ref is at, without fetching it; `None` where it would have to be fetched to know.
pub(crate) fn newest(url: &GitUrl, wanted: Option<&str>) -> anyhow::Result<Option<String>> {
    // Ours and not the thread's, which may be left behind.
    let own = remote::stays(url).then(tempfile::tempdir).transpose()?;
    let place = own.as_ref().map(|own| own.path().to_owned());
    let wanted = wanted.map(ToOwned::to_owned);
    let found = on_a_thread(url, move |url, shared| match url.local_path() {
        Some(path) => local::newest(&path, wanted.as_deref()),
        None => remote::newest(url, wanted.as_deref(), place.as_deref(), shared),
    })?;
    Ok(found.commit.map(|commit| commit.to_string()))
}

fn on_a_thread<T: Send + 'static>(
    url: &GitUrl,
    work: impl FnOnce(&GitUrl, &Shared) -> Result<T, FetchError> + Send + 'static,
) -> anyhow::Result<T> {
    remote::set_up();
    let shared = Arc::new(Shared::default());
    let (done, result) = channel();
    {
        let (url, shared) = (url.clone(), Arc::clone(&shared));
        // Nobody waits for it where the user has left.
        let work = move || drop(done.send(work(&url, &shared)));
        thread::Builder::new()
            .name("fetch".to_owned())
            .spawn(work)?;
    }
    let mut progress = Progress::new(format!("fetching {url}"));
    loop {
        match result.recv_timeout(TICK) {
            Ok(worked) => return Ok(worked?),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => anyhow::bail!("the fetch ended by itself"),
        }
        if interrupt::check().is_err() {
            shared.given_up.store(true, Ordering::Relaxed);
            let _ = result.recv_timeout(FAREWELL);
            return Err(Interrupted.into());
        }
        if let Ok(arrived) = shared.arrived.lock() {
            progress.show(*arrived);
        }
    }
}
