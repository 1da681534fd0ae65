//! Whether the user agreed to what came with somebody's repository.

use std::{collections::BTreeMap, fmt, fs, io, path::Path};

use zot_protocol::Trust;

use super::{DigestBudget, DigestError, Place, digest_within};

/// Which project-local extensions may be started.
#[derive(Debug, Clone)]
pub enum TrustProject {
    /// All of them: `--trust-project`.
    All,
    /// Those that the user agreed to, by their canonical directory, as in [`zot_protocol::Config::trusted`].
    Remembered(BTreeMap<String, Trust>),
}

/// A project-local extension that the user has not agreed to.
#[derive(Debug)]
pub struct Untrusted {
    /// Why it is not trusted.
    pub why: Distrust,
    /// What an answer would be about; `None` where none can be remembered.
    pub seen: Option<Seen>,
    /// The one that has the name in its stead; trusting this one would shadow that one.
    pub instead: Option<Place>,
}

/// What an answer is about.
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
    #[error("not agreed to yet")]
    Unasked,
    /// It is not what the answer was about.
    #[error("changed since it was last asked about")]
    Changed,
    /// The user said no.
    #[error("refused when it was asked about")]
    Denied,
    /// What it is cannot be remembered.
    #[error("no digest of its directory: {0}")]
    Digest(DigestError),
    /// Its directory's name cannot be remembered in a configuration.
    #[error("its directory's name is not UTF-8")]
    NotUtf8,
}

impl Untrusted {
    /// The user's answer, to be put into [`zot_protocol::Config::trusted`]. It holds for what was seen: what changed
    /// between the question and the answer is asked about again.
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

/// `not agreed to yet; /home/me/.local/state/zot/extensions/guard (global) has its name instead`
impl fmt::Display for Untrusted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.why)?;
        match &self.instead {
            Some(place) => write!(formatter, "; {place} has its name instead"),
            None => Ok(()),
        }
    }
}

impl TrustProject {
    /// Why the extension in `dir` is not trusted; `None` where it is.
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
