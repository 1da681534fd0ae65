//! Finds the pieces of text to remove.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;

use crate::transcript::{Place, Places};

/// A piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    Text(&'a str),
    Secret,
    Place(Place),
    /// A time or an id, which changes between runs.
    Volatile,
}

/// Splits the remaining pieces of text around the matches of `find`.
pub(super) fn cut<'a>(
    pieces: Vec<Piece<'a>>,
    find: impl Fn(&'a str) -> Option<(Range<usize>, Piece<'a>)>,
) -> Vec<Piece<'a>> {
    let mut all = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let Piece::Text(mut rest) = piece else {
            all.push(piece);
            continue;
        };
        while let Some((range, found)) = find(rest) {
            if range.start > 0 {
                all.push(Piece::Text(&rest[..range.start]));
            }
            all.push(found);
            rest = &rest[range.end..];
        }
        if !rest.is_empty() {
            all.push(Piece::Text(rest));
        }
    }
    all
}

type Found<'a> = Option<(Range<usize>, Piece<'a>)>;

pub(super) fn find_secret<'a>(text: &'a str, secret: &str) -> Found<'a> {
    let start = text.find(secret)?;
    Some((start..start + secret.len(), Piece::Secret))
}

/// Finds an id. Short ids are ignored, because an id such as `1` would match in almost any text.
pub(super) fn find_id<'a>(text: &'a str, id: &str) -> Found<'a> {
    const SHORTEST: usize = 6;
    if id.len() < SHORTEST {
        return None;
    }
    let start = text.find(id)?;
    Some((start..start + id.len(), Piece::Volatile))
}

/// Finds the first known directory, or the longer one of two at the same position.
pub(super) fn find_place<'a>(text: &'a str, places: &Places) -> Found<'a> {
    let mut best: Option<(Range<usize>, Place)> = None;
    for place in Place::ALL {
        let Some(path) = places.get(place).map(|path| path.trim_end_matches('/')) else {
            continue;
        };
        // Skip `/` and relative paths, which would match in unrelated places.
        if path.len() < 2 || !path.starts_with('/') {
            continue;
        }
        let found = text
            .match_indices(path)
            .map(|(start, _)| start..start + path.len())
            .find(|range| is_whole_path(text, range));
        if let Some(range) = found {
            let is_better = best.as_ref().is_none_or(|(best, _)| {
                range.start < best.start || (range.start == best.start && range.end > best.end)
            });
            if is_better {
                best = Some((range, place));
            }
        }
    }
    best.map(|(range, place)| (range, Piece::Place(place)))
}

/// Reports whether the range is a whole path. `/home/ann` is one in `/home/ann/x`, `-I/home/ann`
/// and `/home/ann.`, but not in `/home/anna` or `/home/ann.old`. A path of one component, such as
/// `/tmp`, must not match the end of `./tmp` or `/var/tmp`.
fn is_whole_path(text: &str, range: &Range<usize>) -> bool {
    let is_part = |char: char| char.is_alphanumeric() || matches!(char, '_' | '-');
    let before = text[..range.start].chars().next_back();
    let is_one_name = !text[range.start + 1..range.end].contains('/');
    if is_one_name && before.is_some_and(|char| is_part(char) || matches!(char, '.' | '~')) {
        return false;
    }
    let mut after = text[range.end..].chars();
    match after.next() {
        Some('.') => !after.next().is_some_and(is_part),
        Some(char) => !is_part(char),
        None => true,
    }
}

/// Times of day, dates, timestamps, Unix times, and durations.
static TIME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?x)
        \b \d{4}-\d{2}-\d{2} (?: [T\ ] \d{2}:\d{2} (?: :\d{2} (?: [.,]\d+ )? )? (?: Z | [+-]\d{2}:?\d{2} )? )? \b
        | \b (?: (?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [a-z]* ,? \  )? (?: \d{1,2} \  )?
          (?: Jan(?:uary)? | Feb(?:ruary)? | Mar(?:ch)? | Apr(?:il)? | May | June? | July? | Aug(?:ust)?
            | Sept?(?:ember)? | Oct(?:ober)? | Nov(?:ember)? | Dec(?:ember)? )
          (?: \ \d{1,2} (?: ,?\ \d{4} )? | \ \d{4} ) \b
        | \b \d{1,2}:\d{2}:\d{2} (?: [.,]\d+ )? (?: [^\S\n]? [AaPp][Mm] )? \b
        | \b \d{1,2}:\d{2} [^\S\n]? [AaPp][Mm] \b
        | \b 1\d{9} (?: \d{3} ){0,3} (?: \.\d+ )? \b
        | \b (?: \d+h\ ? )? (?: \d+m\ ? )? \d+ (?: \.\d+ )? (?: ns | [µu]s | ms | s ) \b
        ",
    )
    .expect("the pattern is valid")
});

pub(super) fn find_time(text: &str) -> Found<'_> {
    let found = TIME.find(text)?;
    Some((found.range(), Piece::Volatile))
}
