//! `extensions.lock`: what was installed, from where, and what it was then.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Write},
    path::Path,
};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use zot_host::extension::discover::shown;

use super::{journal::Journal, store::Store};

/// The version of the file's form.
const VERSION: u32 = 1;
/// More than any list of extensions.
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// What was installed to a store, by directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LockFile {
    version: u32,
    #[serde(default)]
    pub(crate) extensions: BTreeMap<String, Entry>,
}

/// One extension, as it was when it was installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// The version its manifest had. Absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    pub(crate) source: LockedSource,
    /// The digest of the tree as zot last left it.
    pub(crate) digest: String,
    /// What the user said with `enable` or `disable`; it survives an update. Absent: what the package says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) enabled: Option<bool>,
}

/// Where it came from. No credentials are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum LockedSource {
    Path {
        path: String,
    },
    Git {
        url: String,
        /// As the user asked for it. Absent: the repository's `HEAD`.
        #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
        wanted: Option<String>,
        /// What that was.
        ref_kind: RefKind,
        commit: String,
    },
}

/// What a ref turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RefKind {
    /// What `HEAD` leads to.
    Default,
    Branch,
    Tag,
    Commit,
    /// A full name, `refs/…`.
    Other,
}

impl LockedSource {
    /// Whether both lead to the same place, whatever the ref.
    pub(crate) fn is_same_place(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Path { path: a }, Self::Path { path: b })
            | (Self::Git { url: a, .. }, Self::Git { url: b, .. }) => a == b,
            _ => false,
        }
    }
}

/// `https://example.org/guard.git#v1 (0123456789ab)`
impl std::fmt::Display for LockedSource {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Path { path } => write!(formatter, "{}", shown::text(path)),
            Self::Git {
                url,
                wanted,
                commit,
                ..
            } => {
                write!(formatter, "{}", shown::text(url))?;
                if let Some(wanted) = wanted
                    && !commit.starts_with(wanted.as_str())
                {
                    write!(formatter, "#{}", shown::text(wanted))?;
                }
                write!(formatter, " ({})", shown::text(short(commit)))
            }
        }
    }
}

/// A commit as people say it.
pub(crate) fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

impl Default for LockFile {
    fn default() -> Self {
        Self {
            version: VERSION,
            extensions: BTreeMap::new(),
        }
    }
}

impl LockFile {
    /// What a store's file says, and what a run that was killed half-way had done but not yet written.
    pub(crate) fn read(store: &Store) -> anyhow::Result<Self> {
        let mut lock = Self::read_file(store)?;
        if let Some(journal) = Journal::read(store) {
            journal.apply(store, &mut lock);
        }
        Ok(lock)
    }

    fn read_file(store: &Store) -> anyhow::Result<Self> {
        let path = &store.lock_file();
        if path.is_symlink() {
            return Err(unreadable(path, &"it is a symlink"));
        }
        let bytes = match store.read(path, MOST_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                let why = "a directory that it is in is a symlink that leads elsewhere";
                return Err(unreadable(path, &why));
            }
            read => read.map_err(|error| unreadable(path, &error))?,
        };
        let lock: Self =
            serde_json::from_slice(&bytes).map_err(|error| unreadable(path, &error))?;
        if lock.version != VERSION {
            bail!(
                "`{}` is of version {}, and this zot knows version {VERSION}\nhint: update zot",
                shown::path(path),
                lock.version
            );
        }
        Ok(lock)
    }

    /// Writes the file, whole or not at all.
    pub(crate) fn write(&self, store: &Store) -> anyhow::Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        write_whole(&store.lock_file(), text.as_bytes())
    }
}

fn unreadable(path: &Path, error: &impl std::fmt::Display) -> anyhow::Error {
    anyhow::anyhow!(
        "cannot read `{}`: {error}\nhint: move it away: the extensions stay, but are no longer updated",
        shown::path(path)
    )
}

/// Replaces a file by one rename, so that it is the old one or the new one. A symlink there is replaced, not followed.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let own = folder.join(format!(
        ".{}.new",
        path.file_name().unwrap_or_default().display()
    ));
    // What a killed run left behind, or somebody put there, is not written to.
    let _ = fs::remove_file(&own);
    let written = File::create_new(&own)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&own, path))
        .and_then(|()| sync_directory(folder));
    if written.is_err() {
        let _ = fs::remove_file(&own);
    }
    written.with_context(|| format!("cannot write `{}`", shown::path(path)))
}

/// What was renamed in a directory is so after a power cut too.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}
