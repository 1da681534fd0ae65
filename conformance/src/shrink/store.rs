//! Stores failures so that they can be replayed by id.

use std::fs;

use sha2::{Digest, Sha256};

use super::case::Case;
use crate::{
    check::Plan,
    transcript::{SUFFIX, save},
    verdict::Finding,
};

/// Stores a case as a transcript and returns its id, which is the same for the same failure of the
/// same extension. Returns `None` if it cannot be stored, or if the extension has no directory,
/// which a replay needs.
pub(super) fn save_case(
    plan: &Plan,
    check: &str,
    finding: &Finding,
    case: &Case,
) -> Option<String> {
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
