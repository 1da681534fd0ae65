//! `extensions.lock`: what was installed, where it came from, and its digest.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Write},
    path::Path,
};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use zot_host::extension::discover::escape;

use super::{journal::Journal, store::Store};

/// The version of the file format.
const VERSION: u32 = 1;
/// The maximum size of a lock file.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// The installed extensions of a store, by directory name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LockFile {
    version: u32,
    #[serde(default)]
    pub(crate) extensions: BTreeMap<String, Entry>,
}

/// An installed extension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// The version in the manifest. Absent if the manifest has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    pub(crate) source: LockedSource,
    /// The digest of the tree after zot last wrote it.
    pub(crate) digest: String,
    /// Set by `enable` and `disable`; kept across updates. If absent, the manifest decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) enabled: Option<bool>,
}

/// Where an extension came from, without credentials.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum LockedSource {
    Path {
        path: String,
    },
    Git {
        url: String,
        /// The ref that the user asked for. If absent, the repository's `HEAD` was installed.
        #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
        wanted: Option<String>,
        /// The kind of the requested ref.
        ref_kind: RefKind,
        commit: String,
    },
}

/// The kind of a ref.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RefKind {
    /// The target of `HEAD`.
    Default,
    Branch,
    Tag,
    Commit,
    /// A full name, such as `refs/…`.
    Other,
}

impl LockedSource {
    /// Reports whether both refer to the same directory or repository, regardless of the ref.
    pub(crate) fn is_same_place(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Path { path: a }, Self::Path { path: b })
            | (Self::Git { url: a, .. }, Self::Git { url: b, .. }) => a == b,
            _ => false,
        }
    }
}

/// Formats the source, such as `https://example.org/guard.git#v1 (0123456789ab)`.
impl std::fmt::Display for LockedSource {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Path { path } => write!(formatter, "{}", escape::text(path)),
            Self::Git {
                url,
                wanted,
                commit,
                ..
            } => {
                write!(formatter, "{}", escape::text(url))?;
                if let Some(wanted) = wanted
                    && !commit.starts_with(wanted.as_str())
                {
                    write!(formatter, "#{}", escape::text(wanted))?;
                }
                write!(formatter, " ({})", escape::text(short(commit)))
            }
        }
    }
}

/// Returns the abbreviated commit ID.
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
    /// Reads the lock file, and applies the journal of a run that was killed before it wrote the
    /// file.
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
        let bytes = match store.read(path, MAX_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                let why =
                    "one of its parent directories is a symlink that leads out of the project";
                return Err(unreadable(path, &why));
            }
            read => read.map_err(|error| unreadable(path, &error))?,
        };
        let lock: Self =
            serde_json::from_slice(&bytes).map_err(|error| unreadable(path, &error))?;
        if lock.version != VERSION {
            bail!(
                "`{}` has format version {}, but this zot only supports version {VERSION}\nhint: update zot",
                escape::path(path),
                lock.version
            );
        }
        Ok(lock)
    }

    /// Writes the file atomically.
    pub(crate) fn write(&self, store: &Store) -> anyhow::Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        write_atomically(&store.lock_file(), text.as_bytes())
    }
}

fn unreadable(path: &Path, error: &impl std::fmt::Display) -> anyhow::Error {
    anyhow::anyhow!(
        "cannot read `{}`: {error}\nhint: move it aside; the extensions stay installed but can no longer be updated",
        escape::path(path)
    )
}

/// Replaces a file atomically with a rename. A symlink is replaced, not followed.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let own = folder.join(format!(
        ".{}.new",
        path.file_name().unwrap_or_default().display()
    ));
    // Never write to a file that a killed run left behind, or that someone else put there.
    let _ = fs::remove_file(&own);
    let written = File::create_new(&own)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&own, path))
        .and_then(|()| sync_directory(folder));
    if written.is_err() {
        let _ = fs::remove_file(&own);
    }
    written.with_context(|| format!("cannot write `{}`", escape::path(path)))
}

/// Syncs a directory, so that a rename in it survives a power failure.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}
