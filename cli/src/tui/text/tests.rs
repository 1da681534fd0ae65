//! Property tests for all text rendering, and helpers for other tests.

use proptest::prelude::*;
use ratatui::{style::Color, text::Line};

use super::{
    highlight::{Tokenizer, code_line},
    *,
};
use crate::tui::theme::Theme;

/// Returns lines as plain text.
pub(crate) fn lines(lines: &[Line<'_>]) -> Vec<String> {
    lines.iter().map(ToString::to_string).collect()
}

/// Returns lines as text with visible styles: `<red bold:…>`.
pub(crate) fn marked(lines: &[Line<'_>]) -> String {
    let mut text = String::new();
    for line in lines {
        for span in &line.spans {
            let mut names = Vec::new();
            if let Some(colour) = span.style.fg.filter(|it| *it != Color::Reset) {
                names.push(colour.to_string().to_lowercase());
            }
            for (name, _) in span.style.add_modifier.iter_names() {
                names.push(name.to_lowercase());
            }
            if names.is_empty() {
                text.push_str(&span.content);
            } else {
                text.push_str(&format!("<{}:{}>", names.join(" "), span.content));
            }
        }
        text.push('\n');
    }
    text
}

/// Highlights code in the given language.
fn code(source: &str, language: &str, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mut tokenizer = Tokenizer::of(language);
    let source = tidy(source);
    let lines = source.lines();
    lines
        .flat_map(|line| code_line(&mut tokenizer, line, width, &Line::default(), theme))
        .collect()
}

/// Generates text that a model or an attacker might write.
pub(crate) fn untrusted_text() -> impl Strategy<Value = String> {
    let parts = prop_oneof![
        4 => "[a-z]{1,9}".boxed(),
        3 => Just(" ".to_owned()).boxed(),
        3 => Just("\n".to_owned()).boxed(),
        2 => Just("\n\n".to_owned()).boxed(),
        4 => proptest::sample::select(vec![
            "# ", "## ", "- ", "  - ", "   - ", "    ", "* ", "1. ", "7) ", "> ", "```", "```rust\n", "~~~", "---", "***", "`", "**", "*", "_",
            "~~", "[a](b)", "[a]", "[x]: http://y", "![i](u)", "<b>", "<br>", "<!--", "-->", "|", "| a | b |\n", "|---|--:|\n", "\\",
            "- [ ] ", "- [x] ", "http://a.b", "<http://c>", "===", "\t", "\r\n", "> [!NOTE]\n", "\"", "/*", "*/", "'",
        ]).prop_map(str::to_owned).boxed(),
        2 => proptest::sample::select(vec![
            "&#27;[2J", "&#x9b;", "&lt;", "&#10;", "&#x202e;", "&nbsp;", "\x1b[31m", "\x1b]0;title\x07", "\x1b]52;c;eA==", "\x1b", "\u{9b}1m",
            "\u{90}", "\u{9c}", "\x07", "\0", "\u{202e}", "\u{200b}", "\u{2028}", "\x7f",
        ]).prop_map(str::to_owned).boxed(),
        2 => proptest::sample::select(vec![
            "漢字", "、", "👩‍🚀", "e\u{301}", "\u{301}", "🏳️‍🌈", "ᄀᄀᄀ", "क्ष", "لا", "ﷺ", "\u{200d}", "ü", "…", "•",
        ]).prop_map(str::to_owned).boxed(),
        1 => "\\PC{0,6}".boxed(),
    ];
    proptest::collection::vec(parts, 0..40).prop_map(|parts| parts.concat())
}

fn assert_fits(lines: &[Line<'_>], columns: u16) -> Result<(), TestCaseError> {
    for line in lines {
        for span in &line.spans {
            prop_assert!(
                !span.content.contains(zot_protocol::is_unsafe_in_terminal),
                "{span:?}"
            );
        }
        let used: usize = line.spans.iter().map(|span| width(&span.content)).sum();
        prop_assert!(
            used <= usize::from(columns.max(1)),
            "{used} > {columns}: {line:?}"
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn output_is_sanitised_and_fits_the_width(source in untrusted_text(), columns in 0u16..50) {
        let theme = Theme::dark();
        assert_fits(&markdown(&source, columns, &theme), columns)?;
        assert_fits(&plain(&source, columns, theme.text), columns)?;
        assert_fits(&diff(&source, columns, &theme), columns)?;
        assert_fits(&diff(&format!("@@ -1,9 +1,9 @@\n{source}"), columns, &theme), columns)?;
        assert_fits(&code(&source, "rust", columns, &theme), columns)?;
        assert_fits(&code(&source, "html", columns, &theme), columns)?;
        assert_fits(&wrap(&Line::from(source.as_str()), columns), columns)?;
        assert_fits(&[Line::from(fit(&source, columns))], columns)?;
        assert_fits(&[fit_line(&Line::from(vec![source.as_str().into(), source.as_str().into()]), columns)], columns)?;
        let mut stream = Stream::default();
        stream.push(&source);
        assert_fits(&stream.open(columns, &theme), columns)?;
    }

    #[test]
    fn rendering_does_not_depend_on_how_text_arrives(source in untrusted_text(), cuts in proptest::collection::vec(0usize..400, 0..12), columns in 1u16..60) {
        let theme = Theme::dark();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|at| source.floor_char_boundary(at)).collect();
        cuts.sort_unstable();
        let mut stream = Stream::default();
        let mut given = Vec::new();
        let mut from = 0;
        for cut in cuts.into_iter().chain([source.len()]) {
            stream.push(&source[from..cut]);
            from = cut;
            // At any time, the finished lines and the open lines together are the whole text.
            let mut now = given.clone();
            now.extend(stream.open(columns, &theme));
            let so_far = &source[..cut];
            if !so_far.ends_with(|it: char| it != '\n') {
                prop_assert_eq!(now, markdown(so_far, columns, &theme));
            }
            given.extend(stream.finished(columns, &theme));
        }
        given.extend(stream.finish(columns, &theme));
        prop_assert_eq!(given, markdown(&source, columns, &theme));
    }

    #[test]
    fn wrapping_keeps_every_word(source in "[a-z]{1,30}( {1,3}[a-z]{1,30}){0,20}", columns in 1u16..40) {
        let rows = lines(&plain(&source, columns, ratatui::style::Style::new()));
        let letters = |text: &str| text.replace(' ', "");
        prop_assert_eq!(letters(&rows.concat()), letters(&source));
        // Only words wider than the screen are split.
        for row in &rows {
            for word in row.split(' ').filter(|word| !word.is_empty()) {
                let whole = source.split(' ').any(|it| it == word);
                let long = source.split(' ').any(|it| it.len() > usize::from(columns) && it.contains(word));
                prop_assert!(whole || long, "{}", word);
            }
        }
    }
}
