//! Texts cut to a width, with a sign that something is missing.

use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// What stands for the rest.
const MORE: &str = "…";

/// The columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// A text in at most so many columns. What would begin another line is a space.
pub(crate) fn fit(text: &str, columns: u16) -> String {
    let text = crate::clean::line(text);
    match cut(&text, columns) {
        None => text,
        Some(end) => format!("{}{MORE}", &text[..end]),
    }
}

/// A line in at most so many columns.
pub(crate) fn fit_line(line: &Line<'_>, columns: u16) -> Line<'static> {
    let mut left = columns;
    let mut spans = Vec::new();
    for span in &line.spans {
        let content = crate::clean::line(&span.content);
        let wide = width(&content);
        let fits = u16::try_from(wide).is_ok_and(|wide| wide < left);
        // The last one may fill the line; any other needs a column left for the sign.
        let text = if fits { content } else { fit(&content, left) };
        left = left.saturating_sub(u16::try_from(width(&text)).unwrap_or(u16::MAX));
        spans.push(Span::styled(text, span.style));
    }
    Line::from(spans).style(line.style)
}

/// Where a text is to be cut so that it and the sign fit; `None` if it fits as it is.
fn cut(text: &str, columns: u16) -> Option<usize> {
    let columns = usize::from(columns);
    let mut used = 0;
    let mut end = 0;
    for (at, grapheme) in text.grapheme_indices(true) {
        used += grapheme.width();
        if used > columns {
            return Some(end);
        }
        if used < columns {
            end = at + grapheme.len();
        }
    }
    None
}
