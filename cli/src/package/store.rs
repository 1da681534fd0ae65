//! The two places that extensions are installed to, and where things are in them.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use zot_host::{
    extension::discover::{Scope, shown},
    home::Home,
    untrusted,
};

/// A scope's root: `$ZOT_HOME`, or `.zot` in the working directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Store {
    pub(crate) scope: Scope,
    root: PathBuf,
}

impl Store {
    pub(crate) fn global(home: &Home) -> Self {
        Self {
            scope: Scope::Global,
            root: home.path().to_owned(),
        }
    }

    /// The project's; in the directory above a `ZOT_HOME` called `.zot`, that is the global one.
    pub(crate) fn project(cwd: &Path, home: &Home) -> Self {
        let root = cwd.join(".zot");
        let is_home = match (root.canonicalize(), home.path().canonicalize()) {
            (Ok(root), Ok(home)) => root == home,
            _ => root == home.path(),
        };
        if is_home {
            return Self::global(home);
        }
        Self {
            scope: Scope::Project,
            root,
        }
    }

    /// Both, the project's first, as they are loaded.
    pub(crate) fn all(cwd: &Path, home: &Home) -> Vec<Self> {
        let (project, global) = (Self::project(cwd, home), Self::global(home));
        if project == global {
            vec![global]
        } else {
            vec![project, global]
        }
    }

    /// The extensions, a directory each.
    pub(crate) fn extensions(&self) -> PathBuf {
        self.root.join("extensions")
    }

    /// Where a package is put together, beside where it goes. Begins with a dot: nobody looks for extensions there.
    pub(crate) fn staging(&self) -> PathBuf {
        self.extensions().join(".staging")
    }

    /// What was installed, and from where.
    pub(crate) fn lock_file(&self) -> PathBuf {
        self.root.join("extensions.lock")
    }

    /// Reads a file of the store: in a project, which somebody else may have written, no link leads out of it.
    pub(crate) fn read(&self, path: &Path, most: usize) -> io::Result<Vec<u8>> {
        let project = self.project_dir();
        match project.and_then(|project| Some((project, path.strip_prefix(project).ok()?))) {
            Some((project, rest)) => untrusted::read_whole(Some(project), rest, most),
            None => untrusted::read_whole(None, path, most),
        }
    }

    /// Of a project's store: the project.
    fn project_dir(&self) -> Option<&Path> {
        self.root.parent().filter(|_| self.scope == Scope::Project)
    }

    /// Makes the directory of the extensions, and gives those that were not there, to be unmade if nothing comes of it.
    pub(crate) fn prepare(&self) -> anyhow::Result<Made> {
        let extensions = self.extensions();
        if self.scope == Scope::Project {
            // The repository's author chooses what is written to there; the user's home is the user's own.
            for path in [&self.root, &extensions] {
                if path.is_symlink() {
                    bail!(
                        "`{}` is a symlink, and a project's extensions are not installed through one",
                        shown::path(path)
                    );
                }
            }
        }
        let mut made = Made(Vec::new());
        self.make(&mut made)?;
        Ok(made)
    }

    /// Makes what is missing, again where another process has just unmade it.
    pub(crate) fn make(&self, made: &mut Made) -> anyhow::Result<()> {
        let extensions = self.extensions();
        let mut attempts = 0;
        while let Err((path, error)) = make_missing(&extensions, made) {
            attempts += 1;
            if !is_contended(&path, &error) || attempts == MOST_ATTEMPTS {
                return Err(error).with_context(|| format!("cannot make `{}`", shown::path(&path)));
            }
        }
        Ok(())
    }
}

/// How often directories are made again that others unmake meanwhile.
const MOST_ATTEMPTS: u32 = 1_000;

/// Makes a directory and what it stands in; the error says which of them could not be made.
fn make_missing(path: &Path, made: &mut Made) -> Result<(), (PathBuf, io::Error)> {
    let missing = path.ancestors().take_while(|path| !path.exists());
    for path in missing.collect::<Vec<_>>().into_iter().rev() {
        match fs::create_dir(path) {
            Ok(()) if made.0.iter().any(|it| it == path) => {}
            Ok(()) => made.0.push(path.to_owned()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
            Err(error) => return Err((path.to_owned(), error)),
        }
    }
    Ok(())
}

/// Whether another process is why it could not be made: what it was to stand in, or what stood there, was unmade just then,
/// and may be there again by now. Their installation came to nothing; ours goes on.
fn is_contended(path: &Path, error: &io::Error) -> bool {
    match error.kind() {
        io::ErrorKind::NotFound => true,
        io::ErrorKind::AlreadyExists => match fs::symlink_metadata(path) {
            Ok(there) => there.is_dir(),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        },
        _ => false,
    }
}

/// Directories that were made for an installation; those that stayed empty go again.
#[derive(Debug)]
pub(crate) struct Made(Vec<PathBuf>);

impl Drop for Made {
    fn drop(&mut self) {
        for path in self.0.iter().rev() {
            if fs::remove_dir(path).is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// Far more often than processes ever do it: each of these makes and unmakes what the others are about to use.
    #[test]
    fn those_who_unmake_do_not_keep_others_from_making() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store {
            scope: Scope::Global,
            root: folder.path().join("home/state/zot"),
        };
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        drop(store.prepare().unwrap());
                    }
                });
            }
        });
    }

    #[test]
    fn what_is_in_the_way_is_an_error_and_not_tried_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        for (name, is_link) in [("file", false), ("link", true)] {
            let root = folder.path().join(name);
            if is_link {
                std::os::unix::fs::symlink("nowhere", &root).unwrap();
            } else {
                fs::write(&root, "").unwrap();
            }
            let store = Store {
                scope: Scope::Global,
                root,
            };
            let error = store.prepare().unwrap_err().to_string();
            assert!(error.starts_with("cannot make `"), "{error}");
        }
    }
}
