//! Suggestions for misspelt names.

/// A longer name is unlikely to be a typo, and its edit distance is expensive to compute.
const LONGEST: usize = 40;

/// Returns the candidate that is so similar to `written` that `written` is probably a typo. Case is
/// ignored.
pub fn nearest<'a>(
    written: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    if written.len() > LONGEST {
        return None;
    }
    let lower = written.to_lowercase();
    let (distance, candidate) = candidates
        .into_iter()
        .map(|candidate| {
            let distance = strsim::osa_distance(&lower, &candidate.to_lowercase());
            (distance, candidate)
        })
        .min_by_key(|(distance, _)| *distance)?;
    // Suggest a name of one or two letters only if just the case is wrong: almost every short name
    // is similar to it.
    let most = match candidate.len() {
        0..3 => 0,
        length => 1.max(length / 4),
    };
    (distance <= most).then_some(candidate)
}
