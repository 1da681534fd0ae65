//! The conversation with a server: connect, see its refs, take one commit, or what leads to it.

use std::{
    path::{Path, PathBuf},
    sync::{
        Mutex, Once,
        atomic::{AtomicBool, Ordering},
    },
};

use git2::{
    AutotagOption, ConfigLevel, Direction, Error, ErrorClass, ErrorCode, FetchOptions, ObjectType,
    Oid, ProxyOptions, Remote, RemoteCallbacks, Repository, RepositoryInitOptions,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use zot_host::extension::discover::shown;

use super::{
    super::{
        contents::{MOST_BYTES, MOST_ENTRIES},
        url::{GitUrl, Scheme},
    },
    key::Keys,
    local, objects,
    progress::Arrived,
    refs::{self, Found, Head, RefError, Want},
};

/// The most memory that is used while something is fetched, in bytes. The library unpacks what is stored as a difference
/// in memory, and a few bytes can be the difference to gigabytes: that then fails instead. A package's largest file and what
/// it differs from fit.
const MEMORY: u64 = 768 * 1024 * 1024;
/// How long a server may be silent.
const SILENCE_MS: i32 = 30_000;
/// Of one commit: every file, every directory, and the commit with its tags.
const SHALLOW_OBJECTS: usize = MOST_ENTRIES + 16;
/// Of a whole history, which may be longer than what is in it.
const WHOLE_OBJECTS: usize = 1_000_000;
const WHOLE_BYTES: u64 = 1024 * 1024 * 1024;

/// Why nothing came of it.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    #[error("the server was silent for {} s", SILENCE_MS / 1000)]
    Silent,
    #[error("the server asks who you are, and did not take the answer\nhint: {0}")]
    Auth(&'static str),
    #[error(
        "the server could not prove who it is: {}\nhint: {hint}",
        shown::text(message)
    )]
    Identity { message: String, hint: &'static str },
    #[error(transparent)]
    Ref(#[from] RefError),
    #[error("it has more than {0} objects{1}")]
    TooMany(usize, &'static str),
    #[error("it is larger than {} MiB{what}", bytes / (1024 * 1024))]
    TooLarge { bytes: u64, what: &'static str },
    #[error("it has a {kind} of {} MiB", bytes / (1024 * 1024))]
    Object { kind: ObjectType, bytes: usize },
    #[error("given up")]
    GivenUp,
    #[error("{}", one_line(.0))]
    Git(String),
}

/// What a server or the library says is not ours: it is told on one line, and nothing in it steers a terminal.
fn one_line(message: &str) -> String {
    let words: Vec<&str> = message.split_whitespace().collect();
    let text = words.join(" ");
    let short: String = text.chars().take(300).collect();
    shown::text(&short).to_string()
}

/// What both threads see of a fetch.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) arrived: Mutex<Arrived>,
    /// Nobody waits for it any more.
    pub(super) given_up: AtomicBool,
}

/// What a fetch brought.
#[derive(Debug)]
pub(super) struct Brought {
    /// Where the objects are.
    pub(super) repository: PathBuf,
    pub(super) found: Found,
    pub(super) commit: Oid,
    /// How it was got, in words.
    pub(super) how: String,
}

/// From now on the library reads nobody's configuration, waits for no server longer than it should, and has only so much
/// memory. All are settings of the whole process.
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
            set.expect("an empty search path is one");
        }
        let limit = getrlimit(Resource::Data);
        let most = limit.maximum.map_or(MEMORY, |most| most.min(MEMORY));
        let limit = Rlimit {
            current: Some(limit.current.map_or(most, |current| current.min(most))),
            ..limit
        };
        // A system without it has no such bound.
        let _ = setrlimit(Resource::Data, limit);
        // SAFETY: as above.
        let set = unsafe {
            git2::opts::set_server_connect_timeout_in_milliseconds(SILENCE_MS)
                .and_then(|()| git2::opts::set_server_timeout_in_milliseconds(SILENCE_MS))
        };
        set.expect("a positive number of milliseconds is a timeout");
    });
}

/// In the open, or with a password, nobody sends us elsewhere.
pub(super) fn stays(url: &GitUrl) -> bool {
    url.scheme == Scheme::Http || url.password.is_some() || url.user.is_some()
}

/// Which commit the user means now, where the server says it without more ado.
///
/// One that [`stays`] needs a repository of its own, since only that has a setting for it.
pub(super) fn newest(
    url: &GitUrl,
    wanted: Option<&str>,
    own: Option<&Path>,
    shared: &Shared,
) -> Result<Found, FetchError> {
    let mut keys = Keys::of(url);
    let heads = if let Some(own) = own {
        let session = Session::open(url, own, shared)?;
        heads(&mut session.remote()?, &mut keys)?
    } else {
        let mut remote = Remote::create_detached(url.bare()).map_err(told)?;
        heads(&mut remote, &mut keys)?
    };
    Ok(refs::find(&heads, wanted)?)
}

/// A repository of the server, and an empty one of our own to fetch into.
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
        let own = Repository::init_opts(own, &options).map_err(told)?;
        if stays(url) {
            let mut config = own.config().map_err(told)?;
            config
                .set_bool("http.followRedirects", false)
                .map_err(told)?;
        }
        Ok(Self { url, shared, own })
    }

    /// Fetches what the user means: one commit if that can be had, else the history that leads to it.
    pub(super) fn fetch(&self, wanted: Option<&str>) -> Result<Brought, FetchError> {
        let mut remote = self.remote()?;
        let mut keys = Keys::of(self.url);
        let heads = heads(&mut remote, &mut keys)?;
        let found = refs::find(&heads, wanted)?;
        let one = match &found.want {
            Want::Ref(name) => Some(format!("+{name}:refs/zot/wanted")),
            Want::Commit(oid) => Some(format!("+{oid}:refs/zot/wanted")),
            Want::Prefix(_) => None,
        };
        let mut why_whole = None;
        let mut shallow = false;
        if let Some(one) = &one {
            match self.download(&mut remote, &[one], Depth::One) {
                Ok(()) => shallow = true,
                Err(FetchError::Git(message)) if message.contains("shallow") => {
                    why_whole = Some("the server does not give a part of it");
                }
                // What exactly a server says to a commit it does not want to give is up to it.
                Err(FetchError::Git(_)) if matches!(found.want, Want::Commit(_)) => {
                    why_whole = Some("the server gives no single commit that no ref is at");
                }
                Err(error) => return Err(error),
            }
        } else {
            why_whole = Some("the first digits of a commit are not known to the server");
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
            // Another conversation: the first one may have ended anywhere.
            self.download(&mut self.remote()?, &specs, Depth::All)?;
        }
        let commit = commit_of(&self.own, &found, wanted)?;
        let commits = self.count_commits().map_err(told)?;
        let s = if commits == 1 { "" } else { "s" };
        let how = match why_whole.filter(|_| !shallow) {
            None => format!("shallow: {commits} commit{s}"),
            Some(why) => format!("whole: {commits} commit{s}, since {why}"),
        };
        Ok(Brought {
            repository: self.own.path().to_owned(),
            found,
            commit,
            how,
        })
    }

    fn remote(&self) -> Result<Remote<'_>, FetchError> {
        self.own.remote_anonymous(self.url.bare()).map_err(told)
    }

    fn download(
        &self,
        remote: &mut Remote<'_>,
        specs: &[impl AsRef<str>],
        depth: Depth,
    ) -> Result<(), FetchError> {
        let specs: Vec<&str> = specs.iter().map(AsRef::as_ref).collect();
        let mut refused = None;
        let mut keys = Keys::of(self.url);
        let mut callbacks = callbacks(&mut keys);
        callbacks.transfer_progress(|progress| {
            let arrived = Arrived {
                objects: progress.received_objects(),
                of: progress.total_objects(),
                bytes: progress.received_bytes() as u64,
            };
            if let Ok(mut seen) = self.shared.arrived.lock() {
                *seen = arrived;
            }
            refused = depth.refuses(arrived);
            refused.is_none() && !self.shared.given_up.load(Ordering::Relaxed)
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
            (Err(_), None) if self.shared.given_up.load(Ordering::Relaxed) => {
                Err(FetchError::GivenUp)
            }
            (downloaded, None) => downloaded.map_err(told),
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

/// The commit that was meant, among what is in a repository.
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
    let odb = repository.odb().map_err(told)?;
    let oid = match (&found.want, found.commit) {
        (Want::Prefix(digits), _) => {
            let prefix = Oid::from_str(digits).map_err(told)?;
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
    // Before any of it is read.
    objects::check_size(&odb, oid)?;
    Ok(repository.find_commit(oid).map_err(missing)?.id())
}

#[derive(Debug, Clone, Copy)]
enum Depth {
    One,
    All,
}

impl Depth {
    fn refuses(self, arrived: Arrived) -> Option<FetchError> {
        let (objects, bytes, what) = match self {
            // What a package may have at the most, before it is even here.
            Self::One => (SHALLOW_OBJECTS, MOST_BYTES, ""),
            Self::All => (WHOLE_OBJECTS, WHOLE_BYTES, " with its history"),
        };
        if arrived.of > objects {
            Some(FetchError::TooMany(objects, what))
        } else if arrived.bytes > bytes {
            Some(FetchError::TooLarge { bytes, what })
        } else {
            None
        }
    }
}

fn callbacks(keys: &mut Keys) -> RemoteCallbacks<'_> {
    let mut callbacks = RemoteCallbacks::new();
    callbacks.credentials(|_, _, allowed| keys.next(allowed));
    callbacks
}

/// What the environment says; there is no configuration that could say it.
fn proxy<'p>() -> ProxyOptions<'p> {
    let mut proxy = ProxyOptions::new();
    proxy.auto();
    proxy
}

fn heads(remote: &mut Remote<'_>, keys: &mut Keys) -> Result<Vec<Head>, FetchError> {
    remote
        .connect_auth(Direction::Fetch, Some(callbacks(keys)), Some(proxy()))
        .and_then(|connection| {
            let heads = connection.list()?.iter().map(|head| Head {
                name: head.name().to_owned(),
                oid: head.oid(),
                stands_for: head.symref_target().map(ToOwned::to_owned),
            });
            Ok(heads.collect())
        })
        .map_err(told)
}

#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` gives")]
pub(super) fn told(error: Error) -> FetchError {
    match (error.code(), error.class()) {
        (ErrorCode::Timeout, _) => FetchError::Silent,
        (_, ErrorClass::NoMemory) => FetchError::TooLarge {
            bytes: MEMORY,
            what: " unpacked",
        },
        (ErrorCode::Auth, ErrorClass::Ssh) => {
            FetchError::Auth("is your key in the agent (`ssh-add -l`), and known to the server?")
        }
        (ErrorCode::Auth, _) => FetchError::Auth(
            "is the URL right? for a private one use ssh, or clone it and install the directory",
        ),
        (ErrorCode::Certificate, ErrorClass::Ssh) => FetchError::Identity {
            message: error.message().to_owned(),
            hint: "connect once with `ssh`, which asks about the server's key",
        },
        (ErrorCode::Certificate, _) => FetchError::Identity {
            message: error.message().to_owned(),
            hint: "SSL_CERT_FILE names the certificates to trust",
        },
        _ if error.message().contains("authentication replays") => {
            FetchError::Auth("is the URL right? for a private one use ssh")
        }
        _ if error.message().contains("timed out") => FetchError::Silent,
        _ => FetchError::Git(error.message().to_owned()),
    }
}
