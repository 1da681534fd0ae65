//! Failures that are kept, so that they can be repeated by name.

use std::fs;

use sha2::{Digest, Sha256};

use super::case::Case;
use crate::{
    check::Plan,
    transcript::{SUFFIX, save},
    verdict::Finding,
};

/// Keeps a case as a transcript, and gives its id: the same failure of the same extension has the same. `None` where
/// there is no room for it, or no directory by which the extension could be found again.
pub(super) fn keep(plan: &Plan, check: &str, finding: &Finding, case: &Case) -> Option<String> {
    let store = plan.store.as_ref()?;
    plan.target.manifest.as_ref()?;
    let mut transcript = case.transcript(case.limit);
    transcript.head.extension = Some(plan.target.dir.to_str()?.to_owned());
    let digest = Sha256::digest(transcript.to_text().as_bytes());
    let id = format!(
        "{}-{:02x}{:02x}{:02x}",
        check.to_lowercase(),
        digest[0],
        digest[1],
        digest[2]
    );
    let what = finding.what.lines().next().unwrap_or_default();
    transcript.head.about = Some(format!("{check}: {what}"));
    fs::create_dir_all(store).ok()?;
    save(&store.join(format!("{id}{SUFFIX}")), &transcript.to_text()).ok()?;
    Some(id)
}
