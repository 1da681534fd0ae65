//! Texts that fit a regular expression, from its syntax tree.

use regex_syntax::hir::{Class, Hir, HirKind};

use super::dice::Dice;

/// A text is not made longer than this by repeating what may be repeated.
const REPEATED_CHARS: usize = 4096;

/// The choices within a pattern.
pub(super) enum Taste<'d> {
    /// The shortest text, with so many repetitions more than needed wherever there may be more.
    Short { more: u32 },
    /// Any text.
    Any(&'d mut Dice),
}

/// A text that fits, as far as a tree without its anchors and word boundaries can tell; nothing for a pattern that
/// cannot fit, or that this crate does not read.
pub(super) fn fitting(pattern: &str, mut taste: Taste<'_>) -> Option<String> {
    let tree = regex_syntax::parse(pattern).ok()?;
    text(&tree, &mut taste)
}

fn text(tree: &Hir, taste: &mut Taste<'_>) -> Option<String> {
    match tree.kind() {
        // Anchors take no room; whether they hold is seen when the text is checked.
        HirKind::Empty | HirKind::Look(_) => Some(String::new()),
        HirKind::Literal(literal) => String::from_utf8(literal.0.to_vec()).ok(),
        HirKind::Class(class) => character(class, taste).map(String::from),
        HirKind::Capture(capture) => text(&capture.sub, taste),
        HirKind::Concat(parts) => parts.iter().map(|part| text(part, taste)).collect(),
        HirKind::Alternation(branches) => match taste {
            Taste::Short { .. } => branches
                .iter()
                .filter_map(|branch| text(branch, taste))
                .min_by_key(|text| text.chars().count()),
            Taste::Any(dice) => {
                let branch = dice.pick(branches)?;
                text(branch, taste)
            }
        },
        HirKind::Repetition(repetition) => {
            let most = repetition.max.unwrap_or(u32::MAX);
            let count = match taste {
                Taste::Short { more } => repetition.min.saturating_add(*more),
                Taste::Any(dice) => {
                    let more = u32::try_from(dice.below(4)).unwrap_or(0);
                    repetition.min.saturating_add(more)
                }
            };
            let mut repeated = String::new();
            for done in 0..count.min(most) {
                let optional = done >= repetition.min;
                if optional && repeated.len() > REPEATED_CHARS {
                    break;
                }
                match text(&repetition.sub, taste) {
                    Some(once) => repeated.push_str(&once),
                    None if optional => break,
                    None => return None,
                }
            }
            Some(repeated)
        }
    }
}

/// A character of a class, one that is easily read where there is one.
fn character(class: &Class, taste: &mut Taste<'_>) -> Option<char> {
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
    if let Taste::Any(dice) = taste {
        let readable: Vec<char> = (' '..='~').filter(|wanted| within(*wanted)).collect();
        if let Some(character) = dice.pick(&readable).filter(|_| !readable.is_empty()) {
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
