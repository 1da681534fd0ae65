//! Truncates text to a width, with an ellipsis.

use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

pub(super) const MORE: &str = "…";

/// Returns the number of columns that the text occupies.
pub(crate) fn width(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    clusters(text).map(|(_, _, columns)| columns).sum()
}

/// Returns the graphemes of the text, each with its offset and its width, which is at most two
/// columns. Wider graphemes, which occur in some scripts, are split into characters.
pub(crate) fn clusters(text: &str) -> impl Iterator<Item = (usize, &str, usize)> {
    // In ASCII text, each byte is a grapheme.
    let (simple, other) = if text.is_ascii() {
        (text, "")
    } else {
        ("", text)
    };
    let simple = (0..simple.len()).map(move |at| (at, &simple[at..=at], 1));
    simple.chain(other.grapheme_indices(true).flat_map(|(at, grapheme)| {
        let columns = grapheme.width();
        let (whole, apart) = if columns <= 2 {
            (Some((at, grapheme, columns)), "")
        } else {
            (None, grapheme)
        };
        let apart = apart.char_indices().map(move |(offset, char)| {
            let char = &apart[offset..offset + char.len_utf8()];
            (at + offset, char, char.width())
        });
        whole.into_iter().chain(apart)
    }))
}

/// Truncates text to a number of columns. Line breaks become spaces.
pub(crate) fn fit(text: &str, columns: u16) -> String {
    let text = crate::clean::line(text);
    if width(&text) <= usize::from(columns) {
        return text;
    }
    cut_to(&text, columns)
}

/// Truncates a line to a number of columns.
pub(crate) fn fit_line(line: &Line<'_>, columns: u16) -> Line<'static> {
    let cleaned = |span: &Span<'_>| {
        Span::styled(
            crate::clean::line(&span.content),
            line.style.patch(span.style),
        )
    };
    let mut spans: Vec<Span<'static>> = line.spans.iter().map(cleaned).collect();
    let mut left = columns;
    let mut is_cut = false;
    let whole: usize = spans.iter().map(|span| width(&span.content)).sum();
    if whole > usize::from(columns) {
        spans.retain_mut(|span| {
            if is_cut {
                return false;
            }
            match u16::try_from(width(&span.content)) {
                Ok(wide) if wide < left => left -= wide,
                _ => {
                    span.content = cut_to(&span.content, left).into();
                    is_cut = true;
                }
            }
            true
        });
    }
    Line::from(spans)
}

/// Returns the start of the text followed by an ellipsis, in at most `columns` columns.
fn cut_to(text: &str, columns: u16) -> String {
    let Some(room) = usize::from(columns).checked_sub(1) else {
        return String::new();
    };
    let mut used = 0;
    let end = clusters(text).find(|(_, _, columns)| {
        used += columns;
        used > room
    });
    let end = end.map_or(text.len(), |(at, _, _)| at);
    format!("{}{MORE}", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncated_text_ends_with_an_ellipsis() {
        assert_eq!(fit("short", 5), "short");
        assert_eq!(fit("longer", 5), "long…");
        assert_eq!(fit("漢字", 4), "漢字");
        assert_eq!(fit("漢字漢", 4), "漢…");
        assert_eq!(fit("天気予報", 6), "天気…");
        assert_eq!(fit("a\nb", 9), "a b");
        assert_eq!(fit("abc", 1), "…");
        assert_eq!(fit("abc", 0), "");
    }

    #[test]
    fn a_line_is_truncated_within_a_span() {
        let line = Line::from(vec!["ab".into(), "cd".into(), "ef".into()]);
        assert_eq!(fit_line(&line, 6).to_string(), "abcdef");
        assert_eq!(fit_line(&line, 5).to_string(), "abcd…");
        assert_eq!(fit_line(&line, 4).to_string(), "abc…");
        assert_eq!(fit_line(&line, 2).to_string(), "a…");
    }

    #[test]
    fn graphemes_wider_than_two_columns_are_split() {
        let seen: Vec<_> = clusters("aᄀᄀᄀ👩‍🚀").collect();
        assert!(seen.iter().all(|(_, _, columns)| *columns <= 2), "{seen:?}");
        assert_eq!(
            seen.iter().map(|(_, text, _)| *text).collect::<String>(),
            "aᄀᄀᄀ👩‍🚀"
        );
        assert_eq!(width("aᄀᄀᄀ👩‍🚀"), 9);
    }
}
