//! Resolves a manifest's `exec` to a program.

use std::{
    env,
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
};

use super::shown;

/// Why an `exec` could not be resolved to a program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExecError {
    /// There is no such file.
    #[error("{}", nowhere(exec, looked))]
    NotFound {
        /// The manifest's `exec`.
        exec: String,
        /// The paths that were tried, in order.
        looked: Vec<PathBuf>,
    },
    /// It is a directory.
    #[error("`{}` is a directory, not a program", shown::path(.0))]
    Directory(PathBuf),
    /// It is neither a file nor a directory: a device, a FIFO, a socket.
    #[error("`{}` is not a regular file", shown::path(.0))]
    NotAFile(PathBuf),
    /// The file has no executable bit.
    #[error("`{path}` is not executable\nhint: chmod +x {path}", path = shown::path(.0))]
    NotExecutable(PathBuf),
    /// A project-local extension uses something that is neither in its directory nor, for a
    /// program, on `PATH`.
    #[error(
        "`{}` leads to `{}`, which is outside of the extension's directory and can change without your consent\n\
         hint: a project-local extension starts what lies in its own directory or on PATH; move it there",
        shown::text(named),
        shown::path(path)
    )]
    Outside {
        /// The name in the manifest or script.
        named: String,
        /// The path that it resolves to.
        path: PathBuf,
    },
    /// The path cannot be accessed.
    #[error("cannot look at `{}`: {source}", shown::path(path))]
    Io {
        /// The path.
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
}

/// Resolves the `exec` of a manifest in `manifest_dir` to a program.
///
/// An absolute path is used as it is. A path with a separator is relative to the manifest's
/// directory. A bare name is searched in each entry of `PATH`, then in the manifest's directory.
/// Empty and relative entries of `PATH` are skipped: they would mean the directory that zot was
/// started in, and could run a program of an untrusted repository. Files on `PATH` that are not
/// executable are skipped, as in a shell.
pub fn resolve_exec(
    manifest_dir: &Path,
    exec: &str,
    path_var: Option<&OsStr>,
) -> Result<PathBuf, ExecError> {
    let here = manifest_dir.join(exec);
    let mut looked = Vec::new();
    let mut unusable = None;
    if !exec.contains(std::path::is_separator) && !exec.is_empty() {
        let entries = env::split_paths(path_var.unwrap_or_default());
        for entry in entries.filter(|entry| entry.is_absolute()) {
            let path = entry.join(exec);
            match program(&path) {
                Ok(true) => return Ok(path),
                Ok(false) | Err(ExecError::Io { .. }) => looked.push(path),
                Err(error) => unusable = unusable.or(Some(error)),
            }
        }
    }
    if program(&here)? {
        return Ok(here);
    }
    looked.push(here);
    Err(unusable.unwrap_or(ExecError::NotFound {
        exec: exec.to_owned(),
        looked,
    }))
}

/// Reports whether there is a program at `path`. Fails if there is something else.
fn program(path: &Path) -> Result<bool, ExecError> {
    use io::ErrorKind::{NotADirectory, NotFound};
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Err(ExecError::Directory(path.to_owned())),
        Ok(metadata) if !metadata.is_file() => Err(ExecError::NotAFile(path.to_owned())),
        Ok(metadata) if !is_executable(&metadata) => Err(ExecError::NotExecutable(path.to_owned())),
        Ok(_) => Ok(true),
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => Ok(false),
        Err(source) => Err(ExecError::Io {
            path: path.to_owned(),
            source,
        }),
    }
}

/// Reports whether a file has an executable bit. Elsewhere, every file counts as executable.
#[cfg(unix)]
pub(super) fn is_executable(metadata: &fs::Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 != 0
}

#[cfg(not(unix))]
pub(super) fn is_executable(_: &fs::Metadata) -> bool {
    true
}

/// The message for a missing program, with the places where it could have been.
fn nowhere(exec: &str, looked: &[PathBuf]) -> String {
    if let [path] = looked {
        return format!("`{}` does not exist", shown::path(path));
    }
    let dirs: Vec<_> = looked
        .iter()
        .filter_map(|path| Some(shown::path(path.parent()?).to_string()))
        .collect();
    format!("`{}` is in none of {}", shown::text(exec), dirs.join(", "))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use tempfile::TempDir;

    use super::*;

    /// An extension directory `ext` and two `PATH` directories, `bin` and `sbin`.
    struct World(TempDir);

    impl World {
        fn new() -> Self {
            let world = Self(tempfile::tempdir().unwrap());
            for dir in ["ext", "bin", "sbin"] {
                fs::create_dir(world.path(dir)).unwrap();
            }
            world
        }

        fn path(&self, below: &str) -> PathBuf {
            self.0.path().join(below)
        }

        fn file(&self, below: &str, mode: u32) -> PathBuf {
            let path = self.path(below);
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            path
        }

        /// Resolves `exec` with `bin` and `sbin` on `PATH`.
        fn resolve(&self, exec: &str) -> Result<PathBuf, ExecError> {
            let path = env::join_paths([self.path("bin"), self.path("sbin")]).unwrap();
            resolve_exec(&self.path("ext"), exec, Some(&path))
        }
    }

    #[test]
    fn an_absolute_one_is_as_it_is() {
        let world = World::new();
        let program = world.file("x", 0o755);
        assert_eq!(world.resolve(program.to_str().unwrap()).unwrap(), program);
    }

    #[test]
    fn one_with_a_separator_starts_at_the_manifest() {
        let world = World::new();
        let beside = world.file("ext/x", 0o755);
        let above = world.file("y", 0o755);
        world.file("bin/x", 0o755);
        assert_eq!(
            fs::canonicalize(world.resolve("./x").unwrap()).unwrap(),
            fs::canonicalize(beside).unwrap()
        );
        assert_eq!(
            fs::canonicalize(world.resolve("../y").unwrap()).unwrap(),
            fs::canonicalize(above).unwrap()
        );
        // `bin/x` on `PATH` is not used.
        fs::remove_file(world.path("ext/x")).unwrap();
        assert!(matches!(
            world.resolve("./x"),
            Err(ExecError::NotFound { looked, .. }) if looked == [world.path("ext/./x")]
        ));
    }

    #[test]
    fn a_bare_one_is_on_path_first_and_beside_the_manifest_last() {
        let world = World::new();
        let beside = world.file("ext/x", 0o755);
        assert_eq!(world.resolve("x").unwrap(), beside);
        let second = world.file("sbin/x", 0o755);
        assert_eq!(world.resolve("x").unwrap(), second);
        let first = world.file("bin/x", 0o755);
        assert_eq!(world.resolve("x").unwrap(), first);
        assert_eq!(
            resolve_exec(&world.path("ext"), "x", None).unwrap(),
            beside,
            "without a PATH"
        );
    }

    #[test]
    fn what_cannot_be_executed_on_path_is_passed_over() {
        let world = World::new();
        let plain = world.file("bin/x", 0o644);
        let program = world.file("sbin/x", 0o755);
        assert_eq!(world.resolve("x").unwrap(), program);
        fs::remove_file(program).unwrap();
        assert!(matches!(
            world.resolve("x"),
            Err(ExecError::NotExecutable(path)) if path == plain
        ));
    }

    #[test]
    fn empty_and_relative_entries_of_path_are_not_the_working_directory() {
        // Tests run in the package's directory, which contains this file.
        assert!(Path::new("Cargo.toml").is_file());
        let world = World::new();
        let here = env::current_dir().unwrap();
        for path in ["", ":", ".", "/nowhere::.", "./"] {
            let error = resolve_exec(&world.path("ext"), "Cargo.toml", Some(path.as_ref()));
            let Err(ExecError::NotFound { looked, .. }) = error else {
                panic!("{path}: {error:?}")
            };
            assert!(
                looked
                    .iter()
                    .all(|at| at.is_absolute() && !at.starts_with(&here)),
                "{path}: {looked:?}"
            );
        }
    }

    #[test]
    fn a_missing_one_says_where_was_looked() {
        let world = World::new();
        let dirs = ["bin", "sbin", "ext"].map(|dir| world.path(dir).display().to_string());
        assert_eq!(
            world.resolve("nope").unwrap_err().to_string(),
            format!("`nope` is in none of {}", dirs.join(", "))
        );
        assert_eq!(
            world.resolve("/nowhere/x").unwrap_err().to_string(),
            "`/nowhere/x` does not exist"
        );
        // A file used as a directory, and a broken symlink.
        let file = world.file("file", 0o755);
        let below = file.join("x");
        let error = world.resolve(below.to_str().unwrap()).unwrap_err();
        assert!(matches!(error, ExecError::NotFound { .. }), "{error:?}");
        symlink("gone", world.path("ext/x")).unwrap();
        let error = world.resolve("./x").unwrap_err();
        assert!(matches!(error, ExecError::NotFound { .. }), "{error:?}");
    }

    #[test]
    fn what_is_no_program_says_what_it_is() {
        let world = World::new();
        let plain = world.file("ext/main.py", 0o644);
        assert_eq!(
            world.resolve("main.py").unwrap_err().to_string(),
            format!(
                "`{0}` is not executable\nhint: chmod +x {0}",
                plain.display()
            )
        );
        for directory in [".", "..", "../bin", ""] {
            let error = world.resolve(directory).unwrap_err();
            assert!(matches!(error, ExecError::Directory(_)), "{error:?}");
        }
        let error = world.resolve("/dev/null").unwrap_err();
        assert!(matches!(error, ExecError::NotAFile(_)), "{error:?}");
        let error = world.resolve("a\0b").unwrap_err();
        assert!(matches!(error, ExecError::Io { .. }), "{error:?}");
        assert!(!error.to_string().contains('\0'), "{error}");
    }

    #[test]
    fn a_symlink_to_a_program_is_one() {
        let world = World::new();
        let program = world.file("x", 0o755);
        symlink(program, world.path("ext/link")).unwrap();
        assert_eq!(world.resolve("link").unwrap(), world.path("ext/link"));
    }
}
