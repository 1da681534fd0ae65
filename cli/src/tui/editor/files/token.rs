//! An `@…` in what is written.

use std::ops::Range;

/// An `@…` that names a file, or is about to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    /// Its place, the `@` included.
    pub(crate) range: Range<usize>,
    /// What is between the `@` and the cursor.
    pub(crate) query: String,
}

impl Token {
    /// The token that the cursor is in or behind. It begins a word, so that an address of mail is none, and ends with
    /// the next space; in quotes it may hold some.
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
            // Without a closing quote the name ends where the cursor is.
            _ if quoted => cursor,
            Some(at) => cursor + at,
            None => text.len(),
        };
        Some(Self {
            range: start..end,
            query: text.get(name..cursor)?.to_owned(),
        })
    }

    /// Where the token begins, and whether its name is in quotes.
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

    /// What is written for a path: in quotes if it has to be. A space follows a file, nothing a directory.
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

    /// The token at the `|`, as what it replaces and what it asks for.
    fn token(text: &str) -> Option<(String, String)> {
        let cursor = text.find('|').expect("a cursor");
        let text = text.replace('|', "");
        let token = Token::at(&text, cursor)?;
        Some((text[token.range].to_owned(), token.query))
    }

    #[test]
    fn a_token_begins_a_word_and_ends_with_it() {
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
    fn a_path_is_quoted_where_it_must_be() {
        assert_eq!(Token::for_path("a/b.rs"), "@a/b.rs ");
        assert_eq!(Token::for_path("a/"), "@a/");
        assert_eq!(Token::for_path("my file"), "@\"my file\" ");
        assert_eq!(Token::for_path("my dir/"), "@\"my dir/");
    }
}
