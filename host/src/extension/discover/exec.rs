//! Resolves a manifest's `exec` to a program.

use std::{
    env,
    ffi::OsStr,
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use super::escape;

/// Why an `exec` could not be resolved to a program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExecError {
    /// There is no such file.
    #[error("{}{}", not_found_message(exec, tried), build_hint(build.as_deref()))]
    NotFound {
        /// The manifest's `exec`.
        exec: String,
        /// The paths that were tried, in order.
        tried: Vec<PathBuf>,
        /// The command that probably builds it.
        build: Option<String>,
    },
    /// It is a directory.
    #[error("`{}` is a directory, not a program", escape::path(.0))]
    Directory(PathBuf),
    /// It is a device, a FIFO, a socket or another special file.
    #[error("`{}` is not a regular file", escape::path(.0))]
    NotAFile(PathBuf),
    /// The file has no executable bit.
    #[error("`{path}` is not executable\nhint: chmod +x {path}", path = escape::path(.0))]
    NotExecutable(PathBuf),
    /// A project-local extension uses a file outside its directory that is not a program on `PATH`.
    #[error(
        "`{}` resolves to `{}`, which is outside the extension's directory and can change without your approval\n\
         hint: a project-local extension can only use files in its directory and programs on PATH; move the file into its directory",
        escape::text(named),
        escape::path(path)
    )]
    Outside {
        /// The name in the manifest or script.
        named: String,
        /// The path that it resolves to.
        path: PathBuf,
    },
    /// The path cannot be accessed.
    #[error("cannot access `{}`: {source}", escape::path(path))]
    Io {
        /// The path.
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
}

/// Resolves the `exec` of a manifest in `manifest_dir` to a program.
///
/// An absolute path is used unchanged. A path with a separator is relative to the manifest's
/// directory. A bare name is looked up in each entry of `PATH`, then in the manifest's directory.
/// Empty and relative entries of `PATH` are skipped: they would refer to the directory that zot was
/// started in, and could run a program from an untrusted repository. Files on `PATH` that are not
/// executable are skipped, as in a shell.
pub fn resolve_exec(
    manifest_dir: &Path,
    exec: &str,
    path_var: Option<&OsStr>,
) -> Result<PathBuf, ExecError> {
    let here = manifest_dir.join(exec);
    let mut tried = Vec::new();
    let mut unusable = None;
    if !exec.contains(std::path::is_separator) && !exec.is_empty() {
        let entries = env::split_paths(path_var.unwrap_or_default());
        for entry in entries.filter(|entry| entry.is_absolute()) {
            let path = entry.join(exec);
            match program(&path) {
                Ok(true) => return Ok(path),
                Ok(false) | Err(ExecError::Io { .. }) => tried.push(path),
                Err(error) => unusable = unusable.or(Some(error)),
            }
        }
    }
    if program(&here)? {
        return Ok(here);
    }
    tried.push(here);
    Err(unusable.unwrap_or_else(|| ExecError::NotFound {
        exec: exec.to_owned(),
        tried,
        build: build_command(manifest_dir, exec),
    }))
}

/// Reports whether there is a program at `path`. Fails if there is something else, such as a
/// directory.
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

/// Returns the command that probably builds the extension's missing program.
fn build_command(manifest_dir: &Path, exec: &str) -> Option<String> {
    let file = exec.strip_prefix("./").unwrap_or(exec);
    let has = |name: &str| manifest_dir.join(name).is_file();
    if !exec.contains('/') {
        // A bare name usually refers to a program on `PATH`, which the extension does not build.
        return None;
    }
    if has("Cargo.toml") {
        let command = match file.split_once('/') {
            Some(("bin", _)) => "cargo install --path . --root .",
            _ if file.starts_with("target/debug/") => "cargo build",
            _ => "cargo build --release",
        };
        return Some(command.to_owned());
    }
    if has("go.mod") {
        return Some(format!("go build -o {}", escape::text(file)));
    }
    has("package.json").then(|| "npm install && npm run build".to_owned())
}

fn build_hint(build: Option<&str>) -> String {
    build.map_or_else(String::new, |command| {
        format!("\nhint: run `{command}` in the extension's directory to build it")
    })
}

/// Reports whether a file has an executable bit.
pub(super) fn is_executable(metadata: &fs::Metadata) -> bool {
    metadata.permissions().mode() & 0o111 != 0
}

/// Returns the message for a missing program, with the places that were searched.
fn not_found_message(exec: &str, tried: &[PathBuf]) -> String {
    if let [path] = tried {
        return format!("`{}` does not exist", escape::path(path));
    }
    let dirs: Vec<_> = tried
        .iter()
        .filter_map(|path| Some(escape::path(path.parent()?)))
        .collect();
    format!("`{}` not found in {}", escape::text(exec), dirs.join(", "))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    /// An extension directory `ext` and two `PATH` directories, `bin` and `sbin`.
    struct PathFixture(TempDir);

    impl PathFixture {
        fn new() -> Self {
            let fixture = Self(tempfile::tempdir().unwrap());
            for dir in ["ext", "bin", "sbin"] {
                fs::create_dir(fixture.path(dir)).unwrap();
            }
            fixture
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
    fn an_absolute_path_is_used_unchanged() {
        let fixture = PathFixture::new();
        let program = fixture.file("x", 0o755);
        assert_eq!(fixture.resolve(program.to_str().unwrap()).unwrap(), program);
    }

    #[test]
    fn a_path_with_a_separator_is_relative_to_the_manifest() {
        let fixture = PathFixture::new();
        let beside = fixture.file("ext/x", 0o755);
        let above = fixture.file("y", 0o755);
        fixture.file("bin/x", 0o755);
        assert_eq!(
            fs::canonicalize(fixture.resolve("./x").unwrap()).unwrap(),
            fs::canonicalize(beside).unwrap()
        );
        assert_eq!(
            fs::canonicalize(fixture.resolve("../y").unwrap()).unwrap(),
            fs::canonicalize(above).unwrap()
        );
        // `bin/x` on `PATH` is not used.
        fs::remove_file(fixture.path("ext/x")).unwrap();
        assert!(matches!(
            fixture.resolve("./x"),
            Err(ExecError::NotFound { tried, .. }) if tried == [fixture.path("ext/./x")]
        ));
    }

    #[test]
    fn a_bare_name_is_searched_on_path_then_beside_the_manifest() {
        let fixture = PathFixture::new();
        let beside = fixture.file("ext/x", 0o755);
        assert_eq!(fixture.resolve("x").unwrap(), beside);
        let second = fixture.file("sbin/x", 0o755);
        assert_eq!(fixture.resolve("x").unwrap(), second);
        let first = fixture.file("bin/x", 0o755);
        assert_eq!(fixture.resolve("x").unwrap(), first);
        assert_eq!(
            resolve_exec(&fixture.path("ext"), "x", None).unwrap(),
            beside,
            "without a PATH"
        );
    }

    #[test]
    fn files_on_path_that_are_not_executable_are_skipped() {
        let fixture = PathFixture::new();
        let plain = fixture.file("bin/x", 0o644);
        let program = fixture.file("sbin/x", 0o755);
        assert_eq!(fixture.resolve("x").unwrap(), program);
        fs::remove_file(program).unwrap();
        assert!(matches!(
            fixture.resolve("x"),
            Err(ExecError::NotExecutable(path)) if path == plain
        ));
    }

    #[test]
    fn empty_and_relative_path_entries_are_ignored() {
        // Tests run in the package's directory, which contains this file.
        assert!(Path::new("Cargo.toml").is_file());
        let fixture = PathFixture::new();
        let here = env::current_dir().unwrap();
        for path in ["", ":", ".", "/nowhere::.", "./"] {
            let error = resolve_exec(&fixture.path("ext"), "Cargo.toml", Some(path.as_ref()));
            let Err(ExecError::NotFound { tried, .. }) = error else {
                panic!("{path}: {error:?}")
            };
            assert!(
                tried
                    .iter()
                    .all(|at| at.is_absolute() && !at.starts_with(&here)),
                "{path}: {tried:?}"
            );
        }
    }

    #[test]
    fn a_missing_program_error_lists_the_searched_directories() {
        let fixture = PathFixture::new();
        let dirs = ["bin", "sbin", "ext"].map(|dir| fixture.path(dir).display().to_string());
        assert_eq!(
            fixture.resolve("nope").unwrap_err().to_string(),
            format!("`nope` not found in {}", dirs.join(", "))
        );
        assert_eq!(
            fixture.resolve("/nowhere/x").unwrap_err().to_string(),
            "`/nowhere/x` does not exist"
        );
        // A file used as a directory, and a broken symlink.
        let file = fixture.file("file", 0o755);
        let below = file.join("x");
        let error = fixture.resolve(below.to_str().unwrap()).unwrap_err();
        assert!(matches!(error, ExecError::NotFound { .. }), "{error:?}");
        symlink("gone", fixture.path("ext/x")).unwrap();
        let error = fixture.resolve("./x").unwrap_err();
        assert!(matches!(error, ExecError::NotFound { .. }), "{error:?}");
    }

    #[test]
    fn something_that_is_not_a_program_is_named_in_the_error() {
        let fixture = PathFixture::new();
        let plain = fixture.file("ext/main.py", 0o644);
        assert_eq!(
            fixture.resolve("main.py").unwrap_err().to_string(),
            format!(
                "`{0}` is not executable\nhint: chmod +x {0}",
                plain.display()
            )
        );
        for directory in [".", "..", "../bin", ""] {
            let error = fixture.resolve(directory).unwrap_err();
            assert!(matches!(error, ExecError::Directory(_)), "{error:?}");
        }
        let error = fixture.resolve("/dev/null").unwrap_err();
        assert!(matches!(error, ExecError::NotAFile(_)), "{error:?}");
        let error = fixture.resolve("a\0b").unwrap_err();
        assert!(matches!(error, ExecError::Io { .. }), "{error:?}");
        assert!(!error.to_string().contains('\0'), "{error}");
    }

    #[test]
    fn a_symlink_to_a_program_is_accepted() {
        let fixture = PathFixture::new();
        let program = fixture.file("x", 0o755);
        symlink(program, fixture.path("ext/link")).unwrap();
        assert_eq!(fixture.resolve("link").unwrap(), fixture.path("ext/link"));
    }
}
