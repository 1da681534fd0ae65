//! The result of a search for extensions.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use zot_protocol::Manifest;

use super::{FindError, Untrusted, escape};

/// Where an extension was found, in load order.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Given with `--ext`.
    Explicit,
    /// In `.zot/extensions` of the working directory.
    Project,
    /// In `$ZOT_HOME/extensions`.
    Global,
}

impl fmt::Display for Scope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Explicit => "--ext",
            Self::Project => "project",
            Self::Global => "global",
        })
    }
}

/// An extension with a valid manifest.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Its manifest.
    pub manifest: Manifest,
    /// Unknown fields of the manifest, as JSON pointers, for the extension's log.
    pub unknown_fields: Vec<String>,
    /// Its absolute directory, which is its working directory. A relative `exec` is resolved
    /// against it.
    pub dir: PathBuf,
    /// The path of the manifest.
    pub manifest_path: PathBuf,
    /// Where it was found.
    pub scope: Scope,
}

impl Found {
    /// The name in its manifest.
    pub fn name(&self) -> &str {
        &self.manifest.name
    }

    /// Its scope and directory.
    pub fn place(&self) -> Place {
        Place {
            scope: self.scope,
            dir: self.dir.clone(),
        }
    }
}

/// Identifies one of several extensions with the same name, displayed as `/home/me/x (global)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Where it was found.
    pub scope: Scope,
    /// Its directory.
    pub dir: PathBuf,
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", escape::path(&self.dir), self.scope)
    }
}

/// An extension and whether it starts.
#[derive(Debug)]
pub struct Candidate {
    /// The extension.
    pub found: Found,
    /// Whether it starts.
    pub decision: Decision,
}

/// Whether an extension starts, or why not.
#[derive(Debug)]
pub enum Decision {
    /// It starts.
    Start,
    /// Its manifest sets `enabled: false`. It still shadows later extensions with the same name.
    Disabled,
    /// An earlier extension has the same name.
    Shadowed {
        /// The earlier extension.
        by: Place,
    },
    /// It is project-local and not trusted. It does not start, and does not shadow other
    /// extensions.
    Untrusted(Untrusted),
}

/// A path that could not be loaded as an extension. Displayed as one line with the file, the JSON
/// pointer if there is one, and the reason.
#[derive(Debug, thiserror::Error)]
#[error("`{}`: {reason}", escape::path(path))]
pub struct Refused {
    /// Where it was found.
    pub scope: Scope,
    /// The manifest, the directory if that cannot be read, or the argument of `--ext`.
    pub path: PathBuf,
    /// Why it could not be loaded.
    pub reason: FindError,
}

impl Refused {
    /// The invalid field of the manifest as a JSON pointer; `None` if the error concerns the whole
    /// file.
    pub fn pointer(&self) -> Option<&str> {
        match &self.reason {
            FindError::Invalid(refusal) if !refusal.pointer.is_empty() => Some(&refusal.pointer),
            _ => None,
        }
    }
}

/// The result of a search.
#[derive(Debug, Default)]
pub struct Discovery {
    /// Every extension, in load order.
    pub extensions: Vec<Candidate>,
    /// The paths that could not be loaded, sorted by scope, then in the order given or by name.
    pub refused: Vec<Refused>,
    /// Directories without a manifest in an extensions folder.
    pub without_manifest: Vec<PathBuf>,
}

impl Discovery {
    pub(super) fn refuse(&mut self, scope: Scope, path: &Path, reason: FindError) {
        self.refused.push(Refused {
            scope,
            path: path.to_owned(),
            reason,
        });
    }

    /// The extensions to start, in load order.
    pub fn to_start(&self) -> impl Iterator<Item = &Found> {
        self.with(|decision| matches!(decision, Decision::Start).then_some(()))
            .map(|(found, ())| found)
    }

    /// The extensions that are disabled in their manifests.
    pub fn disabled(&self) -> impl Iterator<Item = &Found> {
        self.with(|decision| matches!(decision, Decision::Disabled).then_some(()))
            .map(|(found, ())| found)
    }

    /// The shadowed extensions, and the one that shadows each.
    pub fn shadowed(&self) -> impl Iterator<Item = (&Found, &Place)> {
        self.with(|decision| match decision {
            Decision::Shadowed { by } => Some(by),
            _ => None,
        })
    }

    /// The untrusted project-local extensions, and why each is not trusted.
    pub fn untrusted(&self) -> impl Iterator<Item = (&Found, &Untrusted)> {
        self.with(|decision| match decision {
            Decision::Untrusted(untrusted) => Some(untrusted),
            _ => None,
        })
    }

    fn with<'d, T>(
        &'d self,
        select: impl Fn(&'d Decision) -> Option<T>,
    ) -> impl Iterator<Item = (&'d Found, T)> {
        self.extensions
            .iter()
            .filter_map(move |candidate| Some((&candidate.found, select(&candidate.decision)?)))
    }
}
