//! The recordings of the Go program.

use serde_json::Value;
use zot_conform::{
    Party,
    transcript::{Place, Places, Recorder, from_recording, parse},
};
use zot_test_support::recordings::recordings;

use super::{SentFrame, replay_frames};

#[test]
fn go_recordings_convert_and_replay() {
    for recording in recordings() {
        let (name, text) = (&*recording.name, &recording.text);
        let transcript = from_recording(Recorder::new(name), text).unwrap();
        let written = transcript.to_text();
        assert_eq!(parse(&written).unwrap(), transcript, "{written}");
        assert!(!written.contains("/home/"), "{written}");
        let frames: Vec<SentFrame> = recording.frames().into_iter().map(sender).collect();
        let ack = &frames
            .iter()
            .find(|(_, frame)| frame["type"] == "hello_ack")
            .unwrap()
            .1;
        let mut places = Places::default();
        for place in [Place::Cwd, Place::ExtensionDir, Place::DataDir] {
            places.set(place, ack[place.name()].as_str().unwrap());
        }
        replay_frames(&transcript, &frames, places).unwrap_or_else(|why| panic!("{name}: {why}"));
        insta::assert_snapshot!(name, written);
    }
}

fn sender((from_extension, frame): (bool, Value)) -> SentFrame {
    let party = if from_extension {
        Party::Extension
    } else {
        Party::Host
    };
    (party, frame)
}

#[test]
fn an_invalid_recording_line_is_reported() {
    let why = |text: &str| {
        from_recording(Recorder::new("x"), text)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        why("\n{\"t\":-1}"),
        "line 2: `t` must be the time in seconds"
    );
    assert_eq!(
        why("{\"t\":1,\"dir\":\"=\"}"),
        "line 1: `dir` must be \">\" (host to extension) or \"<\" (extension to host)"
    );
    assert_eq!(
        why("{\"t\":1,\"dir\":\"<\",\"frame\":[]}"),
        "line 1: `frame` must be an object, not []"
    );
}
