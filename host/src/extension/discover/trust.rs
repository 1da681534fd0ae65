//! Decides whether the user trusts a project-local extension.

use std::{collections::BTreeMap, fmt, fs, io, path::Path};

use zot_protocol::Trust;

use super::{DigestBudget, DigestError, Place, digest_within};

/// Which project-local extensions may start.
#[derive(Debug, Clone)]
pub enum TrustProject {
    /// All of them (`--trust-project`).
    All,
    /// Those that the user trusts, by canonical directory, as in [`zot_protocol::Config::trusted`].
    Remembered(BTreeMap<String, Trust>),
}

/// A project-local extension that the user does not trust.
#[derive(Debug)]
pub struct Untrusted {
    /// Why it is not trusted.
    pub why: Distrust,
    /// What the user would trust; `None` if that cannot be stored.
    pub seen: Option<Seen>,
    /// The extension of the same name that starts instead. Trusting this one would shadow it.
    pub instead: Option<Place>,
}

/// What a trust decision applies to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The canonical directory.
    pub dir: String,
    /// The directory's digest.
    pub digest: String,
}

/// Why a project-local extension is not trusted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Distrust {
    /// The user was never asked.
    #[error("not trusted yet")]
    Unasked,
    /// Its directory has changed since the user decided.
    #[error("changed since you were last asked")]
    Changed,
    /// The user said no.
    #[error("you declined to trust it")]
    Denied,
    /// Its directory cannot be digested, so the decision cannot be stored.
    #[error("cannot digest its directory: {0}")]
    Digest(DigestError),
    /// The name of its directory cannot be stored in the configuration.
    #[error("its directory's name is not UTF-8")]
    NotUtf8,
}

impl Untrusted {
    /// Returns the user's decision as an entry of [`zot_protocol::Config::trusted`]. It applies to
    /// what the user was shown: if that changes before the answer, the user is asked again.
    pub fn answer(&self, allowed: bool) -> Option<(String, Trust)> {
        let seen = self.seen.as_ref()?;
        Some((seen.dir.clone(), Trust::new(seen.digest.clone(), allowed)))
    }

    fn new(why: Distrust, seen: Option<Seen>) -> Self {
        Self {
            why,
            seen,
            instead: None,
        }
    }
}

/// `not trusted yet; /home/me/.local/state/zot/extensions/guard (global) is used instead`
impl fmt::Display for Untrusted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.why)?;
        match &self.instead {
            Some(place) => write!(formatter, "; {place} is used instead"),
            None => Ok(()),
        }
    }
}

impl TrustProject {
    /// Returns why the extension in `dir` is not trusted, or `None` if it is.
    pub(super) fn distrust(&self, dir: &Path, budget: &mut DigestBudget) -> Option<Untrusted> {
        let Self::Remembered(answers) = self else {
            return None;
        };
        let seen = match see(dir, budget) {
            Ok(seen) => seen,
            Err(why) => return Some(Untrusted::new(why, None)),
        };
        let why = match answers.get(&seen.dir) {
            None => Distrust::Unasked,
            Some(answer) if answer.digest != seen.digest => Distrust::Changed,
            Some(answer) if !answer.allowed => Distrust::Denied,
            Some(_) => return None,
        };
        Some(Untrusted::new(why, Some(seen)))
    }
}

fn see(dir: &Path, budget: &mut DigestBudget) -> Result<Seen, Distrust> {
    let digest = digest_within(dir, budget).map_err(Distrust::Digest)?;
    let io = |source: io::Error| {
        Distrust::Digest(DigestError::Io {
            path: dir.to_owned(),
            source,
        })
    };
    let dir = fs::canonicalize(dir).map_err(io)?;
    Ok(Seen {
        dir: dir
            .into_os_string()
            .into_string()
            .map_err(|_| Distrust::NotUtf8)?,
        digest,
    })
}
