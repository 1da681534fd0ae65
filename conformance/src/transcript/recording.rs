//! Reads recordings from other hosts, one `{"t":SECONDS,"dir":"<","frame":FRAME}` per line; `<` is
//! from the extension.

use std::time::Duration;

use serde_json::Value;

use super::{ParseError, Recorder, Transcript, equal::shown, parse::line_value};
use crate::Party;

/// Converts a recording to a transcript.
pub fn from_recording(mut recorder: Recorder, text: &str) -> Result<Transcript, ParseError> {
    for (line, text) in (1..).zip(text.lines()) {
        if text.trim().is_empty() {
            continue;
        }
        let (who, frame, at) = entry(text).map_err(|why| ParseError { line, why })?;
        recorder.frame(who, &frame, at);
    }
    Ok(recorder.finish())
}

fn entry(line: &str) -> Result<(Party, Value, Duration), String> {
    let mut value = line_value(line)?;
    let at = value.get("t").and_then(Value::as_f64);
    let at = at.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let at = at.ok_or("`t` must be the time in seconds")?;
    let who = match value.get("dir").and_then(Value::as_str) {
        Some(">") => Party::Host,
        Some("<") => Party::Extension,
        _ => {
            return Err(
                "`dir` must be \">\" (host to extension) or \"<\" (extension to host)".to_owned(),
            );
        }
    };
    match value.get_mut("frame").map(Value::take) {
        Some(frame @ Value::Object(_)) => Ok((who, frame, at)),
        other => Err(format!(
            "`frame` must be an object, not {}",
            shown(&other.unwrap_or_default())
        )),
    }
}
