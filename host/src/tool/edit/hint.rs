//! Hints for an `old_text` that was not found.

use memchr::memchr_iter;

/// How many lines to show.
const SHOWN_LINES: usize = 12;
/// How many candidates to compare. This limits the time spent on a file full of `}`.
const MAX_CANDIDATES: usize = 2000;
/// How many bytes of a line to show.
const LINE: usize = 200;

/// Returns the line number of the byte at offset `at`.
pub(super) fn line_of(content: &[u8], at: usize) -> usize {
    memchr_iter(b'\n', &content[..at]).count() + 1
}

/// Describes the place most similar to `old`, ignoring whitespace.
pub(super) fn near(content: &[u8], old: &[u8]) -> Option<String> {
    let lines: Vec<&[u8]> = content.split(|byte| *byte == b'\n').collect();
    let wanted: Vec<&[u8]> = old.split(|byte| *byte == b'\n').map(bare).collect();
    let first = wanted.iter().position(|line| !line.is_empty())?;
    let wanted = &wanted[first..];
    let wanted = match wanted.iter().rposition(|line| !line.is_empty()) {
        Some(last) => &wanted[..=last],
        None => wanted,
    };
    let same = |start: usize| {
        let pairs = lines[start..].iter().zip(wanted);
        pairs
            .take_while(|(line, wanted)| bare(line) == **wanted)
            .count()
    };
    let starts = (0..lines.len()).filter(|&start| bare(lines[start]) == wanted[0]);
    let best = starts
        .take(MAX_CANDIDATES)
        .map(|start| (same(start), start))
        .max_by_key(|&(same, start)| (same, std::cmp::Reverse(start)));
    match best {
        Some((same, start)) if same == wanted.len() => Some(format!(
            "only the whitespace differs, at line {}:\n{}",
            start + 1,
            show(&lines, start, same)
        )),
        Some((same, start)) => {
            let differs = start + same;
            let all = wanted.len();
            let matching = match same {
                1 => format!("the first of {all} lines matches"),
                _ => format!("the first {same} of {all} lines match"),
            };
            Some(format!(
                "{matching} at line {} (ignoring whitespace); line {} differs:\n{}",
                start + 1,
                differs + 1,
                show(&lines, start, same + 1)
            ))
        }
        // Look for part of a line, ignoring case.
        None => {
            let wanted = wanted[0].to_ascii_lowercase();
            let holds = |line: &[u8]| {
                let line = line.to_ascii_lowercase();
                memchr::memmem::find(&line, &wanted).is_some()
            };
            let start = lines.iter().position(|line| holds(line))?;
            Some(format!(
                "line {} contains the first line of `old_text` (ignoring case):\n{}",
                start + 1,
                show(&lines, start, 1)
            ))
        }
    }
}

fn bare(line: &[u8]) -> &[u8] {
    line.trim_ascii()
}

/// Formats lines with numbers, as `read` does.
fn show(lines: &[&[u8]], start: usize, count: usize) -> String {
    let end = (start + count.min(SHOWN_LINES)).min(lines.len());
    let shown = lines[start..end].iter().enumerate().map(|(index, line)| {
        let cut = line.len().min(LINE);
        let text = String::from_utf8_lossy(&line[..cut]);
        format!("{:>6}\t{text}", start + index + 1)
    });
    shown.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &[u8] = b"fn main() {\n\tlet a = 1;\n\tlet b = 2;\n}\n";

    #[test]
    fn reports_different_whitespace() {
        let hint = near(FILE, b"    let a = 1;\n    let b = 2;").unwrap();
        assert!(
            hint.starts_with("only the whitespace differs, at line 2:"),
            "{hint}"
        );
        assert!(
            hint.ends_with("     2\t\tlet a = 1;\n     3\t\tlet b = 2;"),
            "{hint}"
        );
    }

    #[test]
    fn reports_the_line_that_differs() {
        let hint = near(FILE, b"let a = 1;\nlet b = 3;\n").unwrap();
        assert!(
            hint.contains("first of 2 lines matches") && hint.contains("line 3 differs"),
            "{hint}"
        );
        assert!(hint.ends_with("let b = 2;"), "{hint}");
    }

    #[test]
    fn finds_part_of_a_line_in_another_case() {
        let hint = near(FILE, b"FN MAIN").unwrap();
        assert!(hint.contains("line 1"), "{hint}");
        assert_eq!(near(FILE, b"struct"), None);
        assert_eq!(near(FILE, b" \n\n"), None);
        assert_eq!(near(b"", b"x"), None);
    }
}
