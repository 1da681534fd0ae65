use std::collections::BTreeMap;
#[cfg(target_os = "linux")]
use std::ffi::OsStr;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::Confinement;
use crate::marker::{self, TreeId};

/// What to start: a program, its arguments, its working directory and its environment.
///
/// ```
/// use zot_process::Spec;
///
/// let spec = Spec::new("/usr/bin/python3")
///     .arg("main.py")
///     .cwd("/home/me/.zot/extensions/todo")
///     .env_remove("ANTHROPIC_API_KEY")
///     .env("ZOT_EXTENSION", "todo");
/// ```
#[derive(Clone)]
pub struct Spec {
    program: PathBuf,
    args: Vec<OsString>,
    cwd: Option<PathBuf>,
    inherit: bool,
    /// `None` removes a variable.
    env: BTreeMap<OsString, Option<OsString>>,
    confinement: Option<Confinement>,
}

impl Spec {
    /// Creates a spec for a program path. `PATH` is never searched, and a relative path is relative
    /// to this program's working directory, not the child's.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            cwd: None,
            inherit: true,
            env: BTreeMap::new(),
            confinement: None,
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets the working directory. Defaults to this program's.
    #[must_use]
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = Some(cwd.into());
        self
    }

    /// Sets a variable, overriding an inherited one.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.insert(name.into(), Some(value.into()));
        self
    }

    /// Sets variables, overriding inherited ones.
    #[must_use]
    pub fn envs<N: Into<OsString>, V: Into<OsString>>(
        self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        variables
            .into_iter()
            .fold(self, |spec, (name, value)| spec.env(name, value))
    }

    /// Removes an inherited variable.
    #[must_use]
    pub fn env_remove(mut self, name: impl Into<OsString>) -> Self {
        self.env.insert(name.into(), None);
        self
    }

    /// Clears the environment, including variables set before. The child receives only variables
    /// that are set afterwards, and the mark of its tree (see [the crate's
    /// documentation](crate#how-a-tree-is-found)).
    #[must_use]
    pub fn env_clear(mut self) -> Self {
        self.inherit = false;
        self.env.clear();
        self
    }

    /// Confines the process and its descendants to what is granted. Its working directory is not
    /// granted by default. Without a confinement, they have this program's privileges.
    #[must_use]
    pub fn confine(mut self, confinement: Confinement) -> Self {
        self.confinement = Some(confinement);
        self
    }

    /// Returns the program path, as given.
    pub fn program(&self) -> &Path {
        &self.program
    }

    pub(crate) fn working_directory(&self) -> Option<&Path> {
        self.cwd.as_deref()
    }

    pub(crate) fn confinement(&self) -> Option<&Confinement> {
        self.confinement.as_ref()
    }

    /// Returns the value of a variable in the child's environment.
    #[cfg(target_os = "linux")]
    pub(crate) fn variable(&self, name: &str) -> Option<OsString> {
        match self.env.get(OsStr::new(name)) {
            Some(value) => value.clone(),
            None => self.inherit.then(|| std::env::var_os(name)).flatten(),
        }
    }

    pub(crate) fn arguments(&self) -> &[OsString] {
        &self.args
    }

    /// Returns the child's complete environment, including the mark of its tree.
    pub(crate) fn environment(&self, tree: TreeId) -> BTreeMap<OsString, OsString> {
        let inherited = self.inherit.then(std::env::vars_os);
        let mut variables: BTreeMap<_, _> = inherited.into_iter().flatten().collect();
        for (name, value) in &self.env {
            match value {
                Some(value) => variables.insert(name.clone(), value.clone()),
                None => variables.remove(name),
            };
        }
        variables.insert(marker::VARIABLE.into(), tree.value());
        variables
    }
}

/// Prints the names of variables but not their values: a spec ends up in logs, and an environment
/// can contain API keys.
impl fmt::Debug for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |set: bool| {
            self.env
                .iter()
                .filter(move |(_, value)| value.is_some() == set)
                .map(|(name, _)| name)
                .collect::<Vec<_>>()
        };
        f.debug_struct("Spec")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("cwd", &self.cwd)
            .field("inherit", &self.inherit)
            .field("set", &names(true))
            .field("removed", &names(false))
            .field("confinement", &self.confinement)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_names_but_not_values_of_variables() {
        let spec = Spec::new("/bin/true")
            .env("TOKEN", "hunter2")
            .env_remove("KEY");
        let text = format!("{spec:?}");
        assert!(text.contains("TOKEN") && text.contains("KEY"), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
}
