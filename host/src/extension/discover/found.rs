//! What a search found, and what is to become of each.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use zot_protocol::Manifest;

use super::{FindError, Untrusted, shown};

/// Where an extension was found, in load order.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Named by the user, with `--ext`.
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

/// An extension with a manifest that holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// How it is started and what it asks for.
    pub manifest: Manifest,
    /// The manifest's fields that this version does not know, as JSON pointers, for the extension's log.
    pub unknown_fields: Vec<String>,
    /// Its directory, absolute: its working directory, and where a relative `exec` starts.
    pub dir: PathBuf,
    /// The manifest's file.
    pub manifest_path: PathBuf,
    /// Where it was found.
    pub scope: Scope,
}

impl Found {
    /// Its name, by which it is known everywhere.
    pub fn name(&self) -> &str {
        &self.manifest.name
    }

    /// Where it is.
    pub fn place(&self) -> Place {
        Place {
            scope: self.scope,
            dir: self.dir.clone(),
        }
    }
}

/// Which one of several extensions of a name: `/home/me/x (global)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Where it was found.
    pub scope: Scope,
    /// Its directory.
    pub dir: PathBuf,
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", shown::path(&self.dir), self.scope)
    }
}

/// An extension and what is to become of it.
#[derive(Debug)]
pub struct Candidate {
    /// The extension.
    pub found: Found,
    /// What is to become of it.
    pub verdict: Verdict,
}

/// What is to become of an extension.
#[derive(Debug)]
pub enum Verdict {
    /// It is started.
    Start,
    /// Its manifest says `enabled: false`. It has its name all the same, and shadows the later ones.
    Disabled,
    /// An earlier one has its name.
    Shadowed {
        /// The one that has it.
        by: Place,
    },
    /// It came with the project, and the user has not agreed to it. It neither starts nor takes its name from
    /// another.
    Untrusted(Untrusted),
}

/// Something that was found and is not an extension. Displayed, it is a line with the file, the JSON pointer where
/// there is one, and the reason.
#[derive(Debug, thiserror::Error)]
#[error("`{}`: {reason}", shown::path(path))]
pub struct Refused {
    /// Where it was found.
    pub scope: Scope,
    /// The manifest, or the directory where that cannot be read, or what `--ext` was given.
    pub path: PathBuf,
    /// Why not.
    pub reason: FindError,
}

impl Refused {
    /// Where in the manifest, as a JSON pointer; `None` where it is the file as a whole.
    pub fn pointer(&self) -> Option<&str> {
        match &self.reason {
            FindError::Invalid(refusal) if !refusal.pointer.is_empty() => Some(&refusal.pointer),
            _ => None,
        }
    }
}

/// What a search found.
#[derive(Debug, Default)]
pub struct Discovery {
    /// Every extension, in load order.
    pub extensions: Vec<Candidate>,
    /// What should have been an extension and is none: by scope as the extensions are, then as given or by name.
    pub refused: Vec<Refused>,
    /// Directories among the extensions that have no manifest.
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

    /// Those to start, in load order.
    pub fn to_start(&self) -> impl Iterator<Item = &Found> {
        self.with(|verdict| matches!(verdict, Verdict::Start).then_some(()))
            .map(|(found, ())| found)
    }

    /// Those that their manifests disable.
    pub fn disabled(&self) -> impl Iterator<Item = &Found> {
        self.with(|verdict| matches!(verdict, Verdict::Disabled).then_some(()))
            .map(|(found, ())| found)
    }

    /// Those whose names others have, and which.
    pub fn shadowed(&self) -> impl Iterator<Item = (&Found, &Place)> {
        self.with(|verdict| match verdict {
            Verdict::Shadowed { by } => Some(by),
            _ => None,
        })
    }

    /// Those that the user has not agreed to, and why.
    pub fn untrusted(&self) -> impl Iterator<Item = (&Found, &Untrusted)> {
        self.with(|verdict| match verdict {
            Verdict::Untrusted(untrusted) => Some(untrusted),
            _ => None,
        })
    }

    fn with<'d, T>(
        &'d self,
        select: impl Fn(&'d Verdict) -> Option<T>,
    ) -> impl Iterator<Item = (&'d Found, T)> {
        self.extensions
            .iter()
            .filter_map(move |candidate| Some((&candidate.found, select(&candidate.verdict)?)))
    }
}
