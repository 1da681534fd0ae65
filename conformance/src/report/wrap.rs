//! Wraps text at spaces.

use unicode_width::UnicodeWidthStr;

/// Wraps text. The first line starts in column `first`, and the other lines in column `others`. A
/// word that is too long is not broken, because it is usually a path or name that people copy.
pub fn wrap(text: &str, width: usize, first: usize, others: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = first;
    for (at, paragraph) in text.lines().enumerate() {
        if at > 0 {
            lines.push(String::new());
            used = others;
        }
        for word in paragraph.split(' ') {
            let line = lines.last_mut().expect("there is always a last line");
            let space = usize::from(!line.is_empty());
            if used + space + word.width() > width && !line.is_empty() {
                lines.push(word.to_owned());
                used = others + word.width();
            } else {
                line.extend(std::iter::repeat_n(' ', space));
                line.push_str(word);
                used += space + word.width();
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn wrapped_lines_have_a_hanging_indent() {
        assert_eq!(
            wrap("one two three\nfour 東京東京 averyverylongword x", 12, 4, 2),
            [
                "one two",
                "three",
                "four",
                "東京東京",
                "averyverylongword",
                "x"
            ]
        );
        assert_eq!(wrap("", 12, 4, 2), [""]);
    }
}
