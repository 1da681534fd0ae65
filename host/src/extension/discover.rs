//! Where extensions are found, in which order, which one wins, and what program each starts.
//!
//! The search order is `--ext`, then the project's, then the global ones; within a directory it is that of the
//! manifests' names, then of the directories' (both by bytes). The first one of a name has it, and the later ones are
//! shadowed, also by one that is disabled. The result depends on files alone, never on how fast something starts.
//!
//! # What a repository may do
//!
//! A project-local extension came with somebody's repository. Until the user agreed to it, it takes no part at all: it
//! is not started, **and it does not shadow**. If it did, a repository could switch off a user's global guard by
//! naming an extension like it, and that unasked. For the same reason `enabled: false` in a project-local manifest
//! shadows only what the user agreed to: "do not run this one" is as strong a wish as "run that one". So the global one
//! of that name goes on as itself, under its own scope, and [`Untrusted::instead`] tells the user which one that is,
//! and what agreeing would replace. A disabled one that stands in nobody's way needs no agreement.

mod digest;
mod exec;
pub(crate) mod file;
mod found;
mod manifest;
pub mod shown;
mod trust;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs, io,
    path::{Component, Path, PathBuf},
};

pub use digest::{DIGEST_BYTES, DIGEST_ENTRIES, DigestError, digest};
pub use exec::{ExecError, resolve_exec};
pub use found::{Candidate, Discovery, Found, Place, Refused, Scope, Verdict};
pub use manifest::{FindError, MANIFEST, MANIFEST_BYTES, read_manifest};
pub use trust::{Distrust, Seen, TrustProject, Untrusted};

use crate::home::Home;

/// Where to look for extensions.
#[derive(Debug, Clone)]
pub struct Search {
    /// Where the global ones are.
    pub home: Home,
    /// The working directory: where the project's are, and where a relative `--ext` starts.
    pub cwd: PathBuf,
    /// The paths given with `--ext`, each a directory or its `extension.json`.
    pub explicit: Vec<PathBuf>,
    /// Whether to look only at those: `--no-ext`.
    pub no_ext: bool,
    /// Which of the project's may be started.
    pub trust: TrustProject,
}

/// Looks for extensions. Whatever is wrong with one of them is told and leaves the others as they are.
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
        let project = cwd.join(".zot").join("extensions");
        let global = search.home.extensions();
        // In the directory above a `ZOT_HOME` called `.zot`, they are one and the same, and the user's own.
        if !is_same(&project, &global) {
            found.extend(scan(Scope::Project, &project, &mut discovery));
        }
        found.extend(scan(Scope::Global, &global, &mut discovery));
    }
    discovery.extensions = judge(found, &search.trust);
    discovery
}

/// Decides about each, given in load order.
fn judge(found: Vec<Found>, trust: &TrustProject) -> Vec<Candidate> {
    let mut followers = BTreeMap::<String, usize>::new();
    for found in &found {
        *followers.entry(found.name().to_owned()).or_default() += 1;
    }
    let mut holders = BTreeMap::<String, Place>::new();
    let mut candidates = Vec::new();
    for found in found {
        let name = found.name();
        let enabled = found.manifest.is_enabled();
        let followers = followers.get_mut(name).expect("every name was counted");
        *followers -= 1;
        let verdict = if let Some(by) = holders.get(name) {
            Verdict::Shadowed { by: by.clone() }
        } else if found.scope == Scope::Project
            // A disabled one that nobody follows does nothing, agreed to or not.
            && (enabled || *followers > 0)
            && let Some(untrusted) = trust.distrust(&found.dir)
        {
            Verdict::Untrusted(untrusted)
        } else {
            holders.insert(name.to_owned(), found.place());
            if enabled {
                Verdict::Start
            } else {
                Verdict::Disabled
            }
        };
        candidates.push(Candidate { found, verdict });
    }
    for candidate in &mut candidates {
        if let Verdict::Untrusted(untrusted) = &mut candidate.verdict {
            untrusted.instead = holders.get(candidate.found.name()).cloned();
        }
    }
    candidates
}

/// The extension that `--ext` names.
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
    load(Scope::Explicit, dir).map_err(|reason| refuse(&dir.join(MANIFEST), reason))
}

/// The extensions in a directory of directories, in load order.
fn scan(scope: Scope, extensions: &Path, discovery: &mut Discovery) -> Vec<Found> {
    let mut refuse = |path: &Path, reason| {
        discovery.refused.push(Refused {
            scope,
            path: path.to_owned(),
            reason,
        });
    };
    let mut found = Vec::new();
    for name in names(extensions, |error| refuse(extensions, error.into())) {
        let dir = extensions.join(&name);
        match fs::metadata(&dir) {
            Ok(metadata) if !metadata.is_dir() => continue,
            Ok(_) => {}
            Err(error) => {
                refuse(&dir, error.into());
                continue;
            }
        }
        let manifest = dir.join(MANIFEST);
        match load(scope, &dir) {
            Ok(extension) => found.push(extension),
            // A symlink to nothing is something that somebody meant to be there.
            Err(FindError::Missing) if !manifest.is_symlink() => {
                discovery.without_manifest.push(dir);
            }
            Err(reason) => refuse(&manifest, reason),
        }
    }
    // Stable, and the directories came by name.
    found.sort_by(|a, b| a.name().cmp(b.name()));
    found
}

/// What is in a directory, by the bytes of the names, without what begins with a dot: half-done installations and the
/// like. A directory that is not there has nothing in it; a symlink to nothing is one that somebody misses.
fn names(dir: &Path, mut failed: impl FnMut(io::Error)) -> Vec<OsString> {
    let mut names = Vec::new();
    match fs::read_dir(dir) {
        Ok(entries) => {
            for entry in entries {
                match entry {
                    Ok(entry) => names.push(entry.file_name()),
                    Err(error) => failed(error),
                }
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound && !dir.is_symlink() => {}
        Err(error) => failed(error),
    }
    names.retain(|name| !name.as_encoded_bytes().starts_with(b"."));
    names.sort_by(|a, b| a.as_encoded_bytes().cmp(b.as_encoded_bytes()));
    names
}

fn load(scope: Scope, dir: &Path) -> Result<Found, FindError> {
    let manifest_path = dir.join(MANIFEST);
    if scope == Scope::Project && manifest_path.is_symlink() {
        return Err(FindError::Symlink);
    }
    let (manifest, unknown_fields) = read_manifest(&manifest_path)?;
    Ok(Found {
        manifest,
        unknown_fields,
        dir: dir.to_owned(),
        manifest_path,
        scope,
    })
}

/// The path from the root on. Symlinks in it stay, since people know their directories by them, unless `..` makes it
/// unclear what they would mean.
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
