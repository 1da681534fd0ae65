//! The recordings of the Go host, if available.

use std::{fs, path::Path};

use serde_json::Value;
use zot_conform::{
    Party,
    transcript::{Place, Places, Recorder, from_recording, parse},
};

use super::{SentFrame, replay_frames};

#[test]
fn go_recordings_convert_and_replay() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/recordings");
    let Ok(files) = fs::read_dir(&folder) else {
        eprintln!("skipped: shared/recordings not found");
        return;
    };
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    for file in files {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&file).unwrap();
        let transcript = from_recording(Recorder::new(name), &text).unwrap();
        let written = transcript.to_text();
        assert_eq!(parse(&written).unwrap(), transcript, "{written}");
        assert!(!written.contains("/home/"), "{written}");
        let frames = frames(&text);
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

fn frames(text: &str) -> Vec<SentFrame> {
    let entries = text.lines().map(|line| {
        let mut entry: Value = serde_json::from_str(line).unwrap();
        let who = match entry["dir"].as_str() {
            Some(">") => Party::Host,
            _ => Party::Extension,
        };
        (who, entry["frame"].take())
    });
    entries.collect()
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
