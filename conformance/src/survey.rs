//! The first start: whether it can be started at all, its handshake, and what it registers.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::json;
use zot_protocol::{EventName, InterceptName, limits};

use crate::{
    check::until_ready,
    diagnose, samples,
    session::{Heard, Session, Silence, Sink, Start},
    surface::Surface,
    target::Target,
    verdict::Finding,
};

/// After how long without `hello` a second process is asked why.
const DOUBT: Duration = Duration::from_secs(2);
/// How long an extension is given to leave after the survey; whether it does is not judged here.
const LEAVE: Duration = Duration::from_millis(500);
/// The tools that every host has.
const BUILT_IN_TOOLS: [&str; 5] = ["read", "write", "edit", "bash", "skill"];
/// The commands that every host has.
const BUILT_IN_COMMANDS: [&str; 15] = [
    "help",
    "model",
    "clear",
    "compact",
    "sessions",
    "session",
    "skills",
    "reload-ext",
    "ext",
    "login",
    "logout",
    "jail",
    "unjail",
    "yolo",
    "exit",
];

/// What the first start has shown.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    pub(crate) surface: Surface,
    /// What was found, by the check that it is about.
    pub(crate) findings: HashMap<&'static str, Vec<Finding>>,
    /// The check whose failure makes everything else unreachable.
    pub(crate) blocked: Option<&'static str>,
}

impl Survey {
    fn found(&mut self, check: &'static str, finding: Finding) {
        self.findings.entry(check).or_default().push(finding);
    }

    fn blocked(mut self, check: &'static str, finding: Finding) -> Self {
        self.found(check, finding);
        self.blocked = Some(check);
        self
    }

    /// One that could not even begin.
    pub(crate) fn failed(check: &'static str, finding: Finding) -> Self {
        Self::default().blocked(check, finding)
    }
}

/// Starts the extension, looks at all it does up to ready, and lets it go.
pub(crate) async fn survey(
    target: &Target,
    how: &Start,
    hello_limit: Duration,
    sink: &Sink,
) -> Survey {
    let (survey, session) = meet(target, how, hello_limit, sink).await;
    // It is asked to leave as always; how it does that is the matter of other checks.
    if let Some(mut session) = session
        && session.send(&json!({"type": "shutdown"})).await.is_ok()
    {
        session.close_stdin();
        session.exit(LEAVE).await;
    }
    survey
}

/// Starts the extension and looks at all it does up to ready. A process that can be spoken to comes with it.
pub(crate) async fn meet(
    target: &Target,
    how: &Start,
    hello_limit: Duration,
    sink: &Sink,
) -> (Survey, Option<Session>) {
    let mut survey = Survey::default();
    let mut session = match Session::start(target, how, Arc::clone(sink)).await {
        Ok(session) => session,
        Err(error) => {
            let finding = Finding::from_error(&error);
            return (survey.blocked("MAN-02", finding), None);
        }
    };
    if let Err((stays, finding)) = hello(&mut session, target, how, hello_limit).await {
        if !stays {
            return (survey.blocked("HEL-01", finding), None);
        }
        survey.found("HEL-01", finding);
    }
    let ack = samples::hello_ack(&session, target);
    let ready = match session.send(&ack).await {
        Ok(()) => until_ready(&mut session, None).await,
        Err(silence) => Err(silence),
    };
    if let Err(silence) = ready {
        let came = |heard: &Heard| heard.is("ready");
        let what = "its registrations";
        let finding = diagnose::silence(&mut session, target, silence, what, came).await;
        return (survey.blocked("HEL-01", finding), None);
    }
    session.forget_sent();
    let from_hello = session
        .heard()
        .iter()
        .skip_while(|heard| !heard.is("hello"));
    for heard in from_hello.filter(|heard| !heard.is_blank()) {
        survey.surface.take_in(heard);
        if heard.is("ready") {
            survey.surface.ready_after = heard.at;
            break;
        }
    }
    judge(&mut survey, target, session.scaled(limits::STARTUP));
    (survey, Some(session))
}

/// Waits for `hello` as the first line. What is wrong may leave a session that can go on, or not.
async fn hello(
    session: &mut Session,
    target: &Target,
    how: &Start,
    limit: Duration,
) -> Result<(), (bool, Finding)> {
    let hello = |heard: &Heard| heard.is("hello");
    let first = |heard: &Heard| !heard.is_blank();
    let at = match wait_for(session, target, how, limit, &first).await {
        Ok(at) => at,
        Err(finding) => return Err((false, finding)),
    };
    let line = session.heard()[at].clone();
    if hello(&line) {
        return Ok(());
    }
    let shown = line.shown();
    if line.value().get("type").is_some() {
        let finding = Finding::new("the first frame is not `hello`")
            .frame(shown, Some("/type".to_owned()))
            .hint("send `hello` before anything else: a host ends the connection here");
        return Err((false, finding));
    }
    let finding = Finding::new("the first line of stdout is not a frame")
        .frame(shown, None)
        .hint("write banners and progress to stderr; stdout is for frames only");
    match wait_for(session, target, how, limit, &hello).await {
        Ok(_) => Err((true, finding)),
        Err(more) => {
            let mut finding = finding;
            finding.what = format!("{}, and then {}", finding.what, more.what);
            finding.stderr = more.stderr;
            Err((false, finding))
        }
    }
}

/// Waits for a line, and finds out soon why it does not come.
async fn wait_for(
    session: &mut Session,
    target: &Target,
    how: &Start,
    limit: Duration,
    wanted: &(impl Fn(&Heard) -> bool + Sync),
) -> Result<usize, Finding> {
    let doubt = session.scaled(DOUBT).min(limit);
    match session.find(0, doubt, wanted).await {
        Ok(at) => return Ok(at),
        Err(Silence::Deadline(_)) if doubt < limit => {}
        Err(silence) => {
            return Err(diagnose::silence(session, target, silence, "`hello`", wanted).await);
        }
    }
    let began = Instant::now();
    if let Some(why) = what_makes_it_speak(target, how).await {
        // A slow start looks the same, unless this one, which began earlier, goes on being silent.
        let patience = (began.elapsed() * 2).max(session.scaled(Duration::from_secs(1)));
        let found = session.find(0, patience.min(limit), wanted).await;
        return found.map_err(|_| why);
    }
    let left = limit.saturating_sub(session.elapsed());
    match session.find(0, left, wanted).await {
        Ok(at) => Ok(at),
        Err(silence) => Err(diagnose::silence(session, target, silence, "`hello`", wanted).await),
    }
}

/// Tries on another process of it what makes it say `hello`: that the host begins, or that its input ends.
async fn what_makes_it_speak(target: &Target, how: &Start) -> Option<Finding> {
    let hello = |heard: &Heard| heard.is("hello");
    let mut session = Session::start(target, how, Sink::default()).await.ok()?;
    let patience = session.scaled(DOUBT);
    let ack = samples::hello_ack(&session, target);
    // One that does not read does not wait for it either.
    let _ = session.send(&ack).await;
    if session.find(0, patience, hello).await.is_ok() {
        let finding = Finding::new("`hello` came only after `hello_ack` was sent");
        return Some(
            finding.hint("the extension speaks first: send `hello` before you read anything"),
        );
    }
    session.close_stdin();
    session.find(0, patience, hello).await.ok()?;
    let finding = Finding::new("`hello` comes only once stdin is closed: stdout is block-buffered");
    Some(finding.hint(diagnose::flush(target.language())))
}

/// What its registrations alone show; `startup` is how long a host waits for them.
fn judge(survey: &mut Survey, target: &Target, startup: Duration) {
    let mut found = Vec::new();
    let surface = &survey.surface;
    if let Some(name) = target.name().filter(|name| *name != surface.name) {
        let what = format!(
            "`hello` says `{}`, the manifest says `{name}`",
            surface.name
        );
        found.push(("HEL-03", Finding::new(what)));
    }
    if !surface.says_ready {
        let hint = "send {\"type\":\"ready\"} after the last registration";
        let what = "it never says `ready`: each start waits until nothing came for 250 ms";
        found.push(("REG-02", Finding::new(what).hint(hint)));
    } else if surface.ready_after > startup {
        let what = format!(
            "`ready` came after {}",
            diagnose::shown(surface.ready_after)
        );
        found.push(("REG-02", Finding::new(what)));
    }
    for tool in &surface.tools {
        if let Err(fault) = &tool.arguments {
            found.push((
                "REG-03",
                Finding::new(format!("tool `{}`: {fault}", tool.name)),
            ));
        }
    }
    for finding in doubles(surface) {
        found.push(("REG-04", finding));
    }
    for finding in built_ins(surface) {
        found.push(("REG-05", finding));
    }
    for (what, names, known) in [
        (
            "event",
            &surface.events,
            names(EventName::KNOWN, EventName::as_str),
        ),
        (
            "intercept",
            &surface.intercepts,
            names(InterceptName::KNOWN, InterceptName::as_str),
        ),
    ] {
        for name in names.iter().filter(|name| !known.contains(&name.as_str())) {
            let finding = Finding::new(format!("`{name}` is no {what} that a host knows"));
            found.push((
                "REG-06",
                finding.hint(format!("known: {}", known.join(", "))),
            ));
        }
    }
    for (capability, registers) in [
        ("commands", !surface.commands.is_empty()),
        ("tools", !surface.tools.is_empty()),
        (
            "events",
            !surface.events.is_empty() || !surface.intercepts.is_empty(),
        ),
    ] {
        if registers && !surface.capabilities.iter().any(|it| it == capability) {
            let what = format!("it registers {capability}, and `capabilities` does not say so");
            found.push(("REG-07", Finding::new(what)));
        }
    }
    for (check, finding) in found {
        survey.found(check, finding);
    }
}

fn names<T>(known: &'static [T], name: impl Fn(&'static T) -> &'static str) -> Vec<&'static str> {
    known.iter().map(name).collect()
}

fn doubles(surface: &Surface) -> Vec<Finding> {
    let commands = surface
        .commands
        .iter()
        .map(|it| ("command", it.to_lowercase()));
    let tools = surface.tools.iter().map(|it| ("tool", it.name.clone()));
    let mut counts: HashMap<(&str, String), usize> = HashMap::new();
    for key in commands.chain(tools) {
        *counts.entry(key).or_default() += 1;
    }
    let mut doubles: Vec<String> = counts
        .into_iter()
        .filter(|(_, count)| *count > 1)
        .map(|((kind, name), count)| format!("{kind} `{name}` is registered {count} times"))
        .collect();
    doubles.sort();
    doubles.into_iter().map(Finding::new).collect()
}

fn built_ins(surface: &Surface) -> Vec<Finding> {
    let commands = surface
        .commands
        .iter()
        .filter(|name| BUILT_IN_COMMANDS.contains(&name.to_lowercase().as_str()))
        .map(|name| format!("`/{name}` is a built-in command"));
    let tools = surface
        .tools
        .iter()
        .filter(|tool| BUILT_IN_TOOLS.contains(&tool.name.as_str()))
        .map(|tool| format!("`{}` is a built-in tool", tool.name));
    commands.chain(tools).map(Finding::new).collect()
}
