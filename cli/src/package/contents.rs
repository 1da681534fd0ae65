//! What is in a package: counted and looked at before a byte of it is written.

use std::collections::{BTreeMap, HashMap};

use zot_host::extension::discover::{DIGEST_BYTES, DIGEST_ENTRIES, MANIFEST, shown};

use super::links::{self, LinkError};

/// The most files, directories and links; what has more has no digest.
pub(crate) const MOST_ENTRIES: usize = DIGEST_ENTRIES;
/// The most bytes of all files.
pub(crate) const MOST_BYTES: u64 = DIGEST_BYTES;
/// The most directories within each other, the file included.
pub(crate) const MOST_LEVELS: usize = 32;

/// A package's files by their paths, `/` between the names. `O` is where a file's bytes are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Contents<O> {
    entries: BTreeMap<String, Kind<O>>,
    /// By what they are called where case does not count.
    folded: HashMap<String, String>,
    bytes: u64,
    /// By the first name of the path, to say which folder it is that is too large.
    heaviest: HashMap<String, u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind<O> {
    Directory,
    File {
        executable: bool,
        size: u64,
        origin: O,
    },
    /// A symlink and what it says.
    Link(String),
}

/// Why a package is not installed. Names are as they are; they are escaped where this is displayed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ContentsError {
    #[error("it has more than {MOST_ENTRIES} files")]
    TooMany,
    #[error(
        "it is larger than {} MiB, of which `{}` has {} MiB",
        MOST_BYTES / (1024 * 1024),
        shown::text(folder),
        bytes / (1024 * 1024)
    )]
    TooLarge { folder: String, bytes: u64 },
    #[error("`{}` is more than {MOST_LEVELS} levels deep", shown::text(&abridged(.0)))]
    TooDeep(String),
    #[error("`{}` is not a name for a file", shown::text(.0))]
    Name(String),
    #[error(
        "`{}` and `{}` are the same file where case does not count",
        shown::text(.0),
        shown::text(.1)
    )]
    Case(String, String),
    #[error(
        "`{}` is a {what}, and a package has files, directories and links only",
        shown::text(path)
    )]
    Special { path: String, what: &'static str },
    #[error("`{}`: {reason}", shown::text(path))]
    Link { path: String, reason: LinkError },
    #[error("it has no {MANIFEST}{}", elsewhere(.0))]
    NoManifest(Vec<String>),
    #[error("{MANIFEST} is not a regular file")]
    Manifest,
}

fn elsewhere(others: &[String]) -> String {
    match others {
        [] => String::new(),
        others => format!(
            "\nhint: there is one in `{}`",
            shown::text(&others.join("`, `"))
        ),
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

    /// Adds what is at `path`, unless that is one too many.
    pub(crate) fn add(&mut self, path: String, kind: Kind<O>) -> Result<(), ContentsError> {
        let name = path.rsplit('/').next().unwrap_or(&path);
        if !is_name(name) {
            return Err(ContentsError::Name(path));
        }
        if path.split('/').count() > MOST_LEVELS {
            return Err(ContentsError::TooDeep(path));
        }
        if self.entries.len() == MOST_ENTRIES {
            return Err(ContentsError::TooMany);
        }
        if let Some(other) = self.folded.insert(path.to_lowercase(), path.clone()) {
            return Err(ContentsError::Case(other, path));
        }
        if let Kind::File { size, .. } = &kind {
            let folder = path.split('/').next().unwrap_or(&path);
            *self.heaviest.entry(folder.to_owned()).or_default() += size;
            self.bytes = self.bytes.saturating_add(*size);
            if self.bytes > MOST_BYTES {
                let (folder, bytes) = self
                    .heaviest
                    .iter()
                    .max_by_key(|(_, bytes)| **bytes)
                    .map(|(folder, bytes)| (folder.clone(), *bytes))
                    .unwrap_or_default();
                return Err(ContentsError::TooLarge { folder, bytes });
            }
        }
        self.entries.insert(path, kind);
        Ok(())
    }

    /// What can only be said of the whole: that no link leads out, and that there is a manifest.
    pub(crate) fn check(&self) -> Result<(), ContentsError> {
        for (path, kind) in &self.entries {
            if let Kind::Link(_) = kind {
                links::check(self, path).map_err(|reason| ContentsError::Link {
                    path: path.clone(),
                    reason,
                })?;
            }
        }
        match self.entries.get(MANIFEST) {
            Some(Kind::File { .. }) => Ok(()),
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

    pub(crate) fn get(&self, path: &str) -> Option<&Kind<O>> {
        self.entries.get(path)
    }

    /// In the order of the paths: a directory before what is in it.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Kind<O>)> {
        self.entries
            .iter()
            .map(|(path, kind)| (path.as_str(), kind))
    }

    pub(crate) fn files(&self) -> usize {
        self.entries
            .values()
            .filter(|kind| !matches!(kind, Kind::Directory))
            .count()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// A name that means the same everywhere it is written to.
fn is_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..")
        && name.len() <= 255
        && !name.eq_ignore_ascii_case(".git")
        && !name.contains(|char: char| char == '\\' || char.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(size: u64) -> Kind<()> {
        Kind::File {
            executable: false,
            size,
            origin: (),
        }
    }

    #[test]
    fn names_that_are_paths_or_git_s_own_are_refused() {
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
    fn bounds_are_those_of_the_specification() {
        let deep = vec!["d"; MOST_LEVELS].join("/");
        assert_eq!(Contents::new().add(deep.clone(), file(0)), Ok(()));
        let added = Contents::new().add(format!("{deep}/f"), file(0));
        assert!(matches!(added, Err(ContentsError::TooDeep(_))), "{added:?}");

        let mut contents = Contents::new();
        assert_eq!(contents.add("a".to_owned(), file(MOST_BYTES)), Ok(()));
        let added = contents.add("b".to_owned(), file(1));
        assert_eq!(
            added.unwrap_err().to_string(),
            "it is larger than 256 MiB, of which `a` has 256 MiB"
        );

        let mut contents = Contents::new();
        for index in 0..MOST_ENTRIES {
            assert_eq!(contents.add(index.to_string(), file(0)), Ok(()));
        }
        let added = contents.add("one".to_owned(), file(0));
        assert_eq!(added, Err(ContentsError::TooMany));
    }

    #[test]
    fn two_names_that_differ_in_case_only_are_one_elsewhere() {
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
