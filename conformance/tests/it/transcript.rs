//! Transcripts, through the public API.

mod accept;
mod matching;
mod parse;
mod properties;
mod recorder;
mod recordings;
mod smaller;

use serde_json::Value;
use zot_conform::{
    Party,
    transcript::{Bindings, Places, Transcript, Verb},
};

/// A frame and its sender.
type SentFrame = (Party, Value);

/// Plays the frames of a recording against its transcript: each `send` must produce the host's
/// frame, each `expect` must match the extension's.
fn replay_frames(
    transcript: &Transcript,
    frames: &[SentFrame],
    places: Places,
) -> Result<(), String> {
    let mut bindings = Bindings::new(places);
    let mut frames = frames.iter();
    let mut steps = transcript.steps.iter().peekable();
    if steps
        .next_if(|step| step.verb == Verb::UseHandshake)
        .is_some()
    {
        // The handshake ends with `ready` or, from hosts that reply late, with `hello_ack`.
        let left = transcript.steps.len() - 1;
        frames = frames.as_slice()[frames.len() - left..].iter();
    }
    for step in steps {
        let (who, frame) = frames.next().ok_or("more steps than frames")?;
        let pattern = match (&step.verb, who) {
            (Verb::Send(template), Party::Host) => template.as_pattern().clone(),
            (Verb::Expect(expect), Party::Extension) => expect.frame.clone(),
            (other, who) => return Err(format!("line {}: {other:?} for {who:?}", step.line)),
        };
        let fits = pattern.matches(frame, &mut bindings);
        fits.map_err(|mismatch| format!("line {}: {mismatch}", step.line))?;
    }
    match frames.next() {
        Some((_, frame)) => Err(format!("no step for {frame}")),
        None => Ok(()),
    }
}
