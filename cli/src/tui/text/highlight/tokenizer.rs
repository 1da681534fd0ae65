//! Tokenizes code line by line.

use std::ops::Range;

use ratatui::style::Style;

use super::languages::{self, Language, NameStyle, lists};
use crate::tui::theme::Theme;

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Plain,
    Comment,
    Text,
    Number,
    Keyword,
    Function,
    Kind,
    Added,
    Removed,
}

impl TokenKind {
    pub(super) fn style(self, theme: &Theme) -> Style {
        match self {
            Self::Plain => theme.text,
            Self::Comment => theme.syntax.comment,
            Self::Text => theme.syntax.string,
            Self::Number => theme.syntax.number,
            Self::Keyword => theme.syntax.keyword,
            Self::Function => theme.syntax.function,
            Self::Kind => theme.syntax.kind,
            Self::Added => theme.added,
            Self::Removed => theme.removed,
        }
    }
}

/// A tokenizer for one language, and the construct that is still open after the previous line.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tokenizer {
    language: Option<&'static Language>,
    within: Within,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Within {
    #[default]
    Code,
    Comment,
    /// In a string. The value is an index into the language's quotes.
    Quote(usize),
    Tag,
}

impl Tokenizer {
    /// Creates a tokenizer by language name. Code in an unknown language is not highlighted.
    pub(crate) fn of(language: &str) -> Self {
        Self {
            language: languages::find(language),
            within: Within::Code,
        }
    }

    /// Returns the tokens of the next line, in order and without gaps.
    pub(crate) fn line(&mut self, line: &str) -> Vec<(Range<usize>, TokenKind)> {
        let Some(language) = self.language else {
            return vec![(0..line.len(), TokenKind::Plain)];
        };
        if language.name_style == NameStyle::Diff {
            return vec![(0..line.len(), part_of_diff(line))];
        }
        let mut scan = Scan {
            language,
            line,
            at: 0,
            parts: Vec::new(),
            is_key_due: true,
        };
        while scan.at < line.len() {
            self.within = match self.within {
                Within::Code => scan.code(),
                Within::Comment => scan.comment(),
                Within::Quote(number) => scan.quote(number),
                Within::Tag => scan.tag(),
            };
        }
        if let Within::Quote(number) = self.within
            && !language.quotes[number].lines
        {
            self.within = Within::Code;
        }
        scan.parts
    }
}

fn part_of_diff(line: &str) -> TokenKind {
    match line.as_bytes() {
        [b'+', ..] => TokenKind::Added,
        [b'-', ..] => TokenKind::Removed,
        [b'@', b'@', ..] => TokenKind::Comment,
        _ => TokenKind::Plain,
    }
}

/// The tokenizer's position in one line.
struct Scan<'l> {
    language: &'static Language,
    line: &'l str,
    at: usize,
    parts: Vec<(Range<usize>, TokenKind)>,
    /// Whether the line contains only spaces and dashes so far, so that a key can follow.
    is_key_due: bool,
}

impl<'l> Scan<'l> {
    fn rest(&self) -> &'l str {
        &self.line[self.at..]
    }

    /// Consumes a number of bytes as a token of this kind.
    fn take(&mut self, bytes: usize, part: TokenKind) {
        let end = self.at + bytes;
        match self.parts.last_mut() {
            Some((range, last)) if *last == part => range.end = end,
            _ => self.parts.push((self.at..end, part)),
        }
        self.at = end;
    }

    fn take_all(&mut self, part: TokenKind) {
        self.take(self.rest().len(), part);
    }

    /// Consumes characters while the predicate is true.
    fn take_while(&mut self, part: TokenKind, is_so: impl Fn(char) -> bool) {
        let rest = self.rest();
        self.take(rest.find(|char| !is_so(char)).unwrap_or(rest.len()), part);
    }

    /// Consumes one token: a comment, string, number, word or punctuation.
    fn code(&mut self) -> Within {
        let language = self.language;
        let rest = self.rest();
        if language.name_style == NameStyle::Markup {
            return self.between_tags();
        }
        if rest.starts_with(' ') {
            self.take_while(TokenKind::Plain, |it| it == ' ');
            return Within::Code;
        }
        if let Some((open, _)) = language.block
            && rest.starts_with(open)
        {
            self.take(open.len(), TokenKind::Comment);
            return Within::Comment;
        }
        if language.comment.iter().any(|it| rest.starts_with(it)) && self.may_begin_comment() {
            self.take_all(TokenKind::Comment);
            return Within::Code;
        }
        if let Some(number) = self.quote_here() {
            let part = if self.is_key_after_quote(number) {
                TokenKind::Function
            } else {
                TokenKind::Text
            };
            self.is_key_due = false;
            self.take(language.quotes[number].open.len(), part);
            return Within::Quote(number);
        }
        let Some(first) = rest.chars().next() else {
            return Within::Code;
        };
        if first.is_ascii_digit() {
            self.take_number();
        } else if first.is_alphabetic() || first == '_' {
            self.take_word();
        } else if first == '$' && language.name_style == NameStyle::Shell {
            self.take(1, TokenKind::Kind);
            self.take_while(TokenKind::Kind, |it| {
                it.is_alphanumeric() || "_{}".contains(it)
            });
        } else if first == '\'' && language.name_style == NameStyle::Rust {
            self.take_character_or_lifetime();
        } else if first == '[' && language.name_style == NameStyle::Equals && self.is_key_due {
            self.take_all(TokenKind::Kind);
        } else {
            self.is_key_due &= first == '-';
            self.take(first.len_utf8(), TokenKind::Plain);
            return Within::Code;
        }
        self.is_key_due = false;
        Within::Code
    }

    /// Reports whether a comment can start here. None starts within `${x#y}` or `http://a#b`.
    fn may_begin_comment(&self) -> bool {
        let spaced = matches!(
            self.language.name_style,
            NameStyle::Shell | NameStyle::Colon | NameStyle::Equals
        );
        let slashes = self.rest().starts_with("//");
        let before = self.line[..self.at].chars().next_back();
        if slashes {
            return before != Some(':');
        }
        !spaced || before.is_none_or(char::is_whitespace)
    }

    fn quote_here(&self) -> Option<usize> {
        let rest = self.rest();
        let before = self.line[..self.at].chars().next_back();
        let number = self
            .language
            .quotes
            .iter()
            .position(|it| rest.starts_with(it.open))?;
        let quote = &self.language.quotes[number];
        // A string prefix must start a word, and an apostrophe within a word is not a quote.
        let glued = before.is_some_and(|it| it.is_alphanumeric() || it == '_');
        let begins_as_word = quote.open.starts_with(char::is_alphabetic);
        let apostrophe = quote.open == "'" && self.language.name_style != NameStyle::Program;
        (!glued || !(begins_as_word || apostrophe)).then_some(number)
    }

    /// Reports whether the string is a key, as in `"key": …`.
    fn is_key_after_quote(&self, number: usize) -> bool {
        if self.language.name_style != NameStyle::Colon {
            return false;
        }
        let quote = &self.language.quotes[number];
        let text = &self.rest()[quote.open.len()..];
        text.find(quote.close).is_some_and(|end| {
            text[end + quote.close.len()..]
                .trim_start()
                .starts_with(':')
        })
    }

    fn take_number(&mut self) {
        let rest = self.rest();
        let end = rest
            .char_indices()
            .find(|(at, char)| {
                let point =
                    *char == '.' && rest[at + 1..].starts_with(|next: char| next.is_ascii_digit());
                !(char.is_ascii_alphanumeric() || *char == '_' || *char == '%' || point)
            })
            .map_or(rest.len(), |(at, _)| at);
        self.take(end, TokenKind::Number);
    }

    fn take_word(&mut self) {
        let dashes = matches!(
            self.language.name_style,
            NameStyle::Colon | NameStyle::Equals | NameStyle::Shell
        );
        let rest = self.rest();
        let end = rest
            .find(|it: char| !(it.is_alphanumeric() || it == '_' || dashes && it == '-'))
            .unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        self.take(end, self.part_of(word, after));
    }

    fn part_of(&self, word: &str, after: &str) -> TokenKind {
        let language = self.language;
        let next = after.trim_start_matches(' ');
        let is_key = match language.name_style {
            NameStyle::Colon => {
                next.starts_with(':') && !next.starts_with("::") && !after.starts_with("://")
            }
            NameStyle::Equals => self.is_key_due && next.starts_with(['=', '.']),
            _ => false,
        };
        if is_key {
            return TokenKind::Function;
        }
        let lower;
        let listed = if language.name_style == NameStyle::Sql {
            lower = word.to_ascii_lowercase();
            lower.as_str()
        } else {
            word
        };
        if lists(language.keywords, listed) {
            return TokenKind::Keyword;
        }
        if lists(language.kinds, listed) {
            return TokenKind::Kind;
        }
        if matches!(language.name_style, NameStyle::Program | NameStyle::Rust) {
            let is_macro = language.name_style == NameStyle::Rust
                && after.starts_with('!')
                && !after.starts_with("!=");
            if after.starts_with('(') && !word.starts_with(char::is_uppercase) || is_macro {
                return TokenKind::Function;
            }
            if word.starts_with(char::is_uppercase) {
                let is_constant = word.len() > 1 && !word.contains(char::is_lowercase);
                return if is_constant {
                    TokenKind::Number
                } else {
                    TokenKind::Kind
                };
            }
        }
        TokenKind::Plain
    }

    fn take_character_or_lifetime(&mut self) {
        let mut chars = self.rest().char_indices().skip(1);
        let escaped = matches!(chars.next(), Some((_, '\\')));
        let end = if escaped {
            let from = 3.min(self.rest().len());
            self.rest()
                .get(from..)
                .and_then(|it| it.find('\''))
                .map(|at| from + at)
        } else {
            chars
                .next()
                .filter(|(_, char)| *char == '\'')
                .map(|(at, _)| at)
        };
        match end {
            Some(end) => self.take(end + 1, TokenKind::Text),
            None => {
                self.take(1, TokenKind::Kind);
                self.take_while(TokenKind::Kind, |it| it.is_alphanumeric() || it == '_');
            }
        }
    }

    fn comment(&mut self) -> Within {
        let close = self.language.block.map_or("", |(_, close)| close);
        match self.rest().find(close) {
            Some(end) => {
                self.take(end + close.len(), TokenKind::Comment);
                Within::Code
            }
            None => {
                self.take_all(TokenKind::Comment);
                Within::Comment
            }
        }
    }

    fn quote(&mut self, number: usize) -> Within {
        let quote = &self.language.quotes[number];
        // Colour a quoted key as a key up to its closing quote.
        let part = match self.parts.last() {
            Some((range, TokenKind::Function)) if range.end == self.at => TokenKind::Function,
            _ => TokenKind::Text,
        };
        let rest = self.rest();
        let mut at = 0;
        while at < rest.len() {
            if quote.escapes && rest[at..].starts_with('\\') {
                let escaped = rest[at + 1..].chars().next().map_or(0, char::len_utf8);
                at += 1 + escaped;
            } else if rest[at..].starts_with(quote.close) {
                self.take(at + quote.close.len(), part);
                let tag = self.language.name_style == NameStyle::Markup;
                return if tag { Within::Tag } else { Within::Code };
            } else {
                at += rest[at..].chars().next().map_or(1, char::len_utf8);
            }
        }
        self.take_all(part);
        Within::Quote(number)
    }

    fn between_tags(&mut self) -> Within {
        let rest = self.rest();
        if let Some((open, _)) = self.language.block
            && rest.starts_with(open)
        {
            self.take(open.len(), TokenKind::Comment);
            return Within::Comment;
        }
        if let Some(name) = rest.strip_prefix('<')
            && name.starts_with(|it: char| it.is_alphabetic() || "/!?".contains(it))
        {
            let first = name.chars().next().map_or(0, char::len_utf8);
            self.take(1 + first, TokenKind::Keyword);
            self.take_while(TokenKind::Keyword, |it| {
                it.is_alphanumeric() || "-:_.".contains(it)
            });
            return Within::Tag;
        }
        let first = rest.chars().next().map_or(1, char::len_utf8);
        self.take(first, TokenKind::Plain);
        self.take_while(TokenKind::Plain, |it| it != '<');
        Within::Code
    }

    fn tag(&mut self) -> Within {
        let rest = self.rest();
        if rest.starts_with('>') {
            self.take(1, TokenKind::Keyword);
            return Within::Code;
        }
        if let Some(number) = self
            .language
            .quotes
            .iter()
            .position(|it| rest.starts_with(it.open))
        {
            self.take(1, TokenKind::Text);
            return Within::Quote(number);
        }
        let first = rest.chars().next().unwrap_or(' ');
        if first.is_alphabetic() {
            self.take_while(TokenKind::Function, |it| {
                it.is_alphanumeric() || "-:_.@".contains(it)
            });
        } else {
            let part = if first == '/' {
                TokenKind::Keyword
            } else {
                TokenKind::Plain
            };
            self.take(first.len_utf8(), part);
        }
        Within::Tag
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the tokens that are not plain, each with the initial of its kind.
    fn parts(language: &str, source: &str) -> String {
        let mut tokenizer = Tokenizer::of(language);
        let mut seen = Vec::new();
        for line in source.lines() {
            for (range, part) in tokenizer.line(line) {
                if part != TokenKind::Plain {
                    let letter = &format!("{part:?}")[..1];
                    seen.push(format!("{letter}:{}", line[range].trim()));
                }
            }
        }
        seen.join(" ")
    }

    #[test]
    fn languages_are_tokenized() {
        for (language, source, expected) in [
            (
                "rust",
                "let c: &'a str = \"a \\\" b\"; // x",
                "K:let K:'a K:str T:\"a \\\" b\" C:// x",
            ),
            (
                "rust",
                "r#\"a\nb\"# + 'x' + '\\'' + 0x1f_u8",
                "T:r#\"a T:b\"# T:'x' T:'\\'' N:0x1f_u8",
            ),
            (
                "rust",
                "println!(MAX, Vec::new()) /* a\nb */ 1..2",
                "F:println N:MAX K:Vec F:new C:/* a C:b */ N:1 N:2",
            ),
            (
                "py",
                "def f(x): \"\"\"doc\n'more'\"\"\" # c",
                "K:def F:f T:\"\"\"doc T:'more'\"\"\" C:# c",
            ),
            (
                "ts",
                "const a = `x\n${y}` as Foo",
                "K:const T:`x T:${y}` K:as K:Foo",
            ),
            (
                "sh",
                "echo \"$A\" $HOME/${B} # c a#b",
                "K:echo T:\"$A\" K:$HOME K:${B} C:# c a#b",
            ),
            ("sh", "curl http://x#y don't", ""),
            (
                "json",
                "{\"a b\": [1, \"c\", true]}",
                "F:\"a b\" N:1 T:\"c\" K:true",
            ),
            (
                "yaml",
                "- name: it's # c\n  url: http://a",
                "F:name C:# c F:url",
            ),
            (
                "toml",
                "[a.b]\nkey = \"v\" # c",
                "K:[a.b] F:key T:\"v\" C:# c",
            ),
            ("sql", "SELECT a FROM t -- c", "K:SELECT K:FROM C:-- c"),
            (
                "html",
                "<a href=\"x\">it's</a><!-- c\nd -->",
                "K:<a F:href T:\"x\" K:> K:</a> C:<!-- c C:d -->",
            ),
            (
                "lua",
                "x = 1 --[[ a\nb ]] -- c",
                "N:1 C:--[[ a C:b ]] C:-- c",
            ),
            ("diff", "@@ 1\n-a\n+b\n c", "C:@@ 1 R:-a A:+b"),
            ("none", "let x = 1", ""),
        ] {
            assert_eq!(parts(language, source), expected, "{language}: {source}");
        }
    }

    #[test]
    fn tokens_have_no_gaps() {
        let source = "fn ü('\\' \"é // 漢 'ß r#\"\n\"# <é 'x <!-- \"\\";
        for language in [
            "rust", "py", "html", "yaml", "toml", "sh", "sql", "css", "go", "php",
        ] {
            let mut tokenizer = Tokenizer::of(language);
            for line in source.lines() {
                let mut at = 0;
                for (range, _) in tokenizer.line(line) {
                    assert_eq!(range.start, at, "{language}");
                    at = range.end;
                }
                assert_eq!(at, line.len(), "{language}");
            }
        }
    }
}
