//! What an extension is started from.

use std::path::PathBuf;

use zot_protocol::Manifest;

use super::discover::{ExecError, Found, resolve_exec};
use crate::home::{Home, HomeError};

/// What an extension is started from. Whether it can be started is found out when it is, and then is told: one whose
/// program is missing must still refuse what it guards.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Launch {
    /// Its manifest.
    pub manifest: Manifest,
    /// The directory of its manifest, which it works in.
    pub dir: PathBuf,
    /// Where its log, its data and what is known of it are.
    pub home: Home,
    /// The manifest's fields that this version does not know, to be named in the log.
    pub unknown_fields: Vec<String>,
}

impl Launch {
    /// From what discovery has found.
    pub fn of(found: &Found, home: &Home) -> Self {
        let mut launch = Self::new(found.manifest.clone(), &found.dir, home);
        launch.unknown_fields.clone_from(&found.unknown_fields);
        launch
    }

    /// From a manifest and the directory it stands in.
    pub fn new(manifest: Manifest, dir: impl Into<PathBuf>, home: &Home) -> Self {
        Self {
            manifest,
            dir: dir.into(),
            home: home.clone(),
            unknown_fields: Vec::new(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.manifest.name
    }

    /// Its own directory for data, which is made when it is started.
    pub fn data_dir(&self) -> PathBuf {
        self.home.data_dir(self.name())
    }

    /// Finds the program and makes the data directory.
    pub(crate) fn prepare(&self) -> Result<PathBuf, LaunchError> {
        let path = std::env::var_os("PATH");
        let program = resolve_exec(&self.dir, &self.manifest.exec, path.as_deref())?;
        self.home.prepare_data_dir(self.name())?;
        Ok(program)
    }
}

/// Why an extension that was found cannot be started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LaunchError {
    /// Its program is not there.
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// It cannot have a directory of its own.
    #[error(transparent)]
    Home(#[from] HomeError),
}
