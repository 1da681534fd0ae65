//! Finds extensions, decides which of them start, and resolves the program of each.
//!
//! The search order is `--ext`, then the project, then the global extensions. Within a directory,
//! extensions are ordered by manifest name, then by directory name (both by bytes). The first
//! extension with a given name wins and shadows the later ones, even if it is disabled. The result
//! depends only on files, never on how fast something starts.
//!
//! # Untrusted repositories
//!
//! A project-local extension comes with a repository, which may be someone else's. Until the user
//! trusts it, it is not started **and does not shadow**. Otherwise a repository could disable a
//! global guard, without the user being asked, by containing an extension with the same name. For
//! the same reason, `enabled: false` in a project-local manifest only shadows if the user trusts
//! it. Until then, the global extension with that name starts as usual. [`Untrusted::instead`] says
//! which one that is, so that the user knows what trusting the project would replace. A disabled
//! extension that shadows nothing needs no trust.

mod digest;
mod discovery;
pub mod escape;
mod exec;
mod manifest;
mod project_exec;
mod trust;

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Component, Path, PathBuf},
};

pub use digest::{
    DIGEST_BYTES, DIGEST_ENTRIES, DIGEST_LEVELS, DigestBudget, DigestError, digest, digest_within,
};
pub use discovery::{Candidate, Decision, Discovery, Found, Place, Refused, Scope};
pub use exec::{ExecError, resolve_exec};
use manifest::read_manifest_in;
pub use manifest::{FindError, MANIFEST, MANIFEST_BYTES, read_manifest};
pub use project_exec::resolve_project_exec;
pub use trust::{TrustProject, TrustSubject, Untrusted, UntrustedReason};

use crate::{home::Home, untrusted};

/// The maximum number of extensions in a project. Only the first ones in order of directory name
/// are loaded.
pub const PROJECT_EXTENSIONS: usize = 64;
/// The maximum number of entries in a project's extensions folder. A larger folder is not read.
const PROJECT_ENTRIES: usize = 1_000;

/// The extensions folder of a project, relative to its directory.
const PROJECT: &str = ".zot/extensions";

/// Where to look for extensions.
#[derive(Debug, Clone)]
pub struct Search {
    /// Contains the global extensions.
    pub home: Home,
    /// The working directory, which contains the project's extensions. Relative `--ext` paths are
    /// resolved against it.
    pub cwd: PathBuf,
    /// The paths given with `--ext`, each a directory or its `extension.json`.
    pub explicit: Vec<PathBuf>,
    /// Whether to use only the `explicit` extensions (`--no-ext`).
    pub no_ext: bool,
    /// Which project-local extensions may start.
    pub trust: TrustProject,
}

/// Finds all extensions. An error in one of them is reported and does not affect the others.
pub fn discover(search: &Search) -> Discovery {
    let mut discovery = Discovery::default();
    let cwd = absolute(&search.cwd);
    let mut found = Vec::new();
    for path in &search.explicit {
        match explicit(&cwd, path) {
            Ok(extension) => found.push(extension),
            Err(refused) => discovery.refused.push(refused),
        }
    }
    if !search.no_ext {
        let project = cwd.join(PROJECT);
        let global = search.home.extensions();
        // If `ZOT_HOME` is `.zot` in the working directory, both are the same directory, which
        // belongs to the user.
        if !is_same(&project, &global) {
            let of_project = scan(Scope::Project, Some(&cwd), &project, &mut discovery);
            found.extend(of_project);
        }
        found.extend(scan(Scope::Global, None, &global, &mut discovery));
    }
    discovery.extensions = decide(found, &search.trust);
    discovery
}

/// Decides which extensions start. `found` is in load order.
fn decide(found: Vec<Found>, trust: &TrustProject) -> Vec<Candidate> {
    let mut remaining = BTreeMap::<String, usize>::new();
    for found in &found {
        *remaining.entry(found.name().to_owned()).or_default() += 1;
    }
    let mut winners = BTreeMap::<String, Place>::new();
    let mut budget = DigestBudget::default();
    let mut candidates = Vec::new();
    for found in found {
        let name = found.name();
        let enabled = found.manifest.is_enabled();
        let remaining = remaining.get_mut(name).expect("every name was counted");
        *remaining -= 1;
        let decision = if let Some(by) = winners.get(name) {
            Decision::Shadowed { by: by.clone() }
        } else if found.scope == Scope::Project
            // A disabled extension that shadows nothing needs no trust.
            && (enabled || *remaining > 0)
            && let Some(untrusted) = trust.untrusted_reason(&found.dir, &mut budget)
        {
            Decision::Untrusted(untrusted)
        } else {
            winners.insert(name.to_owned(), found.place());
            if enabled {
                Decision::Start
            } else {
                Decision::Disabled
            }
        };
        candidates.push(Candidate { found, decision });
    }
    for candidate in &mut candidates {
        if let Decision::Untrusted(untrusted) = &mut candidate.decision {
            untrusted.instead = winners.get(candidate.found.name()).cloned();
        }
    }
    candidates
}

/// Loads the extension at a path given with `--ext`.
fn explicit(cwd: &Path, given: &Path) -> Result<Found, Refused> {
    let refuse = |path: &Path, reason| Refused {
        scope: Scope::Explicit,
        path: path.to_owned(),
        reason,
    };
    if given.as_os_str().is_empty() {
        return Err(refuse(given, FindError::EmptyPath));
    }
    let path = absolute(&cwd.join(given));
    let is_dir = match fs::metadata(&path) {
        Ok(metadata) => metadata.is_dir(),
        Err(error) => return Err(refuse(&path, error.into())),
    };
    let dir = if is_dir {
        &path
    } else {
        path.parent()
            .filter(|_| path.file_name().is_some_and(|name| name == MANIFEST))
            .ok_or_else(|| refuse(&path, FindError::NotAnExtension))?
    };
    load(Scope::Explicit, None, dir).map_err(|reason| refuse(&dir.join(MANIFEST), reason))
}

/// Finds the extensions in one folder, in load order. `project` is the directory of a project,
/// which is untrusted: links that lead out of it are not followed, and the number of entries is
/// limited.
fn scan(
    scope: Scope,
    project: Option<&Path>,
    extensions: &Path,
    discovery: &mut Discovery,
) -> Vec<Found> {
    let most = project.map_or(usize::MAX, |_| PROJECT_ENTRIES);
    let mut names: Vec<_> = match untrusted::list(project, below(project, extensions), most) {
        Ok(entries) => entries.into_iter().map(|(name, _)| name).collect(),
        // A missing folder is empty; a broken symlink is an error.
        Err(error) if error.kind() == io::ErrorKind::NotFound && !extensions.is_symlink() => {
            return Vec::new();
        }
        Err(error) => {
            discovery.refuse(scope, extensions, error.into());
            return Vec::new();
        }
    };
    // The names of unfinished installations start with a dot.
    names.retain(|name| !name.as_encoded_bytes().starts_with(b"."));
    names.sort_by(|a, b| a.as_encoded_bytes().cmp(b.as_encoded_bytes()));
    if project.is_some() {
        // Anything that is not a file counts against the limit.
        names.retain(|name| !extensions.join(name).is_file());
        if let Some(ignored @ 1..) = names.len().checked_sub(PROJECT_EXTENSIONS) {
            let max = PROJECT_EXTENSIONS;
            discovery.refuse(scope, extensions, FindError::TooMany { max, ignored });
            names.truncate(max);
        }
    }
    let mut found = Vec::new();
    for name in names {
        let dir = extensions.join(&name);
        let is_dir = match project {
            Some(project) => untrusted::is_folder(project, below(Some(project), &dir)),
            None => fs::metadata(&dir).map(|metadata| metadata.is_dir()),
        };
        match is_dir {
            Ok(true) => {}
            Ok(false) => continue,
            Err(error) => {
                discovery.refuse(scope, &dir, error.into());
                continue;
            }
        }
        let manifest = dir.join(MANIFEST);
        match load(scope, project, &dir) {
            Ok(extension) => found.push(extension),
            // A broken symlink is an error, not a missing manifest.
            Err(FindError::Missing) if !manifest.is_symlink() => {
                discovery.without_manifest.push(dir);
            }
            Err(reason) => discovery.refuse(scope, &manifest, reason),
        }
    }
    // The sort is stable, so extensions with the same name stay sorted by directory name.
    found.sort_by(|a, b| a.name().cmp(b.name()));
    found
}

/// Makes a path in the project relative to the project's directory.
fn below<'p>(project: Option<&Path>, path: &'p Path) -> &'p Path {
    let rest = project.and_then(|project| path.strip_prefix(project).ok());
    rest.unwrap_or(path)
}

fn load(scope: Scope, project: Option<&Path>, dir: &Path) -> Result<Found, FindError> {
    let manifest_path = dir.join(MANIFEST);
    if scope == Scope::Project && manifest_path.is_symlink() {
        return Err(FindError::Symlink);
    }
    let (manifest, unknown_fields) = read_manifest_in(project, below(project, &manifest_path))?;
    Ok(Found {
        manifest,
        unknown_fields,
        dir: dir.to_owned(),
        manifest_path,
        scope,
    })
}

/// Makes a path absolute. Symlinks are not resolved, because users know their directories by those
/// names, unless the path contains `..`, which is ambiguous after a symlink.
fn absolute(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    if absolute
        .components()
        .any(|part| part == Component::ParentDir)
        && let Ok(canonical) = fs::canonicalize(&absolute)
    {
        return canonical;
    }
    absolute
}

fn is_same(a: &Path, b: &Path) -> bool {
    match (fs::canonicalize(a), fs::canonicalize(b)) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}
