//! The installed extensions, and how to find one by name.

use std::{
    cell::RefCell,
    fs,
    path::{Path, PathBuf},
    rc::Rc,
};

use anyhow::bail;
use zot_host::{
    extension::{
        DataOwner, LastKnown,
        discover::{
            self, Candidate, Decision, DigestBudget, Discovery, MANIFEST, Refused, Scope, Search,
            TrustProject, discover, escape,
        },
    },
    home::Home,
    settings::Settings,
};
use zot_protocol::{Config, ExtensionConfig, Manifest};

use super::{
    lock_file::{Entry, LockFile},
    store::Store,
};
use crate::output;

/// An extension in a store, valid or not.
#[derive(Debug)]
pub(crate) struct Installed {
    pub(crate) store: Store,
    pub(crate) dir: PathBuf,
    /// The directory's name, which is its key in the lock file.
    pub(crate) dir_name: String,
    /// `None` if the manifest is missing or invalid.
    pub(crate) manifest: Option<Manifest>,
    pub(crate) state: LoadState,
    /// The lock file entry; `None` if the extension was not installed by `zot ext install`.
    pub(crate) entry: Option<Entry>,
    /// The digest budget that all extensions of the project share.
    budget: Rc<RefCell<DigestBudget>>,
}

/// Whether an extension is started, and if not, why not.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LoadState {
    Enabled,
    Disabled,
    /// Shadowed by another extension with the same name.
    Shadowed(String),
    /// From the project, and not approved by the user.
    Untrusted(String),
    /// The manifest is invalid.
    Broken(String),
}

impl LoadState {
    /// The name of the state.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Enabled => "enabled",
            Self::Disabled => "disabled",
            Self::Shadowed(_) => "shadowed",
            Self::Untrusted(_) => "untrusted",
            Self::Broken(_) => "broken",
        }
    }

    /// The reason why the extension is not started. `None` if it is enabled or simply disabled.
    pub(crate) fn reason(&self) -> Option<&str> {
        match self {
            Self::Enabled | Self::Disabled => None,
            Self::Shadowed(reason) | Self::Untrusted(reason) | Self::Broken(reason) => Some(reason),
        }
    }
}

impl Installed {
    /// The name from the manifest, or the directory's name if there is no valid manifest.
    pub(crate) fn name(&self) -> &str {
        self.manifest
            .as_ref()
            .map_or(&self.dir_name, |manifest| &manifest.name)
    }

    /// Reports whether the files differ from what zot last wrote; `None` if there is no lock file
    /// entry.
    pub(crate) fn is_changed(&self) -> Option<bool> {
        let entry = self.entry.as_ref()?;
        let digest = match self.store.scope {
            Scope::Project => discover::digest_within(&self.dir, &mut self.budget.borrow_mut()),
            _ => discover::digest(&self.dir),
        };
        // A tree that can no longer be read counts as changed.
        Some(digest.map_or(true, |digest| digest != entry.digest))
    }

    /// The target, if the extension is a symlink.
    pub(crate) fn link_target(&self) -> Option<PathBuf> {
        fs::read_link(&self.dir).ok()
    }

    /// The owner of the extension's data.
    pub(crate) fn data_owner(&self, home: &Home) -> DataOwner {
        DataOwner::of(self.store.scope, &self.dir, home)
    }

    /// If an enabled extension does not use the default data directory, returns its own directory
    /// and the owner of the default one.
    pub(crate) fn separate_data(&self, home: &Home) -> Option<(PathBuf, String)> {
        if self.state != LoadState::Enabled {
            return None;
        }
        let data = self.data_owner(home).data_dir(home, self.name());
        Some((data.path, data.apart_from?))
    }

    /// The events that the extension intercepts in audit mode, by the user's configuration.
    pub(crate) fn audited(&self, config: &Config) -> Vec<String> {
        let own = config.extensions.get(self.name());
        let audited = own.into_iter().flat_map(ExtensionConfig::audited);
        audited.map(ToString::to_string).collect()
    }

    /// What the extension registered when it last ran.
    pub(crate) fn last_known(&self, home: &Home) -> Option<LastKnown> {
        let manifest = self.manifest.as_ref()?;
        LastKnown::read(&home.last_known_of(&manifest.name))
    }
}

/// Returns all extensions of both stores in load order: the project's first, then by name. Broken
/// ones come last in each store.
pub(crate) fn all(cwd: &Path, home: &Home) -> anyhow::Result<Vec<Installed>> {
    all_with(cwd, home, Err)
}

/// Like [`all`], but reports an unreadable lock file instead of failing. For read-only commands.
pub(crate) fn all_lenient(cwd: &Path, home: &Home) -> anyhow::Result<Vec<Installed>> {
    all_with(cwd, home, |error| {
        output::note(format_args!("! {error:#}"));
        Ok(LockFile::default())
    })
}

fn all_with(
    cwd: &Path,
    home: &Home,
    unreadable: impl Fn(anyhow::Error) -> anyhow::Result<LockFile>,
) -> anyhow::Result<Vec<Installed>> {
    let discovery = discover(&Search {
        home: home.clone(),
        cwd: cwd.to_owned(),
        explicit: Vec::new(),
        no_ext: false,
        trust: trust(home),
    });
    let Discovery {
        extensions,
        refused,
        without_manifest,
    } = discovery;
    let mut all = Vec::new();
    let budget = Rc::default();
    for store in Store::all(cwd, home) {
        let lock = LockFile::read(&store).or_else(&unreadable)?;
        let mut add = |dir: &Path, manifest, state| {
            let name = dir.file_name().unwrap_or_default().to_string_lossy();
            all.push(Installed {
                store: store.clone(),
                dir: dir.to_owned(),
                entry: lock.extensions.get(name.as_ref()).cloned(),
                dir_name: name.into_owned(),
                manifest,
                state,
                budget: Rc::clone(&budget),
            });
        };
        for Candidate { found, decision } in &extensions {
            if found.scope == store.scope {
                add(&found.dir, Some(found.manifest.clone()), state(decision));
            }
        }
        for refused in refused.iter().filter(|it| it.scope == store.scope) {
            if let Some(dir) = dir_of(refused, &store) {
                add(dir, None, LoadState::Broken(refused.reason.to_string()));
            }
        }
        for dir in &without_manifest {
            if dir.parent() == Some(&store.extensions()) {
                add(
                    dir,
                    None,
                    LoadState::Broken(format!("{MANIFEST} not found")),
                );
            }
        }
    }
    Ok(all)
}

fn state(decision: &Decision) -> LoadState {
    match decision {
        Decision::Start => LoadState::Enabled,
        Decision::Disabled => LoadState::Disabled,
        Decision::Shadowed { by } => LoadState::Shadowed(format!("by {by}")),
        Decision::Untrusted(untrusted) => LoadState::Untrusted(format!(
            "{untrusted}; zot asks for approval when you start it in this directory"
        )),
    }
}

/// Returns the extension directory that an error is about; `None` if it is about the store itself.
fn dir_of<'r>(refused: &'r Refused, store: &Store) -> Option<&'r Path> {
    let dir = if refused.path.file_name()? == MANIFEST {
        refused.path.parent()?
    } else {
        &refused.path
    };
    (dir.parent() == Some(&store.extensions())).then_some(dir)
}

/// Returns the user's trust decisions. Ignores configuration errors; other code reports them.
fn trust(home: &Home) -> TrustProject {
    TrustProject::Remembered(Settings::load_quietly(home).trusted)
}

/// Finds an extension by its name, its directory's name or its path.
pub(crate) fn find(
    all: Vec<Installed>,
    name: &str,
    scope: Option<Scope>,
) -> anyhow::Result<Installed> {
    let path = std::path::absolute(name)
        .ok()
        .filter(|_| name.contains('/'));
    let (mut matching, others): (Vec<Installed>, Vec<Installed>) = all
        .into_iter()
        .partition(|it| it.name() == name || it.dir_name == name || path.as_ref() == Some(&it.dir));
    let elsewhere = matching.first().map(|it| it.store.scope);
    matching.retain(|it| scope.is_none_or(|scope| it.store.scope == scope));
    match matching.len() {
        1 => Ok(matching.remove(0)),
        0 => {
            let shown = escape::text(name);
            let (place, hint) = match (scope, elsewhere) {
                (Some(scope), Some(elsewhere)) => (
                    format!(" in the {scope} scope"),
                    format!("there is one in the {elsewhere} scope"),
                ),
                _ => (String::new(), similar(name, &others)),
            };
            bail!("no extension named `{shown}`{place}\nhint: {hint}")
        }
        _ => {
            let mut message = format!("`{}` is ambiguous:", escape::text(name));
            for it in &matching {
                message.push_str(&format!(
                    "\n  {} ({})",
                    escape::path(&it.dir),
                    it.store.scope
                ));
            }
            let differ = matching
                .iter()
                .any(|it| it.store.scope != matching[0].store.scope);
            message.push_str(if differ {
                "\nhint: use --project or --global, or pass its path"
            } else {
                "\nhint: pass its path"
            });
            bail!(message)
        }
    }
}

/// Suggests the extension with the most similar name.
fn similar(name: &str, others: &[Installed]) -> String {
    let similarity = |other: &&Installed| {
        let similarity = strsim::jaro_winkler(&name.to_lowercase(), &other.name().to_lowercase());
        (similarity > 0.8).then_some(similarity)
    };
    let nearest = others
        .iter()
        .filter_map(|other| Some((similarity(&other)?, other)))
        .max_by(|(a, _), (b, _)| a.total_cmp(b));
    match nearest {
        Some((_, other)) => format!("did you mean {}?", escape::text(other.name())),
        None => "run `zot ext list` to see installed extensions".to_owned(),
    }
}
