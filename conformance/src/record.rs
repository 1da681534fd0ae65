//! Acts as the host, following instructions line by line, and records the exchange as a transcript.

mod line;

use std::time::{Duration, Instant};

use serde_json::json;
use zot_process::Spawner;

use self::line::ScriptLine;
use crate::{
    Party, diagnose,
    reply::Reply,
    samples,
    session::{Observer, ReceivedLine, Session, Sink, Start, Violation, WaitError},
    surface::Surface,
    survey::meet,
    target::Target,
    transcript::{Bindings, Recorder, Transcript, play::places},
    verdict::Finding,
};

pub use line::HELP;

/// If no frame arrives for this long, all frames caused by a line are assumed to have arrived.
const SETTLED: Duration = Duration::from_millis(150);
/// Maximum time to listen after a line, for an extension that keeps sending frames.
const MAX_LISTEN: Duration = Duration::from_secs(2);
/// How long the extension may take to exit.
const EXIT_TIMEOUT: Duration = Duration::from_millis(500);
/// A timeout that never expires in practice.
const NO_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 3600);

/// A recording in progress.
pub struct Recording {
    target: Target,
    surface: Surface,
    session: Session,
    recorder: Recorder,
    bindings: Bindings,
    /// Number of received lines that have been recorded.
    recorded: usize,
    ended: bool,
    spawner: Spawner,
    sink: Sink,
}

/// The result of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineOutcome {
    /// The line was sent, or there was nothing to send.
    Done,
    /// The user asked for help.
    Help,
    /// The recording is over.
    Ended,
}

/// Why a line failed.
#[derive(Debug)]
pub enum LineError {
    /// The line is invalid, or its frame is not one that a host sends. Nothing was sent.
    Refused(String),
    /// The line was sent, but the expected frame did not arrive.
    Failed(Box<Finding>),
}

impl Recording {
    /// Starts the extension and performs the handshake.
    pub async fn begin(
        target: Target,
        name: &str,
        scale: f64,
        startup: Option<Duration>,
        observer: Option<Observer>,
    ) -> Result<Self, Box<Finding>> {
        let start = Start::new(scale, startup, observer)?;
        let sink = Sink::default();
        let (survey, session) = meet(&target, &start, &sink).await;
        let Some(mut session) = session else {
            return Err(survey.into_problem());
        };
        session.leave_calls();
        let places = places(&session, &target);
        let mut recorder = secrets().fold(Recorder::new(name), Recorder::secret);
        recorder = recorder.places(places.clone());
        let mut recording = Self {
            bindings: Bindings::new(places),
            recorded: 0,
            ended: false,
            spawner: start.spawner,
            surface: survey.surface,
            target,
            session,
            recorder,
            sink,
        };
        recording.record_handshake();
        Ok(recording)
    }

    fn record_handshake(&mut self) {
        let hello = self.session.received().iter().position(|it| it.is("hello"));
        self.recorded = hello.unwrap_or_default();
        if let Some(hello) = self.session.received().get(self.recorded) {
            let (value, at) = (hello.value.clone(), hello.at);
            self.recorder.frame(Party::Extension, &value, at);
            self.recorded += 1;
            let ack = samples::hello_ack(&self.session, &self.target);
            self.recorder.frame(Party::Host, &ack, at);
        }
        self.catch_up();
    }

    /// Sends the frame for a line and waits until the frames that it causes have arrived.
    pub async fn run_line(&mut self, line: &str) -> Result<LineOutcome, LineError> {
        let reply = match self.send(line).await? {
            Sent::Nothing(outcome) => return Ok(outcome),
            Sent::Frame(reply) => reply,
        };
        if let Some((reply, id)) = reply {
            let within = self.session.scaled(reply.limit(&self.target));
            if let Err(wait_error) = self.session.reply(reply.kind, &id, within).await {
                return Err(self.missing_reply(wait_error, &reply, &id).await);
            }
        }
        let began = Instant::now();
        let settled = self.session.scaled(SETTLED);
        while began.elapsed() < MAX_LISTEN {
            let received = self.session.received().len();
            if self
                .session
                .find(received, settled, |_| true)
                .await
                .is_err()
            {
                break;
            }
        }
        self.catch_up();
        Ok(if self.ended {
            LineOutcome::Ended
        } else {
            LineOutcome::Done
        })
    }

    /// Sends the frame for a line. [`Self::record_incoming`] records what arrives.
    pub async fn send_line(&mut self, line: &str) -> Result<LineOutcome, LineError> {
        Ok(match self.send(line).await? {
            Sent::Nothing(outcome) => outcome,
            Sent::Frame(_) if self.ended => {
                // Also record what the extension sends while it exits.
                self.session.listen(EXIT_TIMEOUT).await;
                self.catch_up();
                LineOutcome::Ended
            }
            Sent::Frame(_) => LineOutcome::Done,
        })
    }

    /// Records incoming frames until the extension closes its stdout. Cancel safe.
    pub async fn record_incoming(&mut self) {
        while let Ok(at) = self.session.find(self.recorded, NO_TIMEOUT, |_| true).await {
            debug_assert!(at >= self.recorded);
            self.catch_up();
        }
    }

    async fn send(&mut self, line: &str) -> Result<Sent, LineError> {
        let id = self.session.new_id();
        let read = ScriptLine::read(line, &self.surface, &id).map_err(LineError::Refused)?;
        let frame = match read {
            ScriptLine::Nothing => return Ok(Sent::Nothing(LineOutcome::Done)),
            ScriptLine::Help => return Ok(Sent::Nothing(LineOutcome::Help)),
            ScriptLine::End => return Ok(Sent::Nothing(LineOutcome::Ended)),
            ScriptLine::Wait(during) => {
                self.session.listen(during).await;
                self.catch_up();
                return Ok(Sent::Nothing(LineOutcome::Done));
            }
            ScriptLine::Template(template) => {
                let filled = template.fill(&mut self.bindings);
                filled.map_err(|error| LineError::Refused(error.to_string()))?
            }
            ScriptLine::Frame(frame) => frame,
        };
        line::valid(&frame).map_err(LineError::Refused)?;
        self.catch_up();
        self.ended |= frame["type"] == "shutdown";
        let at = self.session.elapsed();
        self.recorder.frame(Party::Host, &frame, at);
        if let Err(wait_error) = self.session.send(&frame).await {
            let reply = Reply::to(&frame).unwrap_or(Reply {
                kind: "",
                words: "further frames".to_owned(),
            });
            return Err(self.missing_reply(wait_error, &reply, "").await);
        }
        let id = frame["id"].as_str().unwrap_or_default().to_owned();
        Ok(Sent::Frame(Reply::to(&frame).map(|it| (it, id))))
    }

    async fn missing_reply(&mut self, wait_error: WaitError, reply: &Reply, id: &str) -> LineError {
        let came = |received: &ReceivedLine| received.is(reply.kind) && received.id() == Some(id);
        let target = &self.target;
        let words = &reply.words;
        let finding =
            diagnose::missing_reply(&mut self.session, target, wait_error, words, came).await;
        LineError::Failed(Box::new(finding))
    }

    /// Records the frames that have arrived.
    fn catch_up(&mut self) {
        for received in &self.session.received()[self.recorded..] {
            // Lines that are not frames are reported by `finish`.
            if received.value.is_object() {
                self.recorder
                    .frame(Party::Extension, &received.value, received.at);
            }
        }
        self.recorded = self.session.received().len();
    }

    /// Shuts the extension down, and returns the transcript and the rules that its frames broke.
    pub async fn finish(mut self) -> (Transcript, Vec<Finding>) {
        self.catch_up();
        if self.session.exited().is_none() {
            if !self.ended {
                let _ = self.session.send(&json!({"type": "shutdown"})).await;
            }
            self.session.close_stdin();
            self.session.exit(EXIT_TIMEOUT).await;
        }
        let transcript = self.recorder.finish();
        drop(self.session);
        self.spawner.idle().await;
        let violations = std::mem::take(&mut self.sink.lock().violations);
        let broken = violations.into_iter().map(Violation::into_finding);
        (transcript, broken.collect())
    }
}

/// What was sent for a line.
enum Sent {
    Nothing(LineOutcome),
    /// A frame and, if it is a request, the expected reply and the request's id.
    Frame(Option<(Reply, String)>),
}

/// Returns the values of environment variables whose names suggest a secret.
fn secrets() -> impl Iterator<Item = String> {
    const WORDS: [&str; 5] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD"];
    std::env::vars_os().filter_map(|(name, value)| {
        let name = name.to_str()?.to_uppercase();
        let is_secret = name.split('_').any(|word| WORDS.contains(&word));
        value
            .into_string()
            .ok()
            .filter(|it| is_secret && it.len() >= 8)
    })
}
