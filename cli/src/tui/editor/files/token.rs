//! `@…` tokens in the editor's text.

use std::ops::Range;

/// An `@…` token that contains a file name, or the start of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    /// The token's range, including the `@`.
    pub(crate) range: Range<usize>,
    /// The text between the `@` and the cursor.
    pub(crate) query: String,
}

impl Token {
    /// Returns the token at or before the cursor. A token must be at the start of a word, so an
    /// email address is not a token. It ends at the next whitespace, unless it is quoted.
    pub(in crate::tui::editor) fn at(text: &str, cursor: usize) -> Option<Self> {
        let line = text[..cursor].rfind('\n').map_or(0, |end| end + 1);
        let (start, quoted) = Self::start(&text[line..cursor])?;
        let start = line + start;
        let name = start + if quoted { 2 } else { 1 };
        let rest = &text[cursor..];
        let end = match rest.find(|it: char| {
            it == '\n'
                || if quoted {
                    it == '"'
                } else {
                    it.is_whitespace()
                }
        }) {
            Some(at) if quoted && rest[at..].starts_with('"') => cursor + at + 1,
            // Without a closing quote, the token ends at the cursor.
            _ if quoted => cursor,
            Some(at) => cursor + at,
            None => text.len(),
        };
        Some(Self {
            range: start..end,
            query: text.get(name..cursor)?.to_owned(),
        })
    }

    /// Returns the offset where the token starts, and whether its name is quoted.
    fn start(before: &str) -> Option<(usize, bool)> {
        let begins_word = |at: usize| {
            let previous = before[..at].chars().next_back();
            previous.is_none_or(|it| it.is_whitespace() || "([{\"'`".contains(it))
        };
        if let Some(at) = before.rfind("@\"").filter(|at| begins_word(*at))
            && !before[at + 2..].contains('"')
        {
            return Some((at, true));
        }
        let at = before.rfind('@').filter(|at| begins_word(*at))?;
        (!before[at..].contains(char::is_whitespace) && !before[at + 1..].starts_with('"'))
            .then_some((at, false))
    }

    /// Returns the text to insert for a path, quoted if necessary. Adds a space after a file, but
    /// not after a directory.
    pub(in crate::tui::editor) fn for_path(path: &str) -> String {
        let end = if path.ends_with('/') { "" } else { " " };
        if path.contains(char::is_whitespace) {
            let close = if path.ends_with('/') { "" } else { "\"" };
            format!("@\"{path}{close}{end}")
        } else {
            format!("@{path}{end}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the text and the query of the token at the `|`.
    fn token(text: &str) -> Option<(String, String)> {
        let cursor = text.find('|').expect("a `|` marks the cursor");
        let text = text.replace('|', "");
        let token = Token::at(&text, cursor)?;
        Some((text[token.range].to_owned(), token.query))
    }

    #[test]
    fn a_token_starts_and_ends_at_a_word_boundary() {
        for (text, range, query) in [
            ("@|", "@", ""),
            ("see @src/ma|", "@src/ma", "src/ma"),
            ("see @src|/main.rs now", "@src/main.rs", "src"),
            ("(@a|)", "@a)", "a"),
            ("a\n@b|\nc", "@b", "b"),
            ("@\"my fi|", "@\"my fi", "my fi"),
            ("@\"my fi|le\" x", "@\"my file\"", "my fi"),
            ("@漢|字", "@漢字", "漢"),
        ] {
            assert_eq!(
                token(text),
                Some((range.to_owned(), query.to_owned())),
                "{text}"
            );
        }
        for none in ["|", "a|", "me@example|", "@a |", "|@a", "@\"a b\" |"] {
            assert_eq!(token(none), None, "{none}");
        }
    }

    #[test]
    fn a_path_with_spaces_is_quoted() {
        assert_eq!(Token::for_path("a/b.rs"), "@a/b.rs ");
        assert_eq!(Token::for_path("a/"), "@a/");
        assert_eq!(Token::for_path("my file"), "@\"my file\" ");
        assert_eq!(Token::for_path("my dir/"), "@\"my dir/");
    }
}
