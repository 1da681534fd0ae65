//! The strict parser reads the same values as `serde_json`, except for objects with duplicate keys.

use proptest::prelude::*;
use serde_json::Value;
use zot_protocol::validate;

fn ours(json: &[u8]) -> Option<Value> {
    validate::strict_json(json).ok()
}

fn theirs(json: &[u8]) -> Option<Value> {
    serde_json::from_slice(json).ok()
}

/// Generates JSON and almost-JSON: whitespace, escapes, odd numbers, truncated words.
fn json() -> impl Strategy<Value = String> {
    let text = proptest::collection::vec(
        prop_oneof![
            Just(r"\n".to_owned()),
            Just(r#"\""#.to_owned()),
            Just(r"\\".to_owned()),
            Just(r"\/\b\f\t\r".to_owned()),
            Just(r"\u00e9".to_owned()),
            Just(r"\ud83d\ude00".to_owned()),
            Just(r"\uD83D".to_owned()),
            Just(r"\ude00".to_owned()),
            Just(r"\u0000".to_owned()),
            Just(r"\x".to_owned()),
            "[ -!#-\\[\\]-~]{0,40}",
            "\\PC{0,4}",
            Just("\t".to_owned()),
        ],
        0..8,
    )
    .prop_map(|parts| format!("\"{}\"", parts.concat()));
    let number = prop_oneof![
        "-?(0|[1-9][0-9]{0,24})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?",
        "[-+0-9.eE]{1,8}",
    ];
    let word = prop_oneof![
        Just("true"),
        Just("false"),
        Just("null"),
        Just("nul"),
        Just("truee")
    ]
    .prop_map(str::to_owned);
    let leaf = prop_oneof![text.clone(), number, word];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let blank = "[ \t\r\n]{0,2}";
        prop_oneof![
            (proptest::collection::vec(inner.clone(), 0..4), blank).prop_map(|(items, blank)| {
                format!(
                    "[{blank}{}{blank}]",
                    items.join(&format!("{blank},{blank}"))
                )
            }),
            (
                proptest::collection::vec((text.clone(), inner), 0..4),
                blank
            )
                .prop_map(|(entries, blank)| {
                    let entries: Vec<String> = entries
                        .iter()
                        .map(|(key, value)| format!("{key}{blank}:{blank}{value}"))
                        .collect();
                    format!("{{{}{blank}}}", entries.join(","))
                }),
        ]
    })
}

/// `serde_json` keeps the last of two duplicate keys; the strict parser rejects the object.
fn has_duplicate_key(json: &[u8]) -> bool {
    validate::strict_json(json).is_err_and(|refusal| refusal.reason == "duplicate key")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn accepts_what_serde_json_accepts(json in json()) {
        let json = json.as_bytes();
        prop_assert_eq!(ours(json), theirs(json).filter(|_| !has_duplicate_key(json)));
    }

    #[test]
    fn rejects_what_serde_json_rejects(json in json(), change in any::<prop::sample::Index>(), byte in prop_oneof![any::<u8>(), 0_u8..0x20, Just(b'"'), Just(b'\\')]) {
        let mut json = json.into_bytes();
        let at = change.index(json.len());
        json[at] = byte;
        prop_assert_eq!(ours(&json), theirs(&json).filter(|_| !has_duplicate_key(&json)));
    }
}

#[test]
fn extreme_numbers_decode_as_in_serde_json() {
    for number in [
        "0",
        "-0",
        "-1",
        "01",
        "1.",
        ".5",
        "1e5",
        "1E+5",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775808",
        "-9223372036854775809",
        "999999999999999999",
        "9999999999999999999",
        "0.1",
        "1e-400",
        "1e400",
        "123456789012345678901234567890",
    ] {
        assert_eq!(
            ours(number.as_bytes()),
            theirs(number.as_bytes()),
            "{number}"
        );
    }
}

#[test]
fn the_depth_limit_is_that_of_serde_json() {
    for depth in [1, 99, 100, 101, 126, 127, 128, 200] {
        let json = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(ours(json.as_bytes()), theirs(json.as_bytes()), "{depth}");
    }
}

#[test]
fn control_characters_in_strings_are_rejected() {
    for control in 0..0x20_u8 {
        for before in [0, 3, 15, 16, 17, 31, 100] {
            for escape in ["", "\\n"] {
                let json = format!(
                    "\"{escape}{}{}{}\"",
                    "x".repeat(before),
                    char::from(control),
                    "y".repeat(40)
                );
                assert_eq!(ours(json.as_bytes()), None, "{control} after {before}");
            }
        }
    }
}
