//! Plays a transcript against an extension, with the harness as the host.

mod describe;
mod expect;
mod wire;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Bindings, DEFAULT_WITHIN, Needs, Place, Places, Seen, Step, Transcript, Verb};
use crate::{
    check::until_ready,
    diagnose, samples,
    session::{ReceivedLine, Session, Sink, Start, WaitError},
    surface::Surface,
    target::Target,
    verdict::Finding,
};

/// How long the extension may take to exit after the last step. Exceeding this is not a failure of
/// the transcript.
const EXIT_TIMEOUT: Duration = Duration::from_millis(500);

/// The extension to play a transcript against.
#[derive(Clone, Copy)]
pub(crate) struct Stage<'a> {
    pub(crate) target: &'a Target,
    pub(crate) start: &'a Start,
    /// What the extension registered on an earlier start.
    pub(crate) surface: &'a Surface,
}

/// How to treat frames that do not match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Stop at the first mismatch.
    Strict,
    /// Accept any frame of the right type.
    Lenient,
    /// Like `Strict`, but without diagnosing the failure, for callers that only need to know
    /// whether playback fails.
    Probe,
}

/// The result of playing a transcript.
pub(crate) struct Played {
    /// Why playback stopped early.
    pub(crate) failure: Option<Box<StepFailure>>,
    /// The values seen at each step.
    pub(crate) seen: Seen,
    /// The names bound at the end.
    pub(crate) bindings: Bindings,
}

/// A step failed. Boxed in results because a finding is large and rare.
#[derive(Debug)]
pub(crate) struct StepFailure {
    pub(crate) finding: Finding,
    /// Why no frame arrived, if that is the failure.
    pub(crate) wait_error: Option<WaitError>,
}

/// Plays a transcript against a new process. `label` is the file name to use in findings.
pub(crate) async fn play(
    stage: Stage<'_>,
    transcript: &Transcript,
    label: &str,
    mode: Mode,
    sink: Sink,
) -> Played {
    let session = Session::start(stage.target, stage.start, sink).await;
    let mut session = match session {
        Ok(session) => session,
        Err(error) => {
            return Played {
                failure: Some(Finding::from_error(&error).into()),
                seen: Seen::default(),
                bindings: Bindings::default(),
            };
        }
    };
    session.leave_calls();
    let mut player = Player {
        bindings: Bindings::new(places(&session, stage.target)),
        stage,
        ignore: &transcript.head.ignore,
        session,
        at: 0,
        seen: Seen::default(),
        asked: Vec::new(),
        split: Vec::new(),
        begun: Vec::new(),
        stalled: None,
        mode,
    };
    let mut failure = None;
    for (index, step) in transcript.steps.iter().enumerate() {
        if let Err(mut failed) = player.step(index, step).await {
            let what = &mut failed.finding.what;
            *what = format!("{label}:{}: {what}", step.line);
            failure = Some(failed);
            break;
        }
    }
    player.shut_down().await;
    Played {
        failure,
        seen: player.seen,
        bindings: player.bindings,
    }
}

/// Returns the directories for the placeholders of a transcript that is played against this
/// process.
pub(crate) fn places(session: &Session, target: &Target) -> Places {
    let mut places = Places::default()
        .with(Place::Cwd, session.cwd().to_string_lossy())
        .with(Place::ExtensionDir, target.dir.to_string_lossy())
        .with(Place::DataDir, session.data_dir().to_string_lossy())
        .with(Place::Tmp, std::env::temp_dir().to_string_lossy());
    if let Some(home) = std::env::home_dir() {
        places.set(Place::Home, home.to_string_lossy());
    }
    places
}

/// Returns what a transcript needs but the extension does not register.
pub(crate) fn missing(needs: &Needs, surface: &Surface) -> Vec<String> {
    let tool = |name: &&String| !surface.tools.iter().any(|it| it.name == **name);
    let command = |name: &&String| {
        let known = surface.commands.iter();
        !known.into_iter().any(|it| it.eq_ignore_ascii_case(name))
    };
    let intercept = |name: &&String| !surface.intercepts.contains(name);
    let tools = needs.tools.iter().filter(tool);
    let commands = needs.commands.iter().filter(command);
    let intercepts = needs.intercept.iter().filter(intercept);
    tools
        .map(|name| format!("the tool `{name}`"))
        .chain(commands.map(|name| format!("the command `/{name}`")))
        .chain(intercepts.map(|name| format!("the intercept `{name}`")))
        .collect()
}

struct Player<'a> {
    stage: Stage<'a>,
    ignore: &'a [String],
    session: Session,
    /// Number of received lines that have been handled.
    at: usize,
    bindings: Bindings,
    seen: Seen,
    /// The requests sent so far.
    asked: Vec<Value>,
    /// Sizes of the pieces in which to write the next frame.
    split: Vec<usize>,
    /// An incomplete line written with `raw`.
    begun: Vec<u8>,
    /// When to resume reading stdout.
    stalled: Option<Instant>,
    mode: Mode,
}

type Done = Result<(), Box<StepFailure>>;

impl From<Finding> for Box<StepFailure> {
    fn from(finding: Finding) -> Self {
        Self::new(StepFailure {
            finding,
            wait_error: None,
        })
    }
}

impl Player<'_> {
    async fn step(&mut self, index: usize, step: &Step) -> Done {
        match &step.verb {
            Verb::Comment(_) => Ok(()),
            Verb::UseHandshake => self.handshake().await,
            Verb::Send(template) => self.send(template).await,
            Verb::Raw(text) => self.raw(text.as_bytes()).await,
            Verb::Split(pieces) => {
                self.split.clone_from(pieces);
                Ok(())
            }
            Verb::Expect(expect) => self.expect(index, expect).await,
            Verb::Unordered { expects, within } => self.unordered(index, expects, *within).await,
            Verb::Quiet(during) => self.quiet(*during).await,
            Verb::Wait(during) => {
                let until = Instant::now() + *during;
                self.session.listen(*during).await;
                // `listen` returns early if the process has exited, but the wait must still take
                // the full time.
                tokio::time::sleep_until(until.into()).await;
                Ok(())
            }
            Verb::StallStdout(during) => {
                // Shrink the pipe: a 64 KiB buffer would hide an extension that blocks on writing.
                self.session.narrow();
                self.session.stall_for(*during);
                self.stalled = Some(Instant::now() + *during);
                Ok(())
            }
            Verb::CloseStdin => {
                self.session.close_stdin();
                Ok(())
            }
            Verb::Signal(signal) => {
                let name = format!("SIG{}", signal.name);
                self.session.signal(signal.system, &name);
                Ok(())
            }
            Verb::Exit { how, within } => self.exit(index, how, *within).await,
            Verb::Stderr { line, within } => self.stderr(line, *within).await,
        }
    }

    /// Performs the handshake up to `ready`.
    async fn handshake(&mut self) -> Done {
        let hello = |received: &ReceivedLine| received.is("hello");
        let limit = self.stage.start.hello_limit(self.stage.target);
        if let Err(wait_error) = self.session.find(self.at, limit, hello).await {
            return Err(self.missing_reply(wait_error, "`hello`", hello).await);
        }
        let ack = samples::hello_ack(&self.session, self.stage.target);
        let ready = match self.session.send_as_is(&ack).await {
            Ok(()) => until_ready(&mut self.session, Some(self.stage.surface)).await,
            Err(wait_error) => Err(wait_error),
        };
        if let Err(wait_error) = ready {
            let ready = |received: &ReceivedLine| received.is("ready");
            return Err(self
                .missing_reply(wait_error, "its registrations", ready)
                .await);
        }
        let received = self.session.received();
        let ready = received.iter().position(|received| received.is("ready"));
        self.at = ready.map_or(received.len(), |at| at + 1);
        Ok(())
    }

    /// Waits until any stall of stdout is over, then returns the scaled timeout.
    async fn within(&mut self, within: Option<Duration>) -> Duration {
        if let Some(until) = self.stalled.take() {
            tokio::time::sleep_until(until.into()).await;
        }
        self.session.scaled(within.unwrap_or(DEFAULT_WITHIN))
    }

    /// Diagnoses why no frame arrived.
    async fn missing_reply(
        &mut self,
        wait_error: WaitError,
        what: &str,
        came: impl Fn(&ReceivedLine) -> bool,
    ) -> Box<StepFailure> {
        let target = self.stage.target;
        let finding = match self.mode {
            Mode::Probe => Finding::default(),
            _ => diagnose::missing_reply(&mut self.session, target, wait_error, what, came).await,
        };
        Box::new(StepFailure {
            finding,
            wait_error: Some(wait_error),
        })
    }

    /// Shuts the extension down, as a host would.
    async fn shut_down(&mut self) {
        if self.session.exited().is_some() || self.mode == Mode::Probe {
            return;
        }
        if self
            .session
            .send(&json!({"type": "shutdown"}))
            .await
            .is_ok()
        {
            self.session.close_stdin();
            self.session.exit(EXIT_TIMEOUT).await;
        }
    }
}
