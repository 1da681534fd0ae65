//! Strings that match a regular expression, generated from its syntax tree.

use regex_syntax::hir::{Class, Hir, HirKind};

use super::rng::Rng;

/// Maximum number of characters that optional repetitions can add.
const MAX_REPEATED_CHARS: usize = 4096;

/// How to choose among the strings that match a pattern.
pub(super) enum Choice<'d> {
    /// The shortest string, with `more` extra repetitions wherever the pattern allows them.
    Shortest { more: u32 },
    /// A random string.
    Random(&'d mut Rng),
}

/// Returns a string that probably matches: anchors and word boundaries are ignored. Returns `None`
/// if the pattern cannot match or the parser does not support it.
pub(super) fn fitting(pattern: &str, mut choice: Choice<'_>) -> Option<String> {
    let tree = regex_syntax::parse(pattern).ok()?;
    text(&tree, &mut choice)
}

fn text(tree: &Hir, choice: &mut Choice<'_>) -> Option<String> {
    match tree.kind() {
        // Anchors have no length. The caller checks whether they match.
        HirKind::Empty | HirKind::Look(_) => Some(String::new()),
        HirKind::Literal(literal) => String::from_utf8(literal.0.to_vec()).ok(),
        HirKind::Class(class) => character(class, choice).map(String::from),
        HirKind::Capture(capture) => text(&capture.sub, choice),
        HirKind::Concat(parts) => parts.iter().map(|part| text(part, choice)).collect(),
        HirKind::Alternation(branches) => match choice {
            Choice::Shortest { .. } => branches
                .iter()
                .filter_map(|branch| text(branch, choice))
                .min_by_key(|text| text.chars().count()),
            Choice::Random(rng) => {
                let branch = rng.pick(branches)?;
                text(branch, choice)
            }
        },
        HirKind::Repetition(repetition) => {
            let most = repetition.max.unwrap_or(u32::MAX);
            let count = match choice {
                Choice::Shortest { more } => repetition.min.saturating_add(*more),
                Choice::Random(rng) => {
                    let more = u32::try_from(rng.below(4)).unwrap_or(0);
                    repetition.min.saturating_add(more)
                }
            };
            let mut repeated = String::new();
            for done in 0..count.min(most) {
                let optional = done >= repetition.min;
                if optional && repeated.len() > MAX_REPEATED_CHARS {
                    break;
                }
                match text(&repetition.sub, choice) {
                    Some(once) => repeated.push_str(&once),
                    None if optional => break,
                    None => return None,
                }
            }
            Some(repeated)
        }
    }
}

/// Picks a character from a class, a readable one if possible.
fn character(class: &Class, choice: &mut Choice<'_>) -> Option<char> {
    let ranges: Vec<(char, char)> = match class {
        Class::Unicode(class) => class
            .ranges()
            .iter()
            .map(|range| (range.start(), range.end()))
            .collect(),
        Class::Bytes(class) => class
            .ranges()
            .iter()
            .filter(|range| range.end().is_ascii())
            .map(|range| (char::from(range.start()), char::from(range.end())))
            .collect(),
    };
    let within = |wanted: char| {
        ranges
            .iter()
            .any(|(from, to)| (*from..=*to).contains(&wanted))
    };
    if let Choice::Random(rng) = choice {
        let readable: Vec<char> = (' '..='~').filter(|wanted| within(*wanted)).collect();
        if let Some(character) = rng.pick(&readable).filter(|_| !readable.is_empty()) {
            return Some(*character);
        }
    }
    ('a'..='z')
        .chain('A'..='Z')
        .chain('0'..='9')
        .chain(' '..='~')
        .find(|wanted| within(*wanted))
        .or_else(|| ranges.first().map(|(from, _)| *from))
}
