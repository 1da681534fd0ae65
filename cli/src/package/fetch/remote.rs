//! Talks to a git server: connects, lists refs, and fetches one commit or the history that leads to
//! it.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{
        Once,
        atomic::{AtomicBool, Ordering},
    },
};

use git2::{
    AutotagOption, ConfigLevel, Direction, Error, ErrorClass, ErrorCode, FetchOptions, ObjectType,
    Oid, ProxyOptions, Remote, RemoteCallbacks, Repository, RepositoryInitOptions,
};
use parking_lot::Mutex;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use zot_host::extension::discover::escape;

use super::{
    super::{
        contents::{MAX_BYTES, MAX_ENTRIES},
        lock_file::short,
        url::{GitUrl, Scheme},
    },
    key::GitCredentials,
    local, objects,
    progress::Transfer,
    ref_in_words,
    refs::{self, Found, Head, RefError, Want},
};

/// The memory limit during a fetch, in bytes. libgit2 resolves deltas in memory, and a delta of a
/// few bytes can expand to gigabytes; with the limit, such a fetch fails. The limit leaves room for
/// the largest file that a package can contain and its delta base.
const MAX_MEMORY: u64 = 768 * 1024 * 1024;
/// How long to wait for a server that sends nothing, in milliseconds.
const TIMEOUT_MS: i32 = 30_000;
/// The maximum number of objects for one commit: its files and directories, the commit, and its
/// tags.
const SHALLOW_OBJECTS: usize = MAX_ENTRIES + 16;
/// The limits for a complete history, which can be larger than a single version.
const HISTORY_OBJECTS: usize = 1_000_000;
const HISTORY_BYTES: u64 = 1024 * 1024 * 1024;

/// Why a fetch failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    #[error("timed out: no response from the server for {} s", TIMEOUT_MS / 1000)]
    Timeout,
    #[error("authentication failed\nhint: {0}")]
    Auth(&'static str),
    #[error(
        "cannot verify the server's identity: {}\nhint: {hint}",
        escape::text(message)
    )]
    Identity { message: String, hint: &'static str },
    #[error(transparent)]
    Ref(#[from] RefError),
    #[error("repository has more than {0} objects{1}")]
    TooMany(usize, &'static str),
    #[error("repository is larger than {} MiB{what}", bytes / (1024 * 1024))]
    TooLarge { bytes: u64, what: &'static str },
    #[error("repository contains a {kind} of {} MiB", bytes / (1024 * 1024))]
    Object { kind: ObjectType, bytes: usize },
    #[error("cancelled")]
    Cancelled,
    #[error("{}", one_line(.0))]
    Git(String),
}

/// Shortens a message from the server or libgit2 to one line and removes control characters.
fn one_line(message: &str) -> String {
    let words: Vec<&str> = message.split_whitespace().collect();
    let text = words.join(" ");
    let short: String = text.chars().take(300).collect();
    escape::text(&short)
}

/// State shared between the fetch thread and the main thread.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) received: Mutex<Transfer>,
    /// Set when the user interrupts the fetch.
    pub(super) cancelled: AtomicBool,
}

/// A fetched commit. Its `Display` output describes what it is and how it was fetched.
#[derive(Debug)]
pub(super) struct FetchedCommit {
    /// The repository that contains the objects.
    pub(super) repository: PathBuf,
    pub(super) found: Found,
    pub(super) commit: Oid,
    /// A description of how the commit was fetched.
    pub(super) how: String,
}

impl fmt::Display for FetchedCommit {
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

/// Makes libgit2 ignore all git configuration, and sets its timeouts and a memory limit. These
/// settings apply to the whole process.
pub(super) fn set_up() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for level in [
            ConfigLevel::ProgramData,
            ConfigLevel::System,
            ConfigLevel::XDG,
            ConfigLevel::Global,
        ] {
            // SAFETY: called once, before any other thread uses the library.
            let set = unsafe { git2::opts::set_search_path(level, "") };
            set.expect("an empty search path is valid");
        }
        let limit = getrlimit(Resource::Data);
        let max = limit.maximum.map_or(MAX_MEMORY, |max| max.min(MAX_MEMORY));
        let limit = Rlimit {
            current: Some(limit.current.map_or(max, |current| current.min(max))),
            ..limit
        };
        // Ignore the error: not every system supports this limit.
        let _ = setrlimit(Resource::Data, limit);
        // SAFETY: as above.
        let set = unsafe {
            git2::opts::set_server_connect_timeout_in_milliseconds(TIMEOUT_MS)
                .and_then(|()| git2::opts::set_server_timeout_in_milliseconds(TIMEOUT_MS))
        };
        set.expect("a positive timeout is valid");
    });
}

/// Reports whether redirects are refused: for unencrypted connections and for URLs with
/// credentials.
pub(super) fn refuses_redirects(url: &GitUrl) -> bool {
    url.scheme == Scheme::Http || url.password.is_some() || url.user.is_some()
}

/// Resolves the ref to its current commit, if the server lists it.
///
/// If [`refuses_redirects`] is true for the URL, `own` must be the path for a new repository,
/// because redirects can only be disabled in the configuration of a repository.
pub(super) fn newest(
    url: &GitUrl,
    wanted: Option<&str>,
    own: Option<&Path>,
    shared: &Shared,
) -> Result<Found, FetchError> {
    let mut keys = GitCredentials::of(url);
    let heads = if let Some(own) = own {
        let session = Session::open(url, own, shared)?;
        heads(&mut session.remote()?, &mut keys)?
    } else {
        let mut remote = Remote::create_detached(url.bare()).map_err(fetch_error)?;
        heads(&mut remote, &mut keys)?
    };
    Ok(refs::find(&heads, wanted)?)
}

/// A connection to a server, and an empty local repository to fetch into.
pub(super) struct Session<'s> {
    url: &'s GitUrl,
    shared: &'s Shared,
    own: Repository,
}

impl<'s> Session<'s> {
    pub(super) fn open(
        url: &'s GitUrl,
        own: &Path,
        shared: &'s Shared,
    ) -> Result<Self, FetchError> {
        let mut options = RepositoryInitOptions::new();
        options.bare(true).external_template(false);
        let own = Repository::init_opts(own, &options).map_err(fetch_error)?;
        if refuses_redirects(url) {
            let mut config = own.config().map_err(fetch_error)?;
            config
                .set_bool("http.followRedirects", false)
                .map_err(fetch_error)?;
        }
        Ok(Self { url, shared, own })
    }

    /// Fetches a single commit if the server allows it, or else the history that leads to it.
    pub(super) fn fetch(&self, wanted: Option<&str>) -> Result<FetchedCommit, FetchError> {
        let mut remote = self.remote()?;
        let mut keys = GitCredentials::of(self.url);
        let heads = heads(&mut remote, &mut keys)?;
        let found = refs::find(&heads, wanted)?;
        let one = match &found.want {
            Want::Ref(name) => Some(format!("+{name}:refs/zot/wanted")),
            Want::Commit(oid) => Some(format!("+{oid}:refs/zot/wanted")),
            Want::Prefix(_) => None,
        };
        let mut why_full = None;
        let mut shallow = false;
        if let Some(one) = &one {
            match self.download(&mut remote, &[one], Depth::One) {
                Ok(()) => shallow = true,
                Err(FetchError::Git(message)) if message.contains("shallow") => {
                    why_full = Some("the server does not support shallow fetches");
                }
                // Servers report a refused commit in different ways, so treat every error as a
                // refusal.
                Err(FetchError::Git(_)) if matches!(found.want, Want::Commit(_)) => {
                    why_full = Some("the server does not send commits that no ref points to");
                }
                Err(error) => return Err(error),
            }
        } else {
            why_full = Some("the server cannot look up an abbreviated commit");
        }
        if !shallow {
            let all = [
                "+refs/heads/*:refs/zot/heads/*",
                "+refs/tags/*:refs/zot/tags/*",
            ];
            let specs = match (&found.want, &one) {
                (Want::Ref(_), Some(one)) => vec![one.as_str()],
                _ => all.to_vec(),
            };
            // Use a new connection: the first one may be in an unknown state.
            self.download(&mut self.remote()?, &specs, Depth::All)?;
        }
        let commit = commit_of(&self.own, &found, wanted)?;
        let commits = self.count_commits().map_err(fetch_error)?;
        let s = if commits == 1 { "" } else { "s" };
        let how = match why_full.filter(|_| !shallow) {
            None => format!("shallow: {commits} commit{s}"),
            Some(why) => format!("full history: {commits} commit{s}, because {why}"),
        };
        Ok(FetchedCommit {
            repository: self.own.path().to_owned(),
            found,
            commit,
            how,
        })
    }

    fn remote(&self) -> Result<Remote<'_>, FetchError> {
        self.own
            .remote_anonymous(self.url.bare())
            .map_err(fetch_error)
    }

    fn download(
        &self,
        remote: &mut Remote<'_>,
        specs: &[impl AsRef<str>],
        depth: Depth,
    ) -> Result<(), FetchError> {
        let specs: Vec<&str> = specs.iter().map(AsRef::as_ref).collect();
        let mut refused = None;
        let mut keys = GitCredentials::of(self.url);
        let mut callbacks = callbacks(&mut keys);
        callbacks.transfer_progress(|progress| {
            let received = Transfer {
                objects: progress.received_objects(),
                of: progress.total_objects(),
                bytes: progress.received_bytes() as u64,
            };
            *self.shared.received.lock() = received;
            refused = depth.refuses(received);
            refused.is_none() && !self.shared.cancelled.load(Ordering::Relaxed)
        });
        let mut options = FetchOptions::new();
        options
            .remote_callbacks(callbacks)
            .proxy_options(proxy())
            .download_tags(AutotagOption::None)
            .update_fetchhead(false);
        if let Depth::One = depth {
            options.depth(1);
        }
        let downloaded = remote.download(&specs, Some(&mut options));
        drop(options);
        match (downloaded, refused) {
            (_, Some(refused)) => Err(refused),
            (Err(_), None) if self.shared.cancelled.load(Ordering::Relaxed) => {
                Err(FetchError::Cancelled)
            }
            (downloaded, None) => downloaded.map_err(fetch_error),
        }
    }

    fn count_commits(&self) -> Result<usize, Error> {
        let odb = self.own.odb()?;
        let mut commits = 0;
        odb.foreach(|oid| {
            let header = odb.read_header(*oid);
            commits += usize::from(header.is_ok_and(|(_, kind)| kind == ObjectType::Commit));
            true
        })?;
        Ok(commits)
    }
}

/// Finds the requested commit in a repository.
pub(super) fn commit_of(
    repository: &Repository,
    found: &Found,
    wanted: Option<&str>,
) -> Result<Oid, FetchError> {
    let missing = |_| {
        FetchError::Ref(RefError::Missing {
            wanted: wanted.unwrap_or("HEAD").to_owned(),
            hint: String::new(),
        })
    };
    let odb = repository.odb().map_err(fetch_error)?;
    let oid = match (&found.want, found.commit) {
        (Want::Prefix(digits), _) => {
            let prefix = Oid::from_str(digits).map_err(fetch_error)?;
            odb.exists_prefix(prefix, digits.len())
                .map_err(|error| match error.code() {
                    ErrorCode::Ambiguous => RefError::Ambiguous(digits.clone()).into(),
                    _ => missing(error),
                })?
        }
        (_, Some(oid)) => oid,
        (_, None) => return Err(missing(Error::from_str(""))),
    };
    let oid = local::peeled(repository, oid)?;
    // Check the size before reading the object.
    objects::check_size(&odb, oid)?;
    Ok(repository.find_commit(oid).map_err(missing)?.id())
}

#[derive(Debug, Clone, Copy)]
enum Depth {
    One,
    All,
}

impl Depth {
    fn refuses(self, received: Transfer) -> Option<FetchError> {
        let (objects, bytes, what) = match self {
            // The limits of a package, checked during the download.
            Self::One => (SHALLOW_OBJECTS, MAX_BYTES, ""),
            Self::All => (HISTORY_OBJECTS, HISTORY_BYTES, ", including its history"),
        };
        if received.of > objects {
            Some(FetchError::TooMany(objects, what))
        } else if received.bytes > bytes {
            Some(FetchError::TooLarge { bytes, what })
        } else {
            None
        }
    }
}

fn callbacks(keys: &mut GitCredentials) -> RemoteCallbacks<'_> {
    let mut callbacks = RemoteCallbacks::new();
    callbacks.credentials(|_, _, allowed| keys.next(allowed));
    callbacks
}

/// Uses the proxy from the environment; no git configuration is read.
fn proxy<'p>() -> ProxyOptions<'p> {
    let mut proxy = ProxyOptions::new();
    proxy.auto();
    proxy
}

fn heads(remote: &mut Remote<'_>, keys: &mut GitCredentials) -> Result<Vec<Head>, FetchError> {
    remote
        .connect_auth(Direction::Fetch, Some(callbacks(keys)), Some(proxy()))
        .and_then(|connection| {
            let heads = connection.list()?.iter().map(|head| Head {
                name: head.name().to_owned(),
                oid: head.oid(),
                symref: head.symref_target().map(ToOwned::to_owned),
            });
            Ok(heads.collect())
        })
        .map_err(fetch_error)
}

#[expect(clippy::needless_pass_by_value, reason = "signature for `map_err`")]
pub(super) fn fetch_error(error: Error) -> FetchError {
    match (error.code(), error.class()) {
        (ErrorCode::Timeout, _) => FetchError::Timeout,
        (_, ErrorClass::NoMemory) => FetchError::TooLarge {
            bytes: MAX_MEMORY,
            what: " unpacked",
        },
        (ErrorCode::Auth, ErrorClass::Ssh) => FetchError::Auth(
            "check that your key is loaded in ssh-agent (`ssh-add -l`) and that the server accepts it",
        ),
        (ErrorCode::Auth, _) => FetchError::Auth(
            "check the URL; for a private repository use ssh, or clone it and install the directory",
        ),
        (ErrorCode::Certificate, ErrorClass::Ssh) => FetchError::Identity {
            message: error.message().to_owned(),
            hint: "connect once with `ssh` to accept the server's key",
        },
        (ErrorCode::Certificate, _) => FetchError::Identity {
            message: error.message().to_owned(),
            hint: "set SSL_CERT_FILE to the certificates to trust",
        },
        _ if error.message().contains("authentication replays") => {
            FetchError::Auth("check the URL; for a private repository use ssh")
        }
        _ if error.message().contains("timed out") => FetchError::Timeout,
        _ => FetchError::Git(error.message().to_owned()),
    }
}
