//! Smaller transcripts.

use zot_conform::transcript::{parse, smaller};

const TEXT: &str = r##"{"zt":1,"name":"big"}
{"use":"handshake"}
{"#":"about a"}
{"send":{"id":{"$new":"a"}}}
{"expect":{"id":{"$ref":"a"},"x":{"$cap":"c"}}}
{"split":[1]}
{"send":{"id":{"$ref":"c"}}}
{"quiet":"1s"}
{"send":{"id":{"$new":"b"}}}
{"expect":{"id":{"$ref":"b"}}}
"##;

#[test]
fn candidates_grow_and_each_parses() {
    let transcript = parse(TEXT).unwrap();
    let candidates: Vec<_> = smaller(&transcript).collect();
    let candidates_text: Vec<String> = candidates
        .iter()
        .map(|candidate| {
            let text = candidate.to_text();
            assert!(text.starts_with("{\"zt\":1,\"name\":\"big\"}\n{\"use\":\"handshake\"}\n"));
            assert!(candidate.steps.len() < transcript.steps.len());
            parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            text.lines().skip(2).collect::<Vec<_>>().join("\n")
        })
        .collect();
    insta::assert_snapshot!(candidates_text.join("\n\n"));
}

#[test]
fn a_minimal_transcript_has_no_smaller_variant() {
    for text in [
        "{\"zt\":1}",
        "{\"zt\":1}\n{\"use\":\"handshake\"}\n{\"#\":\"x\"}",
    ] {
        assert_eq!(smaller(&parse(text).unwrap()).count(), 0);
    }
    let one = parse("{\"zt\":1}\n{\"wait\":\"1s\"}").unwrap();
    let left: Vec<usize> = smaller(&one).map(|smaller| smaller.steps.len()).collect();
    assert_eq!(left, [0]);
}
