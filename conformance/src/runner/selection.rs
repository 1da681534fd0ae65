//! Selects checks by id and level.

use crate::verdict::Level;

/// Which checks are run and reported.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Globs of ids to select; empty selects all.
    pub only: Vec<String>,
    /// Globs of ids to exclude.
    pub skip: Vec<String>,
    /// The lowest level to select; `None` selects all.
    pub level: Option<Level>,
}

impl Selection {
    /// Whether this id and level are selected.
    pub fn has(&self, id: &str, level: Level) -> bool {
        let any = |globs: &[String]| globs.iter().any(|glob| matches_glob(glob, id));
        (self.only.is_empty() || any(&self.only))
            && !any(&self.skip)
            && self.level.is_none_or(|lowest| level >= lowest)
    }
}

/// Matches `*` and `?`, ignoring case.
fn matches_glob(glob: &str, text: &str) -> bool {
    fn from(glob: &[u8], text: &[u8]) -> bool {
        match (glob.split_first(), text.split_first()) {
            (None, None) => true,
            (Some((b'*', rest)), _) => (0..=text.len()).any(|skip| from(rest, &text[skip..])),
            (Some((b'?', glob)), Some((_, text))) => from(glob, text),
            (Some((a, glob)), Some((b, text))) => a.eq_ignore_ascii_case(b) && from(glob, text),
            _ => false,
        }
    }
    from(glob.as_bytes(), text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_ids() {
        for (glob, text, is) in [
            ("TOL-01", "TOL-01", true),
            ("tol-*", "TOL-01", true),
            ("*-01", "TOL-01", true),
            ("TOL-0?", "TOL-01", true),
            ("TOL", "TOL-01", false),
            ("*", "", true),
            ("transcript/*", "transcript/rain", true),
        ] {
            assert_eq!(matches_glob(glob, text), is, "{glob} {text}");
        }
    }
}
