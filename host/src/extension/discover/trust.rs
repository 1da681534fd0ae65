//! Decides whether the user trusts a project-local extension.

use std::{collections::BTreeMap, fmt, fs, io, path::Path};

use zot_protocol::Trust;

use super::{DigestBudget, DigestError, Place, digest_within};

/// Which project-local extensions may start.
#[derive(Debug, Clone)]
pub enum TrustProject {
    /// All of them (`--trust-project`).
    All,
    /// Only the ones that the user trusts. Contains the user's answers by canonical path, as in
    /// [`zot_protocol::Config::trusted`].
    Remembered(BTreeMap<String, Trust>),
}

/// A project-local extension that the user does not trust.
#[derive(Debug)]
pub struct Untrusted {
    /// Why it is not trusted.
    pub why: UntrustedReason,
    /// What the user would trust; `None` if the decision could not be stored.
    pub subject: Option<TrustSubject>,
    /// The extension of the same name that starts instead. Trusting this one would shadow it.
    pub instead: Option<Place>,
}

/// What a trust decision applies to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustSubject {
    /// The canonical path of the directory.
    pub dir: String,
    /// The directory's digest.
    pub digest: String,
}

/// Why a project-local extension is not trusted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UntrustedReason {
    /// The user was never asked.
    #[error("not trusted yet")]
    Unasked,
    /// Its directory has changed since the user decided.
    #[error("changed since you were last asked")]
    Changed,
    /// The user declined to trust it.
    #[error("you declined to trust it")]
    Denied,
    /// Its directory cannot be hashed, so the decision cannot be stored.
    #[error("cannot hash its directory: {0}")]
    Digest(DigestError),
    /// The name of its directory cannot be stored in the configuration.
    #[error("its directory's name is not UTF-8")]
    NotUtf8,
}

impl Untrusted {
    /// Returns the user's decision as an entry of [`zot_protocol::Config::trusted`]. It applies to
    /// what the user was shown: if the directory changes before the user answers, the user is asked
    /// again.
    pub fn answer(&self, allowed: bool) -> Option<(String, Trust)> {
        let subject = self.subject.as_ref()?;
        Some((
            subject.dir.clone(),
            Trust::new(subject.digest.clone(), allowed),
        ))
    }

    fn new(why: UntrustedReason, subject: Option<TrustSubject>) -> Self {
        Self {
            why,
            subject,
            instead: None,
        }
    }
}

/// Displayed as `not trusted yet; /home/me/zot/extensions/guard (global) is used instead`.
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
    pub(super) fn untrusted_reason(
        &self,
        dir: &Path,
        budget: &mut DigestBudget,
    ) -> Option<Untrusted> {
        let Self::Remembered(answers) = self else {
            return None;
        };
        let subject = match trust_subject(dir, budget) {
            Ok(subject) => subject,
            Err(why) => return Some(Untrusted::new(why, None)),
        };
        let why = match answers.get(&subject.dir) {
            None => UntrustedReason::Unasked,
            Some(answer) if answer.digest != subject.digest => UntrustedReason::Changed,
            Some(answer) if !answer.allowed => UntrustedReason::Denied,
            Some(_) => return None,
        };
        Some(Untrusted::new(why, Some(subject)))
    }
}

fn trust_subject(dir: &Path, budget: &mut DigestBudget) -> Result<TrustSubject, UntrustedReason> {
    let digest = digest_within(dir, budget).map_err(UntrustedReason::Digest)?;
    let io = |source: io::Error| {
        UntrustedReason::Digest(DigestError::Io {
            path: dir.to_owned(),
            source,
        })
    };
    let dir = fs::canonicalize(dir).map_err(io)?;
    Ok(TrustSubject {
        dir: dir
            .into_os_string()
            .into_string()
            .map_err(|_| UntrustedReason::NotUtf8)?,
        digest,
    })
}
