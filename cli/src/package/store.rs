//! The two stores that extensions are installed in, and their layout.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use zot_host::{
    extension::discover::{Scope, escape},
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

    /// Returns the project's store, or the global store if `.zot` is `$ZOT_HOME` itself.
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

    /// Both stores in load order, the project's first.
    pub(crate) fn all(cwd: &Path, home: &Home) -> Vec<Self> {
        let (project, global) = (Self::project(cwd, home), Self::global(home));
        if project == global {
            vec![global]
        } else {
            vec![project, global]
        }
    }

    /// The directory with one subdirectory per extension.
    pub(crate) fn extensions(&self) -> PathBuf {
        self.root.join("extensions")
    }

    /// The staging directory. Its name starts with a dot, so discovery ignores it.
    pub(crate) fn staging(&self) -> PathBuf {
        self.extensions().join(".staging")
    }

    /// The lock file, which records what was installed and from where.
    pub(crate) fn lock_file(&self) -> PathBuf {
        self.root.join("extensions.lock")
    }

    /// Reads a file in the store. A project is not trusted, so its symlinks must not lead out of
    /// it.
    pub(crate) fn read(&self, path: &Path, limit: usize) -> io::Result<Vec<u8>> {
        let project = self.project_dir();
        match project.and_then(|project| Some((project, path.strip_prefix(project).ok()?))) {
            Some((project, rest)) => untrusted::read_whole(Some(project), rest, limit),
            None => untrusted::read_whole(None, path, limit),
        }
    }

    /// The project's directory, if this is a project's store.
    fn project_dir(&self) -> Option<&Path> {
        self.root.parent().filter(|_| self.scope == Scope::Project)
    }

    /// Creates the extensions directory and its parents. The returned value removes the directories
    /// that are still empty when it is dropped.
    pub(crate) fn prepare(&self) -> anyhow::Result<CreatedDirs> {
        let extensions = self.extensions();
        if self.scope == Scope::Project {
            // A repository's author must not be able to redirect where files are written.
            for path in [&self.root, &extensions] {
                if path.is_symlink() {
                    bail!(
                        "`{}` is a symlink; refusing to install a project's extensions through it",
                        escape::path(path)
                    );
                }
            }
        }
        let mut made = CreatedDirs(Vec::new());
        self.create_dirs(&mut made)?;
        Ok(made)
    }

    /// Creates missing directories. Retries if another process removes them in the meantime.
    pub(crate) fn create_dirs(&self, made: &mut CreatedDirs) -> anyhow::Result<()> {
        let extensions = self.extensions();
        let mut attempts = 0;
        while let Err((path, error)) = create_missing(&extensions, made) {
            attempts += 1;
            if !is_contended(&path, &error) || attempts == MAX_ATTEMPTS {
                return Err(error)
                    .with_context(|| format!("cannot create `{}`", escape::path(&path)));
            }
        }
        Ok(())
    }
}

/// How many times to retry if other processes remove the directories.
const MAX_ATTEMPTS: u32 = 1_000;

/// Creates a directory and its parents. The error includes the path that failed.
fn create_missing(path: &Path, made: &mut CreatedDirs) -> Result<(), (PathBuf, io::Error)> {
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

/// Reports whether the error may be due to another process, which removed a directory after its own
/// installation had failed.
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

/// Directories created for an installation. Those that are still empty are removed on drop.
#[derive(Debug)]
pub(crate) struct CreatedDirs(Vec<PathBuf>);

impl Drop for CreatedDirs {
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

    /// Each thread creates and removes directories that the others are about to use.
    #[test]
    fn concurrent_removal_does_not_fail_creation() {
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
    fn a_file_or_link_in_the_way_is_an_error() {
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
            assert!(error.starts_with("cannot create `"), "{error}");
        }
    }
}
