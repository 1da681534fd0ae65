//! Resolves a manifest's `exec` to a program, independently of the host's code.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// Why `exec` cannot be resolved.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    /// There is no command to run.
    #[error("no command was given")]
    Empty,
    /// The file does not exist.
    #[error("`{}` does not exist", .0.display())]
    Missing(PathBuf),
    /// A bare name that is neither on `PATH` nor next to the manifest.
    #[error("`{0}` was not found on PATH or in the extension's directory")]
    NotOnPath(String),
    /// The file is not executable.
    #[error("`{path}` is not an executable file\nhint: chmod +x {path}", path = .0.display())]
    NotExecutable(PathBuf),
}

/// Resolves a path relative to `dir`. A bare name is searched for on `PATH`, then in `dir`.
pub(super) fn resolve(dir: &Path, exec: &str) -> Result<PathBuf, ExecError> {
    if exec.contains('/') {
        // Error messages are clearer without `./`.
        let path = dir.join(exec.strip_prefix("./").unwrap_or(exec));
        return match fs::metadata(&path) {
            Err(_) => Err(ExecError::Missing(path)),
            Ok(_) if is_program(&path) => Ok(path),
            Ok(_) => Err(ExecError::NotExecutable(path)),
        };
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let beside = dir.join(exec);
    let found = std::env::split_paths(&path)
        .filter(|entry| entry.is_absolute())
        .map(|entry| entry.join(exec))
        .chain([beside.clone()])
        .find(|path| is_program(path));
    match found {
        Some(path) => Ok(path),
        None if beside.is_file() => Err(ExecError::NotExecutable(beside)),
        None => Err(ExecError::NotOnPath(exec.to_owned())),
    }
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}
