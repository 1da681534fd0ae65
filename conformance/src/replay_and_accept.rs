//! Replays a transcript and updates it with what the extension sends now.

use std::time::Duration;

use crate::{
    session::{Observer, Sink, Start},
    survey::survey,
    target::Target,
    transcript::{
        Script, accept_text,
        play::{Mode, Stage, missing, play},
    },
    verdict::Finding,
};

/// Returns the transcript's text, updated with what the extension sends now. Fails if a frame is
/// missing or has another type, because the transcript must then be recorded again.
pub async fn replay_and_accept(
    target: &Target,
    script: &Script,
    scale: f64,
    startup: Option<Duration>,
    observer: Option<Observer>,
) -> Result<String, Box<Finding>> {
    let start = Start::new(scale, startup, observer)?;
    let met = survey(target, &start, &Sink::default()).await;
    if met.registered().is_none() {
        return Err(met.into_problem());
    }
    let transcript = &script.transcript;
    let missing = missing(&transcript.head.needs, &met.surface);
    if !missing.is_empty() {
        let what = format!("it does not register {}", missing.join(", "));
        return Err(Box::new(Finding::new(what)));
    }
    let stage = Stage {
        target,
        start: &start,
        surface: &met.surface,
    };
    let sink = Sink::default();
    let label = script.path.display().to_string();
    let played = play(stage, transcript, &label, Mode::Lenient, sink.clone()).await;
    start.spawner.idle().await;
    if let Some(failure) = played.failure {
        let mut finding = failure.finding;
        finding.hint.get_or_insert(
            "accept only updates the content of frames; record the transcript again if the frames themselves changed"
                .to_owned(),
        );
        return Err(Box::new(finding));
    }
    // Do not accept frames that break a rule.
    if let Some(violation) = sink.lock().violations.drain(..).next() {
        return Err(Box::new(violation.into_finding()));
    }
    Ok(accept_text(
        &script.text,
        transcript,
        &played.seen,
        &played.bindings,
    ))
}
