//! What an extension is started from.

use std::path::PathBuf;

use zot_protocol::Manifest;

use super::discover::{ExecError, Found, resolve_exec};
use crate::home::{Home, HomeError};

/// What an extension is started from.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Launch {
    /// Its manifest.
    pub manifest: Manifest,
    /// The directory of its manifest, which it works in.
    pub dir: PathBuf,
    /// The program, resolved.
    pub program: PathBuf,
    /// Where its log goes.
    pub log: PathBuf,
    /// A directory of its own.
    pub data_dir: PathBuf,
    /// Where it is kept what it offers; nowhere if `None`.
    pub last_known: Option<PathBuf>,
    /// The manifest's fields that this version does not know, to be named in the log.
    pub unknown_fields: Vec<String>,
}

impl Launch {
    /// From what discovery has found. Resolves the program and makes the data directory.
    pub fn of(found: &Found, home: &Home) -> Result<Self, LaunchError> {
        let path = std::env::var_os("PATH");
        let program = resolve_exec(&found.dir, &found.manifest.exec, path.as_deref())?;
        let mut launch = Self::new(found.manifest.clone(), &found.dir, program, home)?;
        launch.unknown_fields.clone_from(&found.unknown_fields);
        Ok(launch)
    }

    /// From a manifest, the directory to work in, and the program that the manifest's `exec` stands for. Makes the data
    /// directory.
    pub fn new(
        manifest: Manifest,
        dir: impl Into<PathBuf>,
        program: impl Into<PathBuf>,
        home: &Home,
    ) -> Result<Self, LaunchError> {
        Ok(Self {
            dir: dir.into(),
            program: program.into(),
            log: home.log_of(&manifest.name),
            data_dir: home.prepare_data_dir(&manifest.name)?,
            last_known: Some(home.last_known_of(&manifest.name)),
            unknown_fields: Vec::new(),
            manifest,
        })
    }
}

/// Why an extension that was found cannot be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// Its program is not there.
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// It cannot have a directory of its own.
    #[error(transparent)]
    Home(#[from] HomeError),
}
