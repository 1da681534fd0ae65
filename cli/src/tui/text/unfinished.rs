//! The line that is being written, as it will be: while `**two wo` arrives, it is shown in bold, and not with stars that
//! vanish a moment later.

/// A line with what it has opened closed, and without marks at its end of which nobody knows yet what they will mean.
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
        // What was opened just now has nothing in it yet.
        match line.strip_suffix(mark) {
            Some(before) => line.truncate(before.trim_end_matches(' ').len()),
            None => line.push_str(mark),
        }
    }
    line
}

/// The beginning of a heading, a list, a quote, a fence or a rule, and nothing else yet.
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
    fn what_is_open_is_closed() {
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
