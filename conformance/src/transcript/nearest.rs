//! Suggestions for misspelled words.

/// Returns `; did you mean `x`?` if one of `known` is similar, or an empty string.
pub(super) fn did_you_mean<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    // A long word is unlikely to be a typo, and the edit distance is expensive for it.
    if written.len() > 40 {
        return String::new();
    }
    let nearest = known
        .into_iter()
        .map(|candidate| (distance(written, candidate), candidate))
        .min_by_key(|(distance, _)| *distance);
    match nearest {
        Some((distance, candidate)) if distance <= 1.max(candidate.len() / 4) => {
            format!("; did you mean `{candidate}`?")
        }
        _ => String::new(),
    }
}

/// Returns the edit distance, with transpositions and ignoring case.
fn distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.to_lowercase().chars().collect();
    let right: Vec<char> = right.to_lowercase().chars().collect();
    let mut rows: Vec<Vec<usize>> = vec![(0..=right.len()).collect()];
    for (row, letter) in left.iter().enumerate() {
        let above = &rows[row];
        let mut current = vec![row + 1];
        for (column, other) in right.iter().enumerate() {
            let changed = above[column] + usize::from(letter != other);
            let mut least = changed.min(current[column] + 1).min(above[column + 1] + 1);
            let is_swap =
                row > 0 && column > 0 && left[row - 1] == *other && right[column - 1] == *letter;
            if is_swap {
                least = least.min(rows[row - 1][column - 1] + 1);
            }
            current.push(least);
        }
        rows.push(current);
    }
    rows[left.len()][right.len()]
}
