use std::collections::BTreeMap;
#[cfg(target_os = "linux")]
use std::ffi::OsStr;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::Confinement;
use crate::marker::{self, TreeId};

/// What to start: a program, its arguments, its directory and its environment.
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
    /// `None` is a name that is taken away.
    env: BTreeMap<OsString, Option<OsString>>,
    confinement: Option<Confinement>,
}

impl Spec {
    /// A program by its path. `PATH` is never searched, and a relative path starts at this program's working
    /// directory, not at the child's.
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

    /// The directory to start in; without it, this program's own.
    #[must_use]
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = Some(cwd.into());
        self
    }

    /// Sets a variable, over an inherited one.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.insert(name.into(), Some(value.into()));
        self
    }

    /// Sets variables, over inherited ones.
    #[must_use]
    pub fn envs<N: Into<OsString>, V: Into<OsString>>(
        self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        variables
            .into_iter()
            .fold(self, |spec, (name, value)| spec.env(name, value))
    }

    /// Keeps a variable of this program from the child.
    #[must_use]
    pub fn env_remove(mut self, name: impl Into<OsString>) -> Self {
        self.env.insert(name.into(), None);
        self
    }

    /// Inherits nothing and forgets what was set: the child's environment is exactly what is set after this, and the
    /// marker of its tree (see [the crate's documentation](crate#how-a-tree-is-found)).
    #[must_use]
    pub fn env_clear(mut self) -> Self {
        self.inherit = false;
        self.env.clear();
        self
    }

    /// Holds the process, and all that it starts, to what is granted; its working directory is not, unless named there.
    /// Without a confinement they have this program's rights.
    #[must_use]
    pub fn confine(mut self, confinement: Confinement) -> Self {
        self.confinement = Some(confinement);
        self
    }

    /// The program as it was given.
    pub fn program(&self) -> &Path {
        &self.program
    }

    pub(crate) fn working_directory(&self) -> Option<&Path> {
        self.cwd.as_deref()
    }

    pub(crate) fn confinement(&self) -> Option<&Confinement> {
        self.confinement.as_ref()
    }

    /// A variable as the child will have it.
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

    /// All variables that the child will have, the mark of its tree among them.
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

/// Names of variables and never their values: a spec ends up in logs, and an environment holds keys.
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
    fn debug_names_variables_and_keeps_their_values() {
        let spec = Spec::new("/bin/true")
            .env("TOKEN", "hunter2")
            .env_remove("KEY");
        let text = format!("{spec:?}");
        assert!(text.contains("TOKEN") && text.contains("KEY"), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
}
