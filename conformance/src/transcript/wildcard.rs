//! The `[..]` wildcard in strings.

/// Matches any text without a line break, as in snapbox and trycmd.
pub(super) const WILDCARD: &str = "[..]";

/// Reports whether `text` matches `pattern`, which may contain wildcards.
///
/// Matching each part at its first occurrence is enough. If a later occurrence matches, the text
/// before it has no line break, so there is none between the two occurrences, and the first one
/// matches too.
pub(super) fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split(WILDCARD);
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        let found = if parts.peek().is_some() {
            rest.find(part)
        } else {
            rest.ends_with(part).then(|| rest.len() - part.len())
        };
        match found {
            Some(at) if !rest[..at].contains('\n') => rest = &rest[at + part.len()..],
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn a_wildcard_matches_anything_on_its_line() {
        for (pattern, text, expected) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("[..]", "", true),
            ("[..]", "a\nb", false),
            ("[..]\n[..]", "a\nb", true),
            ("a[..]c", "abc", true),
            ("a[..]c", "ac", true),
            ("a[..]c", "acx", false),
            ("ab[..]ba", "aba", false),
            ("[..]b[..]c", "abbcbc", true),
            ("[..]x\ny[..]", "ax\nyx\nyb", false),
            ("[..][..]", "ab", true),
            ("…[..]°", "…16 °", true),
        ] {
            assert_eq!(fits(pattern, text), expected, "{pattern:?} {text:?}");
        }
    }
}
