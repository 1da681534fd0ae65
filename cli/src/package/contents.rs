//! The contents of a package, counted and checked before anything is written.

use std::collections::{BTreeMap, HashMap};

use zot_host::extension::discover::{DIGEST_BYTES, DIGEST_ENTRIES, MANIFEST, escape};

use super::links::{self, LinkError};

/// The maximum number of files, directories and links; a digest has the same limit.
pub(crate) const MAX_ENTRIES: usize = DIGEST_ENTRIES;
/// The maximum total size of all files.
pub(crate) const MAX_BYTES: u64 = DIGEST_BYTES;
/// The maximum depth of a path, including the file.
pub(crate) const MAX_DEPTH: usize = 32;

/// A package's files by path, with `/` as the separator. `O` identifies where a file's bytes come
/// from.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Contents<O> {
    entries: BTreeMap<String, EntryKind<O>>,
    /// Paths by their lower-case form, to find names that differ only in case.
    folded: HashMap<String, String>,
    bytes: u64,
    /// The total size of each top-level entry, so that an error can report the largest one.
    heaviest: HashMap<String, u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EntryKind<O> {
    Directory,
    File {
        executable: bool,
        size: u64,
        origin: O,
    },
    /// A symlink and its target.
    Link(String),
}

/// Why a package cannot be installed. Names are escaped when the error is displayed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ContentsError {
    #[error("package has more than {MAX_ENTRIES} files")]
    TooMany,
    #[error(
        "package is larger than {} MiB (`{}` is {} MiB)",
        MAX_BYTES / (1024 * 1024),
        escape::text(folder),
        bytes / (1024 * 1024)
    )]
    TooLarge { folder: String, bytes: u64 },
    #[error("`{}` is more than {MAX_DEPTH} levels deep", escape::text(&abridged(.0)))]
    TooDeep(String),
    #[error("`{}` is not a valid file name", escape::text(.0))]
    Name(String),
    #[error(
        "`{}` and `{}` differ only in case",
        escape::text(.0),
        escape::text(.1)
    )]
    Case(String, String),
    #[error(
        "`{}` is a {what}; only files, directories and symlinks are supported",
        escape::text(path)
    )]
    Special { path: String, what: &'static str },
    #[error("`{}`: {reason}", escape::text(path))]
    Link { path: String, reason: LinkError },
    #[error("{MANIFEST} not found{}", elsewhere(.0))]
    NoManifest(Vec<String>),
    #[error("{MANIFEST} is not a regular file")]
    Manifest,
}

fn elsewhere(others: &[String]) -> String {
    match others {
        [] => String::new(),
        others => format!("\nhint: found in `{}`", escape::text(&others.join("`, `"))),
    }
}

fn abridged(path: &str) -> String {
    let end: String = path.chars().take(60).collect();
    if end.len() < path.len() {
        format!("{end}…")
    } else {
        end
    }
}

impl<O> Contents<O> {
    pub(crate) fn new() -> Self {
        Self {
            entries: BTreeMap::new(),
            folded: HashMap::new(),
            bytes: 0,
            heaviest: HashMap::new(),
        }
    }

    /// Adds an entry. Fails if its path is invalid or a duplicate, or if a limit is exceeded.
    pub(crate) fn add(&mut self, path: String, kind: EntryKind<O>) -> Result<(), ContentsError> {
        let name = path.rsplit('/').next().unwrap_or(&path);
        if !is_name(name) {
            return Err(ContentsError::Name(path));
        }
        if path.split('/').count() > MAX_DEPTH {
            return Err(ContentsError::TooDeep(path));
        }
        if self.entries.len() == MAX_ENTRIES {
            return Err(ContentsError::TooMany);
        }
        if let Some(other) = self.folded.insert(path.to_lowercase(), path.clone()) {
            return Err(ContentsError::Case(other, path));
        }
        if let EntryKind::File { size, .. } = &kind {
            let folder = path.split('/').next().unwrap_or(&path);
            *self.heaviest.entry(folder.to_owned()).or_default() += size;
            self.bytes = self.bytes.saturating_add(*size);
            if self.bytes > MAX_BYTES {
                let (folder, bytes) = self.largest().unwrap_or_default();
                let folder = folder.to_owned();
                return Err(ContentsError::TooLarge { folder, bytes });
            }
        }
        self.entries.insert(path, kind);
        Ok(())
    }

    /// Runs the checks that need the whole package: no link leads out of it, and it has a manifest.
    pub(crate) fn check(&self) -> Result<(), ContentsError> {
        for (path, kind) in &self.entries {
            if let EntryKind::Link(_) = kind {
                links::check(self, path).map_err(|reason| ContentsError::Link {
                    path: path.clone(),
                    reason,
                })?;
            }
        }
        match self.entries.get(MANIFEST) {
            Some(EntryKind::File { .. }) => Ok(()),
            Some(_) => Err(ContentsError::Manifest),
            None => {
                let others = self.entries.keys().filter_map(|path| {
                    let folder = path.strip_suffix(MANIFEST)?.strip_suffix('/')?;
                    Some(folder.to_owned())
                });
                Err(ContentsError::NoManifest(others.take(3).collect()))
            }
        }
    }

    pub(crate) fn get(&self, path: &str) -> Option<&EntryKind<O>> {
        self.entries.get(path)
    }

    /// Iterates in path order, so that a directory comes before its contents.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &EntryKind<O>)> {
        self.entries
            .iter()
            .map(|(path, kind)| (path.as_str(), kind))
    }

    pub(crate) fn files(&self) -> usize {
        self.entries
            .values()
            .filter(|kind| !matches!(kind, EntryKind::Directory))
            .count()
    }

    /// Returns the largest top-level entry and its total size.
    pub(crate) fn largest(&self) -> Option<(&str, u64)> {
        let sizes = self.heaviest.iter();
        let sizes = sizes.map(|(folder, bytes)| (folder.as_str(), *bytes));
        sizes.max_by_key(|(_, bytes)| *bytes)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Reports whether a file name is valid and means the same on every system.
fn is_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..")
        && name.len() <= 255
        && !name.eq_ignore_ascii_case(".git")
        && !name.contains(|char: char| char == '\\' || char.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(size: u64) -> EntryKind<()> {
        EntryKind::File {
            executable: false,
            size,
            origin: (),
        }
    }

    #[test]
    fn path_components_and_git_directories_are_refused() {
        for name in ["..", ".", "", "a/..", "a/.git", ".GIT", "a\\b", "a\u{1b}b"] {
            let added = Contents::new().add(name.to_owned(), file(0));
            assert_eq!(added, Err(ContentsError::Name(name.to_owned())), "{name}");
        }
        assert_eq!(
            Contents::new().add(".gitignore".to_owned(), file(0)),
            Ok(())
        );
    }

    #[test]
    fn limits_are_enforced() {
        let deep = vec!["d"; MAX_DEPTH].join("/");
        assert_eq!(Contents::new().add(deep.clone(), file(0)), Ok(()));
        let added = Contents::new().add(format!("{deep}/f"), file(0));
        assert!(matches!(added, Err(ContentsError::TooDeep(_))), "{added:?}");

        let mut contents = Contents::new();
        assert_eq!(contents.add("a".to_owned(), file(MAX_BYTES)), Ok(()));
        let added = contents.add("b".to_owned(), file(1));
        assert_eq!(
            added.unwrap_err().to_string(),
            "package is larger than 256 MiB (`a` is 256 MiB)"
        );

        let mut contents = Contents::new();
        for index in 0..MAX_ENTRIES {
            assert_eq!(contents.add(index.to_string(), file(0)), Ok(()));
        }
        let added = contents.add("one".to_owned(), file(0));
        assert_eq!(added, Err(ContentsError::TooMany));
    }

    #[test]
    fn names_that_differ_only_in_case_are_refused() {
        let mut contents = Contents::new();
        assert_eq!(contents.add("README".to_owned(), file(0)), Ok(()));
        let added = contents.add("readme".to_owned(), file(0));
        assert_eq!(
            added,
            Err(ContentsError::Case(
                "README".to_owned(),
                "readme".to_owned()
            ))
        );
    }
}
