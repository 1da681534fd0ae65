//! Shell completion of extension names.

use std::{collections::BTreeMap, env, ffi::OsStr};

use clap_complete::{CompletionCandidate, PathCompleter, engine::ValueCompleter};
use zot_host::{
    extension::discover::{Search, TrustProject, discover},
    home::Home,
};

use crate::logs;

/// Completes the names of installed extensions, with their descriptions.
pub(super) fn installed(current: &OsStr) -> Vec<CompletionCandidate> {
    let (Ok(home), Ok(cwd)) = (Home::from_env(), env::current_dir()) else {
        return Vec::new();
    };
    let found = discover(&Search {
        home,
        cwd,
        explicit: Vec::new(),
        no_ext: false,
        // Nothing is started here, so skip the digests that a trust check would compute.
        trust: TrustProject::All,
    });
    let mut names = BTreeMap::new();
    for candidate in found.extensions {
        let manifest = candidate.found.manifest;
        names.entry(manifest.name).or_insert(manifest.description);
    }
    // If the manifest is invalid or missing, use the directory's name.
    let dirs = found
        .refused
        .iter()
        .filter_map(|refused| refused.path.parent());
    for dir in dirs.chain(found.without_manifest.iter().map(|dir| &**dir)) {
        if let Some(name) = dir.file_name().and_then(OsStr::to_str) {
            names.entry(name.to_owned()).or_insert(None);
        }
    }
    let current = current.to_string_lossy();
    names
        .into_iter()
        .filter(|(name, _)| name.starts_with(&*current))
        .map(|(name, description)| {
            let description = description.map(|text| text.escape_debug().to_string().into());
            CompletionCandidate::new(name).help(description)
        })
        .collect()
}

/// Completes the names of installed extensions, then directories.
pub(super) fn installed_or_directory(current: &OsStr) -> Vec<CompletionCandidate> {
    let mut candidates = installed(current);
    candidates.extend(PathCompleter::dir().complete(current));
    candidates
}

/// Completes the names of installed extensions and of removed ones that still have a log.
pub(super) fn logged(current: &OsStr) -> Vec<CompletionCandidate> {
    let mut candidates = installed(current);
    let Ok(home) = Home::from_env() else {
        return candidates;
    };
    let prefix = current.to_string_lossy();
    for name in logs::find::names(&home) {
        let known = |it: &CompletionCandidate| it.get_value() == OsStr::new(&name);
        if name.starts_with(&*prefix) && !candidates.iter().any(known) {
            candidates
                .push(CompletionCandidate::new(name).help(Some("no longer installed".into())));
        }
    }
    candidates
}
