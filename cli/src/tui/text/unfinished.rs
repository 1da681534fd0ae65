//! Completes the markup in a line that is still being written. While `**two wo` arrives, it is
//! shown in bold instead of with asterisks that vanish a moment later.

/// Closes the markup that is open in a line, and removes markers at its end that are still
/// ambiguous.
pub(super) fn finished(line: &str) -> String {
    if is_only_marks(line) {
        return String::new();
    }
    let mut open: Vec<&str> = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let mark = ["**", "~~", "`"]
            .into_iter()
            .find(|mark| rest.starts_with(mark));
        let in_code = open.last() == Some(&"`");
        match mark {
            Some(mark) if open.last() == Some(&mark) => {
                open.pop();
                rest = &rest[mark.len()..];
            }
            Some(mark) if !in_code => {
                open.push(mark);
                rest = &rest[mark.len()..];
            }
            _ if first == '\\' && !in_code => {
                rest = &rest[1..];
                rest = &rest[rest.chars().next().map_or(0, char::len_utf8)..];
            }
            _ => rest = &rest[first.len_utf8()..],
        }
    }
    let mut line = line.trim_end_matches(' ').to_owned();
    while let Some(mark) = open.pop() {
        // If the line ends with an opening marker, the markup has no content yet, so remove the
        // marker.
        match line.strip_suffix(mark) {
            Some(before) => line.truncate(before.trim_end_matches(' ').len()),
            None => line.push_str(mark),
        }
    }
    line
}

/// Reports whether the line consists only of the start of a heading, list, quote, fence or rule.
fn is_only_marks(line: &str) -> bool {
    let line = line.trim();
    let digits = line.strip_suffix(['.', ')']).unwrap_or_default();
    let is_number = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit());
    is_number || line.bytes().all(|it| b"#-*+>`~_=|: ".contains(&it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_markup_is_closed() {
        for (line, expected) in [
            ("plain", "plain"),
            ("two **wo", "two **wo**"),
            ("two **words** and", "two **words** and"),
            ("two **", "two"),
            ("two **wo ", "two **wo**"),
            ("a `co", "a `co`"),
            ("a `co**", "a `co**`"),
            ("**a `b", "**a `b`**"),
            ("~~go", "~~go~~"),
            ("- **item", "- **item**"),
            ("a \\`b", "a \\`b"),
            ("a \\", "a \\"),
            ("``", ""),
            ("##", ""),
            ("  -", ""),
            ("12.", ""),
            ("12", "12"),
            ("| a |", "| a |"),
            ("2024 was", "2024 was"),
        ] {
            assert_eq!(finished(line), expected, "{line}");
        }
    }
}
