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

/// Fetches into a new repository at `own`.
pub(super) fn fetch(url: &GitUrl, wanted: Option<&str>, own: &Path) -> anyhow::Result<Clone> {
    let brought = {
        let (wanted, place) = (wanted.map(ToOwned::to_owned), own.to_owned());
        on_a_thread(url, move |url, shared| {
            Session::open(url, &place, shared)?.fetch(wanted.as_deref())
        })
        // What it still writes to goes with the directory.
        .inspect_err(|_| drop(fs::remove_dir_all(own)))?
    };
    let Brought {
        found,
        commit,
        shallow,
        why_whole,
        commits,
    } = brought;
    let s = if commits == 1 { "" } else { "s" };
    let how = match why_whole.filter(|_| !shallow) {
        None => format!("shallow: {commits} commit{s}"),
        Some(why) => format!("whole: {commits} commit{s}, since {why}"),
    };
    Ok(Clone {
        repository: own.to_owned(),
        commit,
        notes: found.note.iter().cloned().collect(),
        found,
        how,
    })
}

/// Asks a server which commit a ref is at, without fetching it; `None` where it would have to be fetched to know.
pub(crate) fn newest(url: &GitUrl, wanted: Option<&str>) -> anyhow::Result<Option<String>> {
    let wanted = wanted.map(ToOwned::to_owned);
    let found = on_a_thread(url, move |url, _| remote::newest(url, wanted.as_deref()))?;
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
