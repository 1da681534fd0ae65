//! Strings of a given length, format and pattern.

use serde_json::Value;

use super::{
    LONGEST_STRING, Unsatisfied,
    patterns::{Choice, fitting},
    place::{SchemaNode, largest, smallest},
    rng::Rng,
};

/// Examples of each format, the plainest first.
pub(super) const FORMATS: &[(&str, &[&str])] = &[
    ("date", &["2026-01-31", "2024-02-29", "1970-01-01"]),
    ("time", &["12:30:00Z", "23:59:59+02:00"]),
    (
        "date-time",
        &["2026-01-31T12:30:00Z", "2024-02-29T23:59:59.999+02:00"],
    ),
    ("duration", &["P1D", "PT36H"]),
    ("email", &["ann@example.com", "a.b+c@example.org"]),
    ("idn-email", &["ann@example.com"]),
    ("hostname", &["example.com", "a.example.org"]),
    ("idn-hostname", &["example.com"]),
    ("ipv4", &["192.0.2.1", "127.0.0.1"]),
    ("ipv6", &["2001:db8::1", "::1"]),
    ("uri", &["https://example.com/", "urn:a:b"]),
    ("uri-reference", &["/a", "https://example.com/?q=1#f"]),
    ("iri", &["https://example.com/"]),
    ("iri-reference", &["/a"]),
    ("uri-template", &["https://example.com/{id}"]),
    ("url", &["https://example.com/"]),
    ("uuid", &["123e4567-e89b-42d3-a456-426614174000"]),
    ("json-pointer", &["/a", ""]),
    ("relative-json-pointer", &["0/a"]),
    ("regex", &["a*"]),
    ("byte", &["YQ=="]),
];
/// The characters that random strings usually consist of.
const LETTERS: &[char] = &[
    'a', 'b', 'c', 'x', 'z', 'A', 'Q', '0', '7', ' ', '-', '_', '.', '/', 'é', '漢', '🦀',
];

/// Returns strings that probably match the schemas. The caller checks each of them.
pub(super) fn strings(
    leaves: &[SchemaNode<'_>],
    mut rng: Option<&mut Rng>,
) -> Result<Vec<Value>, Unsatisfied> {
    let (least, most) = (largest(leaves, "minLength"), smallest(leaves, "maxLength"));
    let low = least.map_or(0, |(count, _)| count);
    let high = most.map_or(usize::MAX, |(count, _)| count);
    if let Some((_, node)) = most
        && low > high
    {
        return Err(Unsatisfied::at(node, "maxLength"));
    }
    if let Some((_, node)) = least
        && low > LONGEST_STRING
    {
        return Err(Unsatisfied::at(node, "minLength"));
    }
    let mut found = Vec::new();
    for (node, pattern) in keyword_values(leaves, "pattern") {
        let made = of_pattern(pattern, low, rng.as_deref_mut());
        if made.is_empty() {
            return Err(Unsatisfied::at(node, "pattern"));
        }
        found.extend(made);
    }
    let formats = keyword_values(leaves, "format").flat_map(|(_, name)| of_format(name));
    let mut formats: Vec<String> = formats.map(|text| (*text).to_owned()).collect();
    if let Some(rng) = rng.as_deref_mut() {
        rng.shuffle(&mut formats);
    }
    found.extend(formats);
    if let Some(rng) = rng {
        found.push(random(rng, low, high));
    }
    // Alternatives in case a `not` rejects the plainest string.
    found.extend([
        "a".repeat(low),
        "b".repeat(low),
        "a".repeat(low + 1),
        "0".repeat(low + 1),
    ]);
    found.retain(|text| (low..=high).contains(&text.chars().count()));
    match (found.is_empty(), most, least) {
        (false, ..) => Ok(found.into_iter().map(Value::from).collect()),
        (true, Some((_, node)), _) => Err(Unsatisfied::at(node, "maxLength")),
        (true, None, Some((_, node))) => Err(Unsatisfied::at(node, "minLength")),
        (true, None, None) => Ok(Vec::new()),
    }
}

fn keyword_values<'n, 's>(
    leaves: &'n [SchemaNode<'s>],
    keyword: &'static str,
) -> impl Iterator<Item = (&'n SchemaNode<'s>, &'s str)> {
    leaves
        .iter()
        .filter_map(move |node| Some((node, node.get(keyword)?.as_str()?)))
}

/// Returns examples of a format, or none if the format is unknown and therefore not enforced.
pub(super) fn of_format(name: &str) -> &'static [&'static str] {
    FORMATS
        .iter()
        .find(|(known, _)| *known == name)
        .map_or(&[], |(_, examples)| examples)
}

/// Returns strings for a pattern: the shortest, longer ones if `minLength` requires it, and ones
/// with text around the match.
fn of_pattern(pattern: &str, low: usize, rng: Option<&mut Rng>) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(rng) = rng {
        found.extend(fitting(pattern, Choice::Random(rng)));
    }
    let lengths = [0, 1, 2, 3, 5, 8, 16, 32, 64, 128];
    let exact = u32::try_from(low).unwrap_or(u32::MAX);
    let near = [exact.saturating_sub(2), exact.saturating_sub(1), exact];
    let tried = lengths
        .into_iter()
        .filter(|more| *more <= exact.max(2))
        .chain(near);
    for more in tried {
        found.extend(fitting(pattern, Choice::Shortest { more }));
    }
    if let Some(shortest) = fitting(pattern, Choice::Shortest { more: 0 }) {
        let padding = "a".repeat(low.saturating_sub(shortest.chars().count()));
        found.extend([
            format!("{shortest}{padding}"),
            format!("{padding}{shortest}"),
        ]);
    }
    found
}

/// Returns a string of the given length that is as close to valid as possible: from the pattern if
/// there is one, or else by extending `text`.
pub(super) fn of_length(leaves: &[SchemaNode<'_>], text: &str, length: usize) -> String {
    let of_patterns = keyword_values(leaves, "pattern")
        .flat_map(|(_, pattern)| of_pattern(pattern, length, None));
    let mut fitting = of_patterns.filter(|made| made.chars().count() == length);
    fitting.next().unwrap_or_else(|| {
        let filler = text.chars().last().unwrap_or('a');
        text.chars()
            .chain(std::iter::repeat(filler))
            .take(length)
            .collect()
    })
}

fn random(rng: &mut Rng, low: usize, high: usize) -> String {
    let length = (low + rng.below(13)).min(high);
    (0..length)
        .map(|_| rng.pick(LETTERS).copied().unwrap_or('a'))
        .collect()
}
