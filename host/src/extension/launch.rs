//! What is needed to start an extension.

use std::{collections::BTreeSet, path::PathBuf};

use zot_protocol::{InterceptName, Manifest};

use super::{
    data::{DataDir, DataOwner},
    discover::{ExecError, Found, Scope, escape, resolve_exec, resolve_project_exec},
};
use crate::home::{Home, HomeError, check_data_name, prepare_data};

/// Everything needed to start an extension. Errors such as a missing program are only reported when
/// it is started, because an extension that cannot start must still block what it guards.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Launch {
    /// Its manifest.
    pub manifest: Manifest,
    /// The directory of its manifest, which is also its working directory.
    pub dir: PathBuf,
    /// Contains its log, its data and its last known registrations.
    pub home: Home,
    /// How it was found, which determines the programs that it may run and its data directory.
    /// Default: [`Scope::Explicit`].
    pub scope: Scope,
    /// Unknown fields of the manifest, to be logged.
    pub unknown_fields: Vec<String>,
    /// The events that it intercepts in audit mode.
    pub(crate) audited: BTreeSet<InterceptName>,
}

impl Launch {
    /// Creates a launch from a discovered extension.
    pub fn of(found: &Found, home: &Home) -> Self {
        let mut launch = Self::new(found.manifest.clone(), &found.dir, home);
        launch.scope = found.scope;
        launch.unknown_fields.clone_from(&found.unknown_fields);
        launch
    }

    /// Creates a launch from a manifest and its directory.
    pub fn new(manifest: Manifest, dir: impl Into<PathBuf>, home: &Home) -> Self {
        Self {
            manifest,
            dir: dir.into(),
            home: home.clone(),
            scope: Scope::Explicit,
            unknown_fields: Vec::new(),
            audited: BTreeSet::new(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.manifest.name
    }

    /// Its data directory, which is created when it starts.
    pub fn data_dir(&self) -> PathBuf {
        self.data_owner().data_dir(&self.home, self.name()).path
    }

    /// The owner of its data.
    pub fn data_owner(&self) -> DataOwner {
        DataOwner::of(self.scope, &self.dir, &self.home)
    }

    /// Finds the program.
    pub(crate) fn program(&self) -> Result<PathBuf, ExecError> {
        let path = std::env::var_os("PATH");
        // `dir` is `CWD/.zot/extensions/NAME`.
        let project = self.dir.ancestors().nth(3);
        match project.filter(|_| self.scope == Scope::Project) {
            Some(project) => {
                resolve_project_exec(project, &self.dir, &self.manifest, path.as_deref())
            }
            None => resolve_exec(&self.dir, &self.manifest.exec, path.as_deref()),
        }
    }

    /// Creates the data directory. Returns a message if the user should know where it is.
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
                Scope::Explicit => escape::path(&self.dir),
                Scope::Project => format!("{} --project", self.name()),
                Scope::Global => format!("{} --global", self.name()),
            };
            format!(
                "stores its data in `{}`, because `{}` belongs to {owner}; \
                 run `zot ext adopt {which}` to use that directory instead",
                escape::path(&path),
                escape::path(&self.home.data_dir(self.name()))
            )
        }))
    }
}
