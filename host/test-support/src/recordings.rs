//! Frames that the Go program and its extensions exchanged, and the examples from its
//! documentation. `fixtures/README.md` explains where they come from.

use std::{fs, path::PathBuf};

use serde_json::Value;

use crate::fixture;

/// A recorded session between the Go program and one of its example extensions.
pub struct Recording {
    /// The name of the extension.
    pub name: String,
    pub path: PathBuf,
    pub text: String,
}

impl Recording {
    /// Returns each frame, and whether the extension sent it.
    pub fn frames(&self) -> Vec<(bool, Value)> {
        let frames = lines(&self.text).into_iter().map(|mut line| {
            let from_extension = match line["dir"].as_str() {
                Some("<") => true,
                Some(">") => false,
                other => panic!("{}: direction {other:?}", self.path.display()),
            };
            (from_extension, line["frame"].take())
        });
        frames.collect()
    }
}

/// Returns the recordings, sorted by name.
pub fn recordings() -> [Recording; 3] {
    ["clock", "guard", "weather"].map(recording)
}

/// Returns one recording.
pub fn recording(name: &str) -> Recording {
    let path = fixture("recordings").join(format!("{name}.ndjson"));
    Recording {
        name: name.to_owned(),
        text: read(&path),
        path,
    }
}

/// Returns the frames, manifests and content blocks printed in the extension documentation.
pub fn published_for_extensions() -> Vec<Value> {
    lines(&read(&fixture("published/extension.ndjson")))
}

/// Returns the commands, events and messages printed in the documentation of the driver protocol.
pub fn published_for_drivers() -> Vec<Value> {
    lines(&read(&fixture("published/rpc.ndjson")))
}

fn read(path: &PathBuf) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Parses each line of NDJSON text.
pub fn lines(text: &str) -> Vec<Value> {
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().expect("every line is JSON")
}
