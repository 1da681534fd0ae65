//! What is installed, and which of it a name means.

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
            self, Candidate, DigestBudget, Discovery, MANIFEST, Refused, Scope, Search,
            TrustProject, Verdict, discover, shown,
        },
    },
    home::Home,
    settings::Settings,
};
use zot_protocol::Manifest;

use super::{
    lock_file::{Entry, LockFile},
    store::Store,
};
use crate::output;

/// Something that is in a store, well or not.
#[derive(Debug)]
pub(crate) struct Installed {
    pub(crate) store: Store,
    pub(crate) dir: PathBuf,
    /// The directory's name; the lock file knows it by that.
    pub(crate) dir_name: String,
    /// What its manifest says; `None` where that cannot be read.
    pub(crate) manifest: Option<Manifest>,
    pub(crate) state: State,
    /// What the lock file says of it; `None` for what somebody put there by hand.
    pub(crate) entry: Option<Entry>,
    /// What may still be digested of the project's, all of them together.
    budget: Rc<RefCell<DigestBudget>>,
}

/// Whether it takes part, and if not, why.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum State {
    Enabled,
    Disabled,
    /// By which one.
    Shadowed(String),
    /// It came with the project, and the user has not agreed to it.
    Untrusted(String),
    /// Its manifest does not hold.
    Broken(String),
}

impl State {
    /// In a word.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Enabled => "enabled",
            Self::Disabled => "disabled",
            Self::Shadowed(_) => "shadowed",
            Self::Untrusted(_) => "untrusted",
            Self::Broken(_) => "broken",
        }
    }

    /// Why it takes no part, where that is not the user's wish.
    pub(crate) fn reason(&self) -> Option<&str> {
        match self {
            Self::Enabled | Self::Disabled => None,
            Self::Shadowed(reason) | Self::Untrusted(reason) | Self::Broken(reason) => Some(reason),
        }
    }
}

impl Installed {
    /// The name by which it is known: its manifest's, or its directory's where there is none.
    pub(crate) fn name(&self) -> &str {
        self.manifest
            .as_ref()
            .map_or(&self.dir_name, |manifest| &manifest.name)
    }

    /// Whether it is other than it was when zot last wrote to it; `None` where nobody knows.
    pub(crate) fn is_changed(&self) -> Option<bool> {
        let entry = self.entry.as_ref()?;
        let digest = match self.store.scope {
            Scope::Project => discover::digest_within(&self.dir, &mut self.budget.borrow_mut()),
            _ => discover::digest(&self.dir),
        };
        // What cannot be read any more is not what it was.
        Some(digest.map_or(true, |digest| digest != entry.digest))
    }

    /// Where it leads to, if somebody linked it there.
    pub(crate) fn leads_to(&self) -> Option<PathBuf> {
        fs::read_link(&self.dir).ok()
    }

    /// Whom its data belongs to.
    pub(crate) fn data_owner(&self, home: &Home) -> DataOwner {
        DataOwner::of(self.store.scope, &self.dir, home)
    }

    /// Where the data of one that takes part is, if that is not where its name says: the directory, and whose data is there
    /// instead.
    pub(crate) fn data_apart(&self, home: &Home) -> Option<(PathBuf, String)> {
        if self.state != State::Enabled {
            return None;
        }
        let data = self.data_owner(home).data_dir(home, self.name());
        Some((data.path, data.apart_from?))
    }

    /// What it had registered when it was last seen.
    pub(crate) fn last_known(&self, home: &Home) -> Option<LastKnown> {
        let manifest = self.manifest.as_ref()?;
        LastKnown::read(&home.last_known_of(&manifest.name))
    }
}

/// Everything in both stores, as it is loaded: the project's first, then by name. What is broken comes last in each.
pub(crate) fn all(cwd: &Path, home: &Home) -> anyhow::Result<Vec<Installed>> {
    all_with(cwd, home, Err)
}

/// As [`all`], for somebody who only wants to look: a lock file that cannot be read is said and passed over.
pub(crate) fn all_at_least(cwd: &Path, home: &Home) -> anyhow::Result<Vec<Installed>> {
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
        for Candidate { found, verdict } in &extensions {
            if found.scope == store.scope {
                add(&found.dir, Some(found.manifest.clone()), state(verdict));
            }
        }
        for refused in refused.iter().filter(|it| it.scope == store.scope) {
            if let Some(dir) = dir_of(refused, &store) {
                add(dir, None, State::Broken(refused.reason.to_string()));
            }
        }
        for dir in &without_manifest {
            if dir.parent() == Some(&store.extensions()) {
                add(dir, None, State::Broken(format!("it has no {MANIFEST}")));
            }
        }
    }
    Ok(all)
}

fn state(verdict: &Verdict) -> State {
    match verdict {
        Verdict::Start => State::Enabled,
        Verdict::Disabled => State::Disabled,
        Verdict::Shadowed { by } => State::Shadowed(format!("by {by}")),
        Verdict::Untrusted(untrusted) => State::Untrusted(format!(
            "{untrusted}; zot asks when it is first started here"
        )),
    }
}

/// The directory that a refusal is about; the store's own is not an extension.
fn dir_of<'r>(refused: &'r Refused, store: &Store) -> Option<&'r Path> {
    let dir = if refused.path.file_name()? == MANIFEST {
        refused.path.parent()?
    } else {
        &refused.path
    };
    (dir.parent() == Some(&store.extensions())).then_some(dir)
}

/// The answers that the user gave; whatever is wrong with the configuration is for others to tell.
fn trust(home: &Home) -> TrustProject {
    TrustProject::Remembered(Settings::load_quietly(home).trusted)
}

/// The one that `name` means: by its manifest's name, its directory's, or its path.
pub(crate) fn find(
    all: Vec<Installed>,
    name: &str,
    scope: Option<Scope>,
) -> anyhow::Result<Installed> {
    let path = std::path::absolute(name)
        .ok()
        .filter(|_| name.contains('/'));
    let (mut meant, others): (Vec<Installed>, Vec<Installed>) = all
        .into_iter()
        .partition(|it| it.name() == name || it.dir_name == name || path.as_ref() == Some(&it.dir));
    let elsewhere = meant.first().map(|it| it.store.scope);
    meant.retain(|it| scope.is_none_or(|scope| it.store.scope == scope));
    match meant.len() {
        1 => Ok(meant.remove(0)),
        0 => {
            let shown = shown::text(name);
            let (there, hint) = match (scope, elsewhere) {
                (Some(scope), Some(elsewhere)) => (
                    format!(" among the {scope} extensions"),
                    format!("there is a {elsewhere} one"),
                ),
                _ => (String::new(), near(name, &others)),
            };
            bail!("no extension is called `{shown}`{there}\nhint: {hint}")
        }
        _ => {
            let mut message = format!("`{}` means more than one extension:", shown::text(name));
            for it in &meant {
                message.push_str(&format!(
                    "\n  {} ({})",
                    shown::path(&it.dir),
                    it.store.scope
                ));
            }
            let differ = meant
                .iter()
                .any(|it| it.store.scope != meant[0].store.scope);
            message.push_str(if differ {
                "\nhint: say --project or --global, or name it by its path"
            } else {
                "\nhint: name it by its path"
            });
            bail!(message)
        }
    }
}

/// The one whose name is most like it, if any is.
fn near(name: &str, others: &[Installed]) -> String {
    let likeness = |other: &&Installed| {
        let likeness = strsim::jaro_winkler(&name.to_lowercase(), &other.name().to_lowercase());
        (likeness > 0.8).then_some(likeness)
    };
    let nearest = others
        .iter()
        .filter_map(|other| Some((likeness(&other)?, other)))
        .max_by(|(a, _), (b, _)| a.total_cmp(b));
    match nearest {
        Some((_, other)) => format!("did you mean {}?", shown::text(other.name())),
        None => "`zot ext list` shows what is installed".to_owned(),
    }
}
