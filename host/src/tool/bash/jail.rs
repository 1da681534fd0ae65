//! The permissions of a command in the jail.

use std::{
    env,
    path::{Path, PathBuf},
};

use zot_process::{Confinement, Spec};

use super::{super::workspace::Workspace, Shell};

/// Toolchains in the user's home. They contain no secrets, unlike files beside them
/// (`~/.cargo/credentials.toml`).
const TOOLCHAINS: [&str; 5] = [
    ".rustup",
    ".cargo/registry",
    ".cargo/git",
    ".nvm/versions",
    ".pyenv/versions",
];

impl Shell {
    /// Confines a command. It can write below the working directory and in its temporary folder,
    /// and read those, the readable folders, system files and the programs on `PATH`. Fails if the
    /// kernel cannot enforce that.
    pub(super) fn confine(
        &self,
        spec: Spec,
        workspace: &Workspace,
        temporary: &Path,
    ) -> Result<Spec, String> {
        let confinement = Confinement::new(self.support)
            .write(workspace.cwd())
            .write(temporary)
            .net(self.jail_net.clone());
        let readable = workspace.readable().into_iter().chain(programs());
        let confinement = readable.fold(confinement, Confinement::read);
        let enforced = confinement.enforced();
        // Sockets are a way out of the jail, for example through Docker or the session bus. Signals
        // are not, so they need not be confined.
        if !(enforced.files && enforced.tcp && enforced.other_sockets) {
            return Err(format!(
                "cannot run bash in the jail on this system ({enforced})\nhint: read, write and edit still work; the user can turn off the jail with /unjail"
            ));
        }
        let names = ["TMPDIR", "TMP", "TEMP"];
        let spec = names
            .iter()
            .fold(spec, |spec, name| spec.env(name, temporary));
        Ok(spec.confine(confinement))
    }
}

/// Returns the folders on `PATH`, the library folders beside them, and the user's toolchains.
fn programs() -> impl Iterator<Item = PathBuf> {
    let home = env::home_dir();
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        // Skip a `PATH` entry that contains the whole home directory.
        .filter(|folder| !home.as_ref().is_some_and(|home| home.starts_with(folder)))
        .collect();
    let beside = |folder: &PathBuf| {
        let above = folder.parent().filter(|_| folder.ends_with("bin"));
        above.map(|above| ["lib", "libexec"].map(|name| above.join(name)))
    };
    let libraries: Vec<PathBuf> = folders.iter().filter_map(beside).flatten().collect();
    let toolchains = home
        .into_iter()
        .flat_map(|home| TOOLCHAINS.map(|name| home.join(name)));
    folders
        .into_iter()
        .chain(libraries)
        .chain(toolchains)
        .filter(|path| path.exists())
}
