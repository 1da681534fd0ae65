//! Property tests for transcripts, recordings and text scrubbing.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use zot_conform::{
    Party::{Extension, Host},
    transcript::{
        Bindings, Place, Places, Recorder, Seen, Template, accept, matches, parse, smaller,
    },
};

use super::{SentFrame, replay_frames};

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 256,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn places() -> Places {
    Places::default()
        .with(Place::Cwd, "/home/ann/work")
        .with(Place::ExtensionDir, "/home/ann/ext")
        .with(Place::DataDir, "/home/ann/ext")
        .with(Place::Home, "/home/ann")
        .with(Place::Tmp, "/tmp")
}

/// Generates text with everything the recorder looks for, in any order.
fn text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        "[a-zA-Z0-9$ {}\\[\\].:/\n°-]{0,6}",
        prop::sample::select(vec![
            "[..]",
            "$",
            "$$",
            "${cwd}",
            "/home/ann",
            "/home/ann/work",
            "/tmp/x",
            "/home/anna",
            "11:42:26",
            "2026-11-15T23:42:26.965Z",
            "1789516946",
            "13s",
            "host-id-1",
            "ext-1",
            "\u{2028}",
            "[.",
            ".]",
            "Nov 15, 2026",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(word, 0..5).prop_map(|words| words.concat())
}

fn key() -> impl Strategy<Value = String> {
    // Keys contain no paths, because paths in keys are not restored, by design.
    prop_oneof![
        "[a-z$~]{0,4}",
        prop::sample::select(vec![
            "$any", "$ref", "$$ref", "$exact", "as", "type", "expect", "id"
        ])
        .prop_map(str::to_owned),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (1_000_000_000_u64..2_000_000_000).prop_map(Value::from),
        (-1e12_f64..1e12).prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            object_of(inner).prop_map(Value::from),
        ]
    })
}

fn object_of(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::vec((key(), inner), 0..4).prop_map(|fields| fields.into_iter().collect())
}

/// Generates the second argument of [`exchange_frames`]: the kind of exchange and its contents.
fn exchange() -> impl Strategy<Value = (u8, Value, Value, String)> {
    (0..6_u8, value(), value(), text())
}

fn exchange_frames(
    index: usize,
    (kind, sent, received, text): (u8, Value, Value, String),
) -> Vec<SentFrame> {
    let id = format!("host-id-{index}");
    let own = format!("ext-{index}");
    match kind {
        0 => vec![
            (
                Host,
                json!({"type": "tool_call", "id": id, "name": "t", "args": {"v": sent}}),
            ),
            (
                Extension,
                json!({"type": "tool_progress", "id": id, "text": text}),
            ),
            (
                Extension,
                json!({"type": "tool_result", "id": id, "content": [], "structured_content": received}),
            ),
        ],
        1 => vec![
            (
                Host,
                json!({"type": "command_invoked", "id": id, "name": "c", "args": text}),
            ),
            (
                Extension,
                json!({"type": "command_response", "id": id, "open_panel": {"id": own, "v": received}}),
            ),
            (
                Host,
                json!({"type": "panel_key", "panel_id": own, "key": "up"}),
            ),
        ],
        2 => vec![
            (
                Host,
                json!({"type": "event_intercept", "id": id, "event": "tool_call", "tool_args": sent}),
            ),
            (
                Extension,
                json!({"type": "event_intercept_response", "id": id, "modified_args": received}),
            ),
        ],
        3 => vec![
            (
                Extension,
                json!({"type": "call_tool", "id": own, "name": "read", "args": received}),
            ),
            (
                Host,
                json!({"type": "tool_result", "id": own, "content": sent}),
            ),
        ],
        4 => vec![(
            Extension,
            json!({"type": "notify", "message": text, "v": received}),
        )],
        _ => vec![(Host, json!({"type": "event", "event": text, "v": sent}))],
    }
}

fn session() -> impl Strategy<Value = Vec<SentFrame>> {
    prop::collection::vec(exchange(), 0..6).prop_map(|exchanges| {
        let handshake = [
            (Extension, json!({"type": "hello", "name": "x"})),
            (
                Host,
                json!({"type": "hello_ack", "protocol_version": 1, "cwd": "/home/ann/work"}),
            ),
            (Extension, json!({"type": "ready"})),
        ];
        let exchanges = exchanges.into_iter().enumerate();
        let exchanges = exchanges.flat_map(|(index, exchange)| exchange_frames(index, exchange));
        handshake.into_iter().chain(exchanges).collect()
    })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_recording_parses_and_replays(frames in session(), whole in any::<bool>()) {
        let frames = if whole { &frames[..] } else { &frames[3..] };
        let mut recorder = Recorder::new("session").places(places());
        for (who, frame) in frames {
            recorder.frame(*who, frame, Duration::ZERO);
        }
        let transcript = recorder.finish();
        let text = transcript.to_text();
        let parsed = parse(&text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        prop_assert_eq!(&parsed, &transcript);
        replay_frames(&parsed, frames, places())
            .map_err(|why| TestCaseError::fail(format!("{why}\n{text}")))?;
        prop_assert!(!text.contains("/home/ann/"), "{}", text);
        for smaller in smaller(&transcript) {
            prop_assert!(parse(&smaller.to_text()).is_ok(), "{}", smaller.to_text());
        }
    }

    #[test]
    fn a_sent_frame_round_trips(frame in object_of(value())) {
        let mut recorder = Recorder::new("sent").places(places());
        let frame = Value::Object(frame);
        recorder.frame(Host, &frame, Duration::ZERO);
        let line = recorder.finish().steps[0].to_line();
        let mut step: Value = serde_json::from_str(&line).unwrap();
        let template = Template::new(step["send"].take()).unwrap();
        // `data_dir` and `extension_dir` have the same path, so either name is fine.
        prop_assert_eq!(template.fill(&mut Bindings::new(places())).unwrap(), frame);
    }

    #[test]
    fn an_accepted_pattern_matches(expected in object_of(value()), seen in object_of(value())) {
        // Records one frame as expected, then accepts another one.
        let mut recorder = Recorder::new("accept").places(places());
        recorder.frame(Extension, &Value::Object(expected), Duration::ZERO);
        let transcript = recorder.finish();
        let seen = Value::Object(seen);
        let mut all = Seen::default();
        all.at(0, seen.clone());
        let bindings = Bindings::new(places());
        let accepted = accept(&transcript, &all, &bindings);
        prop_assert!(parse(&accepted.to_text()).is_ok());
        let step: Value = serde_json::from_str(&accepted.steps[0].to_line()).unwrap();
        let fits = matches(&step["expect"], &seen, &mut Bindings::new(places()));
        prop_assert!(fits.is_ok(), "{:?}\n{}", fits, step);
        prop_assert_eq!(accept(&accepted, &all, &bindings), accepted);
    }

    #[test]
    fn parsing_never_panics_on_any_text(text in "(\\PC|\n){0,200}") {
        let _ = parse(&text);
        let _ = parse(&format!("{{\"zt\":1}}\n{text}"));
    }

    #[test]
    fn parsing_never_panics_on_any_step(verb in verb(), value in value(), more in object_of(value())) {
        let mut step = Map::new();
        step.insert(verb, value);
        step.extend(more);
        let text = format!("{{\"zt\":1}}\n{}", Value::from(step));
        if let Ok(transcript) = parse(&text) {
            let written = transcript.to_text();
            prop_assert_eq!(parse(&written).unwrap(), transcript, "{}", written);
        }
    }
}

fn verb() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "zt",
        "send",
        "expect",
        "unordered",
        "use",
        "wait",
        "quiet",
        "raw",
        "split",
        "stall_stdout",
        "close_stdin",
        "signal",
        "exit",
        "stderr",
        "#",
    ])
    .prop_map(str::to_owned)
}
