//! Suggestions for misspelled words.

/// Returns `; did you mean `x`?` if one of `known` is similar, or an empty string.
pub(super) fn did_you_mean<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    // A long word is unlikely to be a typo, and its edit distance is expensive to compute.
    if written.len() > 40 {
        return String::new();
    }
    let lower = written.to_lowercase();
    let nearest = known
        .into_iter()
        .map(|candidate| {
            let candidate_lower = candidate.to_lowercase();
            (strsim::osa_distance(&lower, &candidate_lower), candidate)
        })
        .min_by_key(|(distance, _)| *distance);
    match nearest {
        Some((distance, candidate)) if distance <= 1.max(candidate.len() / 4) => {
            format!("; did you mean `{candidate}`?")
        }
        _ => String::new(),
    }
}
