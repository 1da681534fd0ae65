//! Replays a transcript and updates it with what the extension sends now.

use std::{sync::PoisonError, time::Duration};

use zot_process::Spawner;

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
/// missing or has another type: then the transcript must be recorded again.
pub async fn replay_and_accept(
    target: &Target,
    script: &Script,
    scale: f64,
    startup: Option<Duration>,
    observer: Option<Observer>,
) -> Result<String, Box<Finding>> {
    let start = Start {
        spawner: Spawner::new().map_err(|error| Box::new(Finding::from_error(&error)))?,
        confined: true,
        scale,
        observer,
        directories: None,
    };
    let hello = startup.unwrap_or(target.hello_limit()).mul_f64(scale);
    let met = survey(target, &start, hello, &Sink::default()).await;
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
        hello,
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
    let mut collected = sink.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(violation) = collected.violations.drain(..).next() {
        let mut finding = violation.finding;
        finding.what = format!("{}: {}", violation.check, finding.what);
        return Err(Box::new(finding));
    }
    Ok(accept_text(
        &script.text,
        transcript,
        &played.seen,
        &played.bindings,
    ))
}
