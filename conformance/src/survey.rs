//! The first start: whether the extension starts, its handshake, and what it registers.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::json;
use zot_protocol::{limits, validate::Hint};

use crate::{
    check::{Checked, broken, until_ready},
    diagnose, samples,
    session::{ReceivedLine, Session, Sink, Start, WaitError},
    surface::Surface,
    target::{Target, Unstartable},
    verdict::Finding,
};

/// How long to wait for `hello` before starting a second process to find out why it is missing.
const DOUBT: Duration = Duration::from_secs(2);
/// How long to wait for the extension to exit after the survey. Other checks judge whether it does.
const LEAVE: Duration = Duration::from_millis(500);

/// How far the first start got. A start that fails at one milestone reaches none of the later ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Milestone {
    /// The manifest is JSON and has its required fields.
    #[default]
    Manifest,
    /// The manifest's optional fields have the right types.
    ManifestFields,
    /// The manifest's name is safe as a file name.
    ManifestName,
    /// The program exists and starts.
    Program,
    /// The extension sends `hello` and completes the handshake.
    Hello,
    /// The extension has registered everything.
    Ready,
}

/// The observations of the first start.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// The milestone at which the start failed, or `Ready`.
    pub(crate) reached: Milestone,
    /// What went wrong, and at which milestone. Not every problem ends the survey.
    pub(crate) problems: Vec<(Milestone, Finding)>,
    /// The name in the manifest; `None` for a bare command.
    pub(crate) manifest_name: Option<String>,
    /// The unknown fields of the manifest.
    pub(crate) manifest_hints: Vec<Hint>,
    pub(crate) surface: Surface,
    /// How long a host waits for the registrations.
    pub(crate) startup_limit: Duration,
}

impl Survey {
    fn fail(mut self, reached: Milestone, finding: Finding) -> Self {
        self.problems.push((reached, finding));
        self.reached = reached;
        self
    }

    /// A survey of an extension that cannot be started.
    pub(crate) fn unstartable(why: &Unstartable) -> Self {
        Self::default().fail(why.milestone(), Finding::from_error(why))
    }

    /// Judges one milestone; `None` if the survey ended before it.
    pub(crate) fn milestone(&self, milestone: Milestone) -> Option<Checked> {
        let at = self.problems.iter().filter(|(at, _)| *at == milestone);
        let faults: Vec<_> = at.map(|(_, finding)| finding.clone().into()).collect();
        (!faults.is_empty() || self.reached > milestone).then(|| broken(faults))
    }

    /// What the extension registered; `None` if the survey ended before it was ready.
    pub(crate) fn registered(&self) -> Option<&Surface> {
        (self.reached == Milestone::Ready).then_some(&self.surface)
    }

    /// The first problem of a survey that failed.
    pub(crate) fn into_problem(self) -> Box<Finding> {
        let first = self.problems.into_iter().next();
        Box::new(first.map_or_else(|| Finding::new("it did not start"), |(_, finding)| finding))
    }
}

/// Starts the extension, observes it until it is ready, and shuts it down.
pub(crate) async fn survey(target: &Target, how: &Start, sink: &Sink) -> Survey {
    let (survey, session) = meet(target, how, sink).await;
    if let Some(mut session) = session
        && session.send(&json!({"type": "shutdown"})).await.is_ok()
    {
        session.close_stdin();
        session.exit(LEAVE).await;
    }
    survey
}

/// Starts the extension and observes it until it is ready. Returns the session unless the start
/// failed.
pub(crate) async fn meet(target: &Target, how: &Start, sink: &Sink) -> (Survey, Option<Session>) {
    let mut survey = Survey {
        manifest_name: target.name().map(str::to_owned),
        manifest_hints: target.manifest_hints.clone(),
        ..Survey::default()
    };
    let mut session = match Session::start(target, how, Arc::clone(sink)).await {
        Ok(session) => session,
        Err(error) => {
            let finding = Finding::from_error(&error);
            return (survey.fail(Milestone::Program, finding), None);
        }
    };
    if let Err((stays, finding)) = hello(&mut session, target, how).await {
        if !stays {
            return (survey.fail(Milestone::Hello, finding), None);
        }
        survey.problems.push((Milestone::Hello, finding));
    }
    let ack = samples::hello_ack(&session, target);
    let ready = match session.send(&ack).await {
        Ok(()) => until_ready(&mut session, None).await,
        Err(wait_error) => Err(wait_error),
    };
    if let Err(wait_error) = ready {
        let came = |received: &ReceivedLine| received.is("ready");
        let what = "its registrations";
        let finding = diagnose::missing_reply(&mut session, target, wait_error, what, came).await;
        return (survey.fail(Milestone::Hello, finding), None);
    }
    session.forget_sent();
    let from_hello = session
        .received()
        .iter()
        .skip_while(|received| !received.is("hello"));
    for received in from_hello.filter(|received| !received.is_blank()) {
        survey.surface.take_in(received);
        if received.is("ready") {
            survey.surface.ready_after = received.at;
            break;
        }
    }
    survey.reached = Milestone::Ready;
    survey.startup_limit = session.scaled(limits::STARTUP);
    (survey, Some(session))
}

/// Waits for `hello` as the first line. The error includes whether the session can continue.
async fn hello(session: &mut Session, target: &Target, how: &Start) -> Result<(), (bool, Finding)> {
    let hello = |received: &ReceivedLine| received.is("hello");
    let first = |received: &ReceivedLine| !received.is_blank();
    let at = match wait_for(session, target, how, &first).await {
        Ok(at) => at,
        Err(finding) => return Err((false, finding)),
    };
    let line = session.received()[at].clone();
    if hello(&line) {
        return Ok(());
    }
    let shown = &line.shown;
    if line.value.get("type").is_some() {
        let misspelt = line.hints.iter().find(|hint| {
            matches!(
                hint,
                Hint::UnknownType {
                    nearest: Some("hello"),
                    ..
                }
            )
        });
        let hint = misspelt.map(Hint::fix);
        let finding = Finding::new("the first frame is not `hello`")
            .frame(shown, Some("/type".to_owned()))
            .hint(hint.as_deref().unwrap_or(
                "send `hello` before anything else; otherwise the host closes the connection",
            ));
        return Err((false, finding));
    }
    let finding = Finding::new("the first line of stdout is not a frame")
        .frame(shown, None)
        .hint("write banners and progress to stderr; stdout is for frames only");
    let spread = |line: &ReceivedLine| line.spread().is_some_and(|(_, kind)| kind == "hello");
    match wait_for(session, target, how, &|line| hello(line) || spread(line)).await {
        Ok(at) => match session.received()[at].spread() {
            Some((hint, _)) => Err((false, Finding::new(hint.to_string()).hint(hint.fix()))),
            None => Err((true, finding)),
        },
        Err(more) => {
            let mut finding = finding;
            finding.what = format!("{}, and then {}", finding.what, more.what);
            finding.stderr = more.stderr;
            Err((false, finding))
        }
    }
}

/// Waits for a line. If it does not arrive soon, finds out why.
async fn wait_for(
    session: &mut Session,
    target: &Target,
    how: &Start,
    wanted: &(impl Fn(&ReceivedLine) -> bool + Sync),
) -> Result<usize, Finding> {
    let limit = how.hello_limit(target);
    let doubt = session.scaled(DOUBT).min(limit);
    match session.find(0, doubt, wanted).await {
        Ok(at) => return Ok(at),
        Err(WaitError::Deadline(_)) if doubt < limit => {}
        Err(wait_error) => {
            return Err(
                diagnose::missing_reply(session, target, wait_error, "`hello`", wanted).await,
            );
        }
    }
    let began = Instant::now();
    if let Some(why) = what_makes_it_speak(target, how).await {
        // A slow start looks the same, so give the first process more time than the second needed.
        let patience = began.elapsed().max(session.scaled(DOUBT / 2));
        let found = session.find(0, patience.min(limit), wanted).await;
        return found.map_err(|_| why);
    }
    let left = limit.saturating_sub(session.elapsed());
    match session.find(0, left, wanted).await {
        Ok(at) => Ok(at),
        Err(wait_error) => {
            Err(diagnose::missing_reply(session, target, wait_error, "`hello`", wanted).await)
        }
    }
}

/// Starts a second process to find out what triggers `hello`: a frame from the host, or the end of
/// stdin.
async fn what_makes_it_speak(target: &Target, how: &Start) -> Option<Finding> {
    let hello = |received: &ReceivedLine| received.is("hello");
    let mut session = Session::start(target, how, Sink::default()).await.ok()?;
    let patience = session.scaled(DOUBT / 2);
    let ack = samples::hello_ack(&session, target);
    let _ = session.send(&ack).await;
    if session.find(0, patience, hello).await.is_ok() {
        let finding = Finding::new("`hello` arrived only after `hello_ack` was sent");
        return Some(finding.hint("send `hello` before you read from stdin"));
    }
    session.close_stdin();
    session.find(0, session.scaled(DOUBT), hello).await.ok()?;
    Some(diagnose::buffered("`hello`", target.language()))
}
