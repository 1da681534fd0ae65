//! What an extension is started from.

use std::path::PathBuf;

use zot_protocol::Manifest;

use super::{
    data::{DataDir, DataOwner},
    discover::{ExecError, Found, Scope, resolve_exec, resolve_project_exec, shown},
};
use crate::home::{Home, HomeError, check_data_name, prepare_data};

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
    /// How it was found, which decides what it may start and whose data it gets. [`Scope::Explicit`].
    pub scope: Scope,
    /// The manifest's fields that this version does not know, to be named in the log.
    pub unknown_fields: Vec<String>,
}

impl Launch {
    /// From what discovery has found.
    pub fn of(found: &Found, home: &Home) -> Self {
        let mut launch = Self::new(found.manifest.clone(), &found.dir, home);
        launch.scope = found.scope;
        launch.unknown_fields.clone_from(&found.unknown_fields);
        launch
    }

    /// From a manifest and the directory it stands in.
    pub fn new(manifest: Manifest, dir: impl Into<PathBuf>, home: &Home) -> Self {
        Self {
            manifest,
            dir: dir.into(),
            home: home.clone(),
            scope: Scope::Explicit,
            unknown_fields: Vec::new(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.manifest.name
    }

    /// Its own directory for data, which is made when it is started.
    pub fn data_dir(&self) -> PathBuf {
        self.data_owner().data_dir(&self.home, self.name()).path
    }

    /// Whom its data belongs to.
    pub fn data_owner(&self) -> DataOwner {
        DataOwner::of(self.scope, &self.dir, &self.home)
    }

    /// Finds the program.
    pub(crate) fn program(&self) -> Result<PathBuf, ExecError> {
        let path = std::env::var_os("PATH");
        // `CWD/.zot/extensions/NAME`
        let project = self.dir.ancestors().nth(3);
        match project.filter(|_| self.scope == Scope::Project) {
            Some(project) => {
                resolve_project_exec(project, &self.dir, &self.manifest, path.as_deref())
            }
            None => resolve_exec(&self.dir, &self.manifest.exec, path.as_deref()),
        }
    }

    /// Makes the data directory, and says where it is if the user should know that.
    pub(crate) fn prepare_data(&self) -> Result<Option<String>, HomeError> {
        let io = |source| HomeError::Io {
            path: self.home.data_owner(self.name()),
            source,
        };
        check_data_name(self.name())?;
        let DataDir { path, apart_from } = self
            .data_owner()
            .claim(&self.home, self.name())
            .map_err(io)?;
        let is_new = path.symlink_metadata().is_err();
        prepare_data(&path)?;
        Ok(apart_from.filter(|_| is_new).map(|owner| {
            let which = match self.scope {
                Scope::Explicit => shown::path(&self.dir).to_string(),
                Scope::Project => format!("{} --project", self.name()),
                Scope::Global => format!("{} --global", self.name()),
            };
            format!(
                "keeps its data in `{}`, since the data of that name belongs to {owner}; \
                 `zot ext adopt {which}` lets it have that instead",
                shown::path(&path)
            )
        }))
    }
}
