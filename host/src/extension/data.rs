//! Assigns data directories to extensions.
//!
//! Different extensions can have the same name, so data belongs to a name *and* the source of the
//! extension. The first extension with a name gets `extension-data/NAME`. The owner of that
//! directory is recorded in a file outside of it, where the extension cannot write. Another
//! extension with the same name gets a separate directory, unless the user transfers the first one
//! to it.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::discover::{MANIFEST, Scope, escape};
use crate::{
    file,
    home::{Home, make_private, short_hash},
    untrusted::read_own,
};

/// The maximum size of an owner record, in bytes.
const MAX_RECORD_BYTES: usize = 64 << 10;
/// The maximum size of a lock file, in bytes.
const MAX_LOCK_FILE_BYTES: usize = 16 << 20;

/// Identifies who owns an extension's data: the source that the extension came from.
///
/// A directory passed to `--ext` and an extension installed from that directory have the same owner.
/// A project-local extension never shares an owner with either.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DataOwner {
    /// How the extension was found.
    pub scope: Scope,
    /// Where the extension was installed from, without the Git ref; its directory if it was not
    /// installed.
    pub source: String,
}

impl DataOwner {
    fn key(&self) -> (bool, &str) {
        (self.scope == Scope::Project, &self.source)
    }
}

impl PartialEq for DataOwner {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for DataOwner {}

/// Displayed as `https://example.org/guard.git (global)`.
impl std::fmt::Display for DataOwner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} ({})", escape::text(&self.source), self.scope)
    }
}

/// The data directory of one extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataDir {
    /// The directory.
    pub path: PathBuf,
    /// The owner of `extension-data/NAME`; `None` if this extension uses that directory.
    pub apart_from: Option<String>,
}

impl DataOwner {
    /// Determines the owner for the extension in `dir`. Only the user's own lock file is trusted: a
    /// repository can put anything into a project's lock file.
    pub fn of(scope: Scope, dir: &Path, home: &Home) -> Self {
        let installed = match (scope, dir.file_name()) {
            (Scope::Global, Some(name)) => installed_from(home, &name.to_string_lossy()),
            _ => None,
        };
        let source = installed.unwrap_or_else(|| {
            let real = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
            real.to_string_lossy().into_owned()
        });
        Self { scope, source }
    }

    /// Returns where the data of the extension `name` is, or will be after its first start.
    pub fn data_dir(&self, home: &Home, name: &str) -> DataDir {
        let plain = home.data_dir(name);
        let apart_from = match record(home, name) {
            Ok(Some(owner)) if owner == *self => None,
            // The owner's data has been deleted, so this extension can use the directory.
            Ok(Some(_)) if plain.symlink_metadata().is_err() => None,
            Ok(Some(owner)) => Some(owner.to_string()),
            // Data from before owners were recorded belongs to the installed extension, if there is
            // one.
            Ok(None) => {
                let installed = home.extensions().join(name);
                let belongs_to_installed = self.scope != Scope::Global
                    && plain.symlink_metadata().is_ok()
                    && installed.join(MANIFEST).exists();
                belongs_to_installed.then(|| format!("{} (global)", escape::path(&installed)))
            }
            Err(error) => Some(format!("an unknown owner ({error})")),
        };
        let path = match apart_from {
            None => plain,
            Some(_) => home.data_dir(&format!("{name}@{}", self.short())),
        };
        DataDir { path, apart_from }
    }

    /// Determines the data directory. If `extension-data/NAME` has no owner yet, records this one.
    pub(crate) fn claim(&self, home: &Home, name: &str) -> io::Result<DataDir> {
        let data = self.data_dir(home, name);
        if data.apart_from.is_some() {
            return Ok(data);
        }
        match record(home, name) {
            Ok(Some(owner)) if owner == *self => Ok(data),
            Ok(None) => {
                let path = home.data_owner(name);
                make_private(path.parent().unwrap_or(&path))?;
                match file::write_new(&path, &self.to_bytes()) {
                    // Another process claimed the directory first.
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                        Ok(self.data_dir(home, name))
                    }
                    written => written.map(|_| data),
                }
            }
            _ => self.adopt(home, name).map(|()| data),
        }
    }

    /// Transfers `extension-data/NAME` and its contents to this owner. The previous owner gets
    /// another directory.
    pub fn adopt(&self, home: &Home, name: &str) -> io::Result<()> {
        let path = home.data_owner(name);
        make_private(path.parent().unwrap_or(&path))?;
        file::replace(&path, &self.to_bytes(), |_| Ok(()))
    }

    /// Removes the ownership record, after the directory has been deleted.
    pub fn release(&self, home: &Home, name: &str) {
        if matches!(record(home, name), Ok(Some(owner)) if owner == *self) {
            let _ = fs::remove_file(home.data_owner(name));
        }
    }

    fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec_pretty(self).unwrap_or_default()
    }

    fn short(&self) -> String {
        let (is_project, source) = self.key();
        short_hash(format!("{is_project}\0{source}"))
    }
}

fn record(home: &Home, name: &str) -> io::Result<Option<DataOwner>> {
    let bytes = read_own(&home.data_owner(name), MAX_RECORD_BYTES)?;
    Ok(bytes
        .map(|bytes| serde_json::from_slice(&bytes))
        .transpose()?)
}

/// Looks up in `extensions.lock` where the extension in the directory `name` was installed from.
fn installed_from(home: &Home, name: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct LockFile {
        extensions: BTreeMap<String, Entry>,
    }
    #[derive(Deserialize)]
    struct Entry {
        source: Source,
    }
    #[derive(Deserialize)]
    #[serde(tag = "kind", rename_all = "snake_case")]
    enum Source {
        Path { path: String },
        Git { url: String },
    }
    let bytes = read_own(&home.lock_file(), MAX_LOCK_FILE_BYTES).ok()??;
    let mut lock: LockFile = serde_json::from_slice(&bytes).ok()?;
    Some(match lock.extensions.remove(name)?.source {
        Source::Path { path } => path,
        Source::Git { url } => url,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(scope: Scope, source: &str) -> DataOwner {
        let source = source.to_owned();
        DataOwner { scope, source }
    }

    /// Claims and creates the data directory, as happens when the extension starts.
    fn start(owner: &DataOwner, home: &Home) -> DataDir {
        let data = owner.claim(home, "guard").expect("claimed");
        fs::create_dir_all(&data.path).expect("made");
        data
    }

    #[test]
    fn data_belongs_to_a_scope_and_a_source() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::at(folder.path());
        let first = owner(Scope::Global, "https://example.org/guard");
        let plain = start(&first, &home);
        assert_eq!(plain.path, home.data_dir("guard"));
        let others = [
            owner(Scope::Global, "https://example.com/guard"),
            owner(Scope::Project, "https://example.org/guard"),
            owner(Scope::Explicit, "/x"),
            owner(Scope::Explicit, "/y"),
        ];
        let mut paths = vec![plain.path.clone()];
        for other in &others {
            let data = start(other, &home);
            assert_eq!(data.apart_from, Some(first.to_string()));
            assert!(!paths.contains(&data.path), "{data:?}");
            assert_eq!(start(other, &home), data, "again");
            paths.push(data.path);
        }
        assert_eq!(start(&first, &home), plain);
        // The global and explicit scopes share an owner if the source is the same.
        let again = owner(Scope::Explicit, "https://example.org/guard");
        assert_eq!(start(&again, &home), plain);

        others[0].adopt(&home, "guard").expect("adopted");
        assert_eq!(start(&others[0], &home), plain);
        assert_ne!(start(&first, &home).path, plain.path);

        fs::write(home.data_owner("guard"), "{").expect("written");
        assert_ne!(start(&first, &home).path, plain.path, "unreadable");
    }

    #[test]
    fn data_without_a_record_belongs_to_the_installed_extension() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::at(folder.path());
        let installed = home.extensions().join("guard");
        fs::create_dir_all(&installed).expect("made");
        fs::write(installed.join(MANIFEST), "{}").expect("written");
        fs::create_dir_all(home.data_dir("guard")).expect("made");
        let explicit = owner(Scope::Explicit, "/x");
        assert_ne!(start(&explicit, &home).path, home.data_dir("guard"));
        let global = DataOwner::of(Scope::Global, &installed, &home);
        assert_eq!(start(&global, &home).path, home.data_dir("guard"));
    }

    #[test]
    fn the_owner_is_the_installation_source_without_its_ref() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::at(folder.path());
        let dir = home.extensions().join("guard");
        fs::create_dir_all(&dir).expect("made");
        let of = |scope| DataOwner::of(scope, &dir, &home).source;
        let real = dir.canonicalize().expect("it exists").display().to_string();
        assert_eq!(of(Scope::Global), real);
        let lock = r#"{"version": 1, "extensions": {"guard": {
            "source": {"kind": "git", "url": "https://example.org/guard", "ref": "v1"}, "digest": ""}}}"#;
        fs::write(home.lock_file(), lock).expect("written");
        assert_eq!(of(Scope::Global), "https://example.org/guard");
        assert_eq!(of(Scope::Project), real);
    }
}
