//! Transcripts, through the library's door.

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

/// A frame and who said it.
type Said = (Party, Value);

/// Plays a recording's own frames against it: each send is what the host said, each expect what the extension said.
fn plays_itself(transcript: &Transcript, said: &[Said], places: Places) -> Result<(), String> {
    let mut bindings = Bindings::new(places);
    let mut said = said.iter();
    let mut steps = transcript.steps.iter().peekable();
    if steps
        .next_if(|step| step.verb == Verb::UseHandshake)
        .is_some()
    {
        // The last frame of a handshake is `ready` or, from hosts that answer late, `hello_ack`.
        let left = transcript.steps.len() - 1;
        said = said.as_slice()[said.len() - left..].iter();
    }
    for step in steps {
        let (who, frame) = said.next().ok_or("more steps than frames")?;
        let pattern = match (&step.verb, who) {
            (Verb::Send(template), Party::Host) => template.to_pattern(),
            (Verb::Expect(expect), Party::Extension) => expect.frame.clone(),
            (other, who) => return Err(format!("line {}: {other:?} for {who:?}", step.line)),
        };
        let fits = pattern.matches(frame, &mut bindings);
        fits.map_err(|mismatch| format!("line {}: {mismatch}", step.line))?;
    }
    match said.next() {
        Some((_, frame)) => Err(format!("no step for {frame}")),
        None => Ok(()),
    }
}
