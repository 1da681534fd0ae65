//! Plays the host as it is told, line by line, and makes a transcript of what passes.

mod line;

use std::{
    sync::PoisonError,
    time::{Duration, Instant},
};

use serde_json::json;
use zot_process::Spawner;

use self::line::Line;
use crate::{
    Party, diagnose,
    reply::Reply,
    samples,
    session::{Heard, Onlooker, Session, Silence, Sink, Start},
    surface::Surface,
    survey::meet,
    target::Target,
    transcript::{Bindings, Recorder, Transcript, play::places},
    verdict::Finding,
};

pub use line::HELP;

/// After how long without a frame everything that a line has caused has come.
const SETTLED: Duration = Duration::from_millis(150);
/// A chatty extension is not listened to for longer than this after a line.
const LONGEST: Duration = Duration::from_secs(2);
/// How long an extension is given to leave.
const LEAVE: Duration = Duration::from_millis(500);
/// Longer than anybody types.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// A recording that goes on.
pub struct Recording {
    target: Target,
    surface: Surface,
    session: Session,
    recorder: Recorder,
    bindings: Bindings,
    /// How many of the lines heard are recorded.
    recorded: usize,
    ended: bool,
    spawner: Spawner,
    sink: Sink,
}

/// What a line came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heeded {
    /// It was said, or was none to say.
    Done,
    /// It asks what may be typed.
    Help,
    /// Nothing more can be said.
    Ended,
}

/// Why a line was not heeded.
#[derive(Debug)]
pub enum Unheeded {
    /// It cannot be understood, or no host says it; nothing was sent.
    Refused(String),
    /// It was said, and what should have come did not.
    Failed(Box<Finding>),
}

impl Recording {
    /// Starts the extension and shakes hands.
    pub async fn begin(
        target: Target,
        name: &str,
        scale: f64,
        startup: Option<Duration>,
        onlooker: Option<Onlooker>,
    ) -> Result<Self, Box<Finding>> {
        let start = Start {
            spawner: Spawner::new().map_err(|error| Box::new(Finding::from_error(&error)))?,
            confined: true,
            scale,
            onlooker,
            directories: None,
        };
        let limit = startup.unwrap_or(target.hello_limit()).mul_f64(scale);
        let sink = Sink::default();
        let (survey, session) = meet(&target, &start, limit, &sink).await;
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
        let hello = self.session.heard().iter().position(|it| it.is("hello"));
        self.recorded = hello.unwrap_or_default();
        if let Some(hello) = self.session.heard().get(self.recorded) {
            let (value, at) = (hello.value().clone(), hello.at);
            self.recorder.frame(Party::Extension, &value, at);
            self.recorded += 1;
            let ack = samples::hello_ack(&self.session, &self.target);
            self.recorder.frame(Party::Host, &ack, at);
        }
        self.catch_up();
    }

    /// Says what a line asks for, and waits for all that comes of it.
    pub async fn heed(&mut self, line: &str) -> Result<Heeded, Unheeded> {
        let said = self.say(line).await?;
        let Some(reply) = said else {
            return Ok(Heeded::Done);
        };
        let Said::Frame(reply) = reply else {
            return Ok(match reply {
                Said::Help => Heeded::Help,
                _ => Heeded::Ended,
            });
        };
        if let Some((reply, id)) = reply {
            let within = self.session.scaled(reply.limit(&self.target));
            if let Err(silence) = self.session.reply(reply.kind, &id, within).await {
                return Err(self.silent(silence, &reply, &id).await);
            }
        }
        let began = Instant::now();
        let settled = self.session.scaled(SETTLED);
        while began.elapsed() < LONGEST {
            let heard = self.session.heard().len();
            if self.session.find(heard, settled, |_| true).await.is_err() {
                break;
            }
        }
        self.catch_up();
        Ok(if self.ended {
            Heeded::Ended
        } else {
            Heeded::Done
        })
    }

    /// Says what a line asks for, and leaves what comes to [`Self::hear`].
    pub async fn heed_at_once(&mut self, line: &str) -> Result<Heeded, Unheeded> {
        Ok(match self.say(line).await? {
            Some(Said::Help) => Heeded::Help,
            Some(Said::End) => Heeded::Ended,
            _ if self.ended => {
                // The last words are part of it.
                self.session.listen(LEAVE).await;
                self.catch_up();
                Heeded::Ended
            }
            _ => Heeded::Done,
        })
    }

    /// Records what comes, until nothing more can. May be dropped at any time.
    pub async fn hear(&mut self) {
        while let Ok(at) = self.session.find(self.recorded, FOREVER, |_| true).await {
            debug_assert!(at >= self.recorded);
            self.catch_up();
        }
    }

    async fn say(&mut self, line: &str) -> Result<Option<Said>, Unheeded> {
        let read = Line::read(line, &self.surface).map_err(Unheeded::Refused)?;
        let id = self.session.new_id();
        let frame = match read {
            Line::Nothing => return Ok(None),
            Line::Help => return Ok(Some(Said::Help)),
            Line::End => return Ok(Some(Said::End)),
            Line::Wait(during) => {
                self.session.listen(during).await;
                self.catch_up();
                return Ok(None);
            }
            Line::Frame(template) => {
                let filled = template.fill(&mut self.bindings);
                filled.map_err(|error| Unheeded::Refused(error.to_string()))?
            }
            Line::Short(short) => short.frame(&id),
        };
        line::valid(&frame).map_err(Unheeded::Refused)?;
        self.catch_up();
        self.ended |= frame["type"] == "shutdown";
        let at = self.session.elapsed();
        self.recorder.frame(Party::Host, &frame, at);
        if let Err(silence) = self.session.send(&frame).await {
            let reply = Reply::to(&frame).unwrap_or(Reply {
                kind: "",
                words: "anything more".to_owned(),
            });
            return Err(self.silent(silence, &reply, "").await);
        }
        let id = frame["id"].as_str().unwrap_or_default().to_owned();
        Ok(Some(Said::Frame(Reply::to(&frame).map(|it| (it, id)))))
    }

    async fn silent(&mut self, silence: Silence, reply: &Reply, id: &str) -> Unheeded {
        let came = |heard: &Heard| heard.is(reply.kind) && heard.id() == Some(id);
        let target = &self.target;
        let words = &reply.words;
        let finding = diagnose::silence(&mut self.session, target, silence, words, came).await;
        Unheeded::Failed(Box::new(finding))
    }

    /// Records what has come.
    fn catch_up(&mut self) {
        for heard in &self.session.heard()[self.recorded..] {
            // What is no frame is found fault with at the end.
            if heard.value().is_object() {
                self.recorder
                    .frame(Party::Extension, heard.value(), heard.at);
            }
        }
        self.recorded = self.session.heard().len();
    }

    /// Ends the extension, and gives the transcript and the rules that its frames broke.
    pub async fn finish(mut self) -> (Transcript, Vec<Finding>) {
        self.catch_up();
        if self.session.exited().is_none() {
            if !self.ended {
                let _ = self.session.send(&json!({"type": "shutdown"})).await;
            }
            self.session.close_stdin();
            self.session.exit(LEAVE).await;
        }
        let transcript = self.recorder.finish();
        drop(self.session);
        self.spawner.idle().await;
        let mut collected = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        let broken = collected.violations.drain(..).map(|violation| {
            let mut finding = violation.finding;
            finding.what = format!("{}: {}", violation.check, finding.what);
            finding
        });
        (transcript, broken.collect())
    }
}

enum Said {
    /// A frame, the reply it asks for and the id of that.
    Frame(Option<(Reply, String)>),
    Help,
    End,
}

/// Values of the environment that are called like secrets.
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
