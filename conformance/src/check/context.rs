//! The context of a check: processes, requests, and earlier results.

use std::{
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;
use zot_process::Exit;
use zot_protocol::limits;

use super::{Checked, Fault, PASS, Profile, Stop, command, intercept, lifecycle, tool};
use crate::{
    diagnose,
    reply::Reply,
    runner::Progress,
    samples,
    session::{Collected, ReceivedLine, Session, Sink, Start, WaitError},
    surface::{Surface, Tool, text},
    survey::Survey,
    target::Target,
    verdict::{Finding, Verdict},
};

/// How long the first start waits for another frame if the extension does not send `ready`.
const PATIENCE: Duration = Duration::from_secs(1);
/// Time limit for an extension that keeps sending frames before `ready`. It is longer than a host
/// waits, so that the report can show how late `ready` was.
const TALKS_ON: Duration = Duration::from_secs(6);

/// How to find out whether an extension still works.
enum Probe<'p> {
    Intercept(&'p str),
    Tool(&'p Tool),
    Command(&'p str),
    Shutdown,
}

/// The state of a run that all checks share.
pub(crate) struct Plan {
    pub(crate) target: Target,
    pub(crate) survey: Survey,
    pub(crate) profile: Profile,
    pub(crate) seed: u64,
    pub(crate) start: Start,
    /// How long to wait for a reply; `None` uses the manifest's timeout or [`super::PATIENCE`].
    pub(crate) reply_timeout: Option<Duration>,
    /// Where failures are saved.
    pub(crate) store: Option<std::path::PathBuf>,
    /// Facts recorded by earlier checks.
    pub(crate) known: Known,
}

impl Plan {
    /// How long we wait for a reply, before scaling.
    pub(crate) fn patience(&self, reply: &Reply) -> Duration {
        let limit = reply.limit(&self.target);
        if reply.is_urgent() {
            return limit;
        }
        let declared = reply.is_declared(&self.target).then_some(limit);
        let patience = self.reply_timeout.or(declared);
        patience.unwrap_or(super::PATIENCE).min(limit)
    }
}

/// Facts that checks record for later checks.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// How long each tool took to answer.
    pub(crate) latency: Mutex<HashMap<String, Duration>>,
    /// The hashes of requests that were answered.
    pub(super) answered: Mutex<HashSet<u64>>,
    /// The subjects of requests that were answered at least once.
    pub(super) answering: Mutex<HashSet<String>>,
    /// The subjects of requests that were never answered. Checks do not send them again.
    pub(super) silent: Mutex<HashSet<String>>,
    /// The command that opens a panel.
    pub(crate) opens_panel: Mutex<Option<String>>,
}

/// The context of one check.
pub(crate) struct Cx {
    /// The id of the check.
    pub(super) id: &'static str,
    pub(crate) plan: Arc<Plan>,
    pub(super) progress: Arc<dyn Progress>,
    /// The verdicts of the checks that this one waited for.
    pub(crate) verdicts: HashMap<&'static str, Verdict>,
    pub(crate) sink: Sink,
}

/// A request from the host, and the reply it expects.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) frame: Value,
    pub(super) reply: Reply,
    /// How long a host waits for the reply.
    pub(super) limit: Duration,
    /// How long we wait for it.
    pub(super) patience: Duration,
}

impl Request {
    pub(crate) fn id(&self) -> &str {
        text(&self.frame, "id")
    }

    /// Sets the timeout for the reply.
    pub(crate) fn within(mut self, within: Duration) -> Self {
        (self.limit, self.patience) = (within, within);
        self
    }

    /// Returns the subject: the type of the request, and the name of the tool, command or event.
    pub(super) fn subject(&self) -> String {
        let name = match self.reply.kind {
            "event_intercept_response" => text(&self.frame, "event"),
            _ => text(&self.frame, "name"),
        };
        subject(text(&self.frame, "type"), name)
    }

    /// Returns a hash of the request without its id and the unknown fields that checks add.
    pub(super) fn hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for (key, value) in self.frame.as_object().into_iter().flatten() {
            if key != "id" && !key.starts_with("zot_conform") {
                (key, value.to_string()).hash(&mut hasher);
            }
        }
        hasher.finish()
    }

    /// Sets a field.
    pub(crate) fn with(mut self, key: &str, value: Value) -> Self {
        self.frame[key] = value;
        self
    }
}

/// Returns the subject of a request for `name`.
pub(super) fn subject(kind: &str, name: &str) -> String {
    format!("{kind} {name}")
}

impl Cx {
    pub(crate) fn new(
        id: &'static str,
        plan: Arc<Plan>,
        progress: Arc<dyn Progress>,
        verdicts: HashMap<&'static str, Verdict>,
    ) -> Self {
        Self {
            id,
            plan,
            progress,
            verdicts,
            sink: Arc::new(Mutex::new(Collected::default())),
        }
    }

    pub(crate) fn surface(&self) -> &Surface {
        &self.plan.survey.surface
    }

    pub(crate) fn target(&self) -> &Target {
        &self.plan.target
    }

    /// The callable tools, except those that have already failed to answer.
    pub(crate) fn callable(&self) -> impl Iterator<Item = &Tool> {
        let answers = |tool: &&Tool| !self.is_silent("tool_call", &tool.name);
        self.surface().callable().filter(answers)
    }

    /// The commands, except those that have already failed to answer.
    pub(crate) fn commands(&self) -> impl Iterator<Item = &String> {
        let answers = |name: &&String| !self.is_silent("command_invoked", name);
        self.surface().commands.iter().filter(answers)
    }

    fn is_silent(&self, kind: &str, name: &str) -> bool {
        self.plan.known.silent.lock().contains(&subject(kind, name))
    }

    /// Scales one of the harness's timeouts.
    pub(crate) fn scaled(&self, duration: Duration) -> Duration {
        duration.mul_f64(self.plan.start.scale)
    }

    /// Starts the extension and completes the handshake.
    pub(crate) async fn open(&self) -> Result<Session, Stop> {
        self.open_as(self.plan.start.clone()).await
    }

    /// Like [`Cx::open`], but starts nothing if there is no way to find out whether the extension
    /// still works.
    pub(crate) async fn open_to_probe(&self) -> Result<Session, Stop> {
        self.probe()?;
        self.open().await
    }

    /// Returns the session in `slot`, or opens one. A check that talks to several processes takes a
    /// broken session out of its slot, so that a new process is started only if the check has more
    /// to ask.
    pub(crate) async fn session<'s>(
        &self,
        slot: &'s mut Option<Session>,
    ) -> Result<&'s mut Session, Stop> {
        let session = match slot.take() {
            Some(session) => session,
            None => self.open().await?,
        };
        Ok(slot.insert(session))
    }

    /// Like [`Cx::open`], with the directories of an earlier process.
    pub(crate) async fn reopen(&self, directories: Arc<TempDir>) -> Result<Session, Stop> {
        let mut how = self.plan.start.clone();
        how.directories = Some(directories);
        self.open_as(how).await
    }

    /// Like [`Cx::open`], with other start options.
    pub(crate) async fn open_as(&self, how: Start) -> Result<Session, Stop> {
        let mut session = self.launch(how).await?;
        self.hello(&mut session).await?;
        let ack = samples::hello_ack(&session, self.target());
        self.acknowledge(&mut session, &ack).await?;
        Ok(session)
    }

    /// Starts the extension without a handshake.
    pub(crate) async fn launch(&self, how: Start) -> Result<Session, Stop> {
        let session = Session::start(self.target(), &how, Arc::clone(&self.sink)).await;
        session.map_err(|error| {
            let what = format!("it failed to restart: {error}");
            Stop::not_exercised(Finding::new(what))
        })
    }

    /// Waits for `hello`.
    pub(crate) async fn hello(&self, session: &mut Session) -> Result<(), Stop> {
        let limit = self.plan.start.hello_limit(self.target());
        let hello = |received: &ReceivedLine| received.is("hello");
        match session.find(0, limit, hello).await {
            Ok(_) => Ok(()),
            Err(wait_error) => {
                let target = self.target();
                let finding =
                    diagnose::missing_reply(session, target, wait_error, "`hello`", hello).await;
                Err(Stop::not_exercised(finding))
            }
        }
    }

    /// Sends `hello_ack` and waits until the extension is ready.
    pub(crate) async fn acknowledge(&self, session: &mut Session, ack: &Value) -> Result<(), Stop> {
        let sent = session.send_as_is(ack).await;
        let ready = match sent {
            Ok(()) => until_ready(session, Some(self.surface())).await,
            Err(wait_error) => Err(wait_error),
        };
        session.forget_sent();
        match ready {
            Ok(()) => Ok(()),
            Err(wait_error) => {
                let ready = |received: &ReceivedLine| received.is("ready");
                let target = self.target();
                let finding = diagnose::missing_reply(
                    session,
                    target,
                    wait_error,
                    "its registrations",
                    ready,
                )
                .await;
                Err(Stop::not_exercised(finding))
            }
        }
    }

    /// A tool call with minimal arguments.
    pub(crate) fn call(&self, session: &mut Session, tool: &Tool) -> Result<Request, Stop> {
        let args = tool.minimal().map_err(|why| unreachable_tool(tool, &why))?;
        Ok(self.call_with(session, &tool.name, &args))
    }

    pub(crate) fn call_with(
        &self,
        session: &mut Session,
        name: &str,
        args: &zot_protocol::Object,
    ) -> Request {
        self.request(samples::tool_call(&session.new_id(), name, args))
    }

    pub(crate) fn command(&self, session: &mut Session, name: &str, args: &str) -> Request {
        self.request(samples::command(&session.new_id(), name, args))
    }

    pub(crate) fn intercept(&self, session: &mut Session, event: &str, text: &str) -> Request {
        self.request(samples::intercept(&session.new_id(), event, text))
    }

    /// An interception request with a new id.
    pub(crate) fn intercept_as(&self, session: &mut Session, mut frame: Value) -> Request {
        frame["id"] = session.new_id().into();
        self.request(frame)
    }

    fn request(&self, frame: Value) -> Request {
        let reply = Reply::to(&frame).expect("the frame is a request");
        let limit = self.scaled(reply.limit(self.target()));
        let mut patience = self.scaled(self.plan.patience(&reply));
        if reply.kind == "tool_result" {
            // A tool that uses the network may take longer than usual.
            let known = self.plan.known.latency.lock();
            let usual = known.get(text(&frame, "name")).copied().unwrap_or_default();
            patience = patience.max(usual * 10).min(limit);
        }
        Request {
            frame,
            reply,
            limit,
            patience,
        }
    }

    /// Sends a frame.
    pub(crate) async fn send(&self, session: &mut Session, frame: &Value) -> Result<(), Stop> {
        let sent = session.send(frame).await;
        sent.map_err(|wait_error| gone(session, wait_error))
    }

    /// Sends a request and waits for its reply.
    pub(crate) async fn ask(
        &self,
        session: &mut Session,
        request: &Request,
    ) -> Result<ReceivedLine, Fault> {
        match session.send(&request.frame).await {
            Ok(()) => self.answer(session, request).await,
            Err(wait_error) => Err(self.fault(session, request, wait_error).await),
        }
    }

    /// The fault for a request that will not be answered.
    pub(super) async fn fault(
        &self,
        session: &mut Session,
        request: &Request,
        wait_error: WaitError,
    ) -> Fault {
        self.give_up(request);
        let came = |received: &ReceivedLine| request.reply.is(received, request.id());
        let what = &request.reply.words;
        let finding = diagnose::missing_reply(session, self.target(), wait_error, what, came).await;
        Fault::in_session(finding, session)
    }

    /// Whether the check `id` passed or was not exercised, in which case some requests may still be
    /// answered. The current check must have waited for it.
    pub(crate) fn works(&self, id: &str) -> bool {
        let verdict = self.verdicts.get(id);
        verdict.is_none_or(|it| matches!(it, Verdict::Pass | Verdict::NotExercised))
    }

    /// Returns how to find out whether the extension still works. Of the requests whose own check
    /// did not fail, this is the one with the fewest side effects.
    fn probe(&self) -> Result<Probe<'_>, Stop> {
        let mut broken = None;
        if let Some(event) = self.surface().known_intercepts().next() {
            if self.works(intercept::ANSWERS) {
                return Ok(Probe::Intercept(event));
            }
            broken = broken.or(Some(intercept::ANSWERS));
        }
        if tool::has_tools(self.surface()) {
            let fastest = self.by_latency().first().copied();
            if let Some(tool) = fastest.filter(|_| self.works(tool::ANSWERS)) {
                return Ok(Probe::Tool(tool));
            }
            broken = broken.or(Some(tool::ANSWERS));
        }
        if !self.surface().commands.is_empty() {
            let command = self.commands().next();
            if let Some(command) = command.filter(|_| self.works(command::ANSWERS)) {
                return Ok(Probe::Command(command));
            }
            broken = broken.or(Some(command::ANSWERS));
        }
        match broken {
            Some(id) => Err(Stop::BlockedBy(id)),
            None if self.works(lifecycle::EXITS) => Ok(Probe::Shutdown),
            None => Err(Stop::BlockedBy(lifecycle::EXITS)),
        }
    }

    /// A request that shows whether the extension still works. `None` if the only way to find out
    /// is a shutdown.
    pub(crate) fn probe_request(
        &self,
        session: &mut Session,
        text: &str,
    ) -> Result<Option<Request>, Stop> {
        Ok(match self.probe()? {
            Probe::Intercept(event) => Some(self.intercept(session, event, text)),
            Probe::Tool(tool) => Some(self.call(session, tool)?),
            Probe::Command(command) => Some(self.command(session, command, "")),
            Probe::Shutdown => None,
        })
    }

    /// A call to the slowest tool. If no tool can be called, returns the same as
    /// [`Cx::probe_request`].
    pub(crate) fn slowest(&self, session: &mut Session) -> Result<Option<Request>, Stop> {
        match self.by_latency().pop() {
            Some(tool) if self.works(tool::ANSWERS) => self.call(session, tool).map(Some),
            _ => self.probe_request(session, "ls"),
        }
    }

    /// The tools that can be called, fastest first.
    pub(crate) fn by_latency(&self) -> Vec<&Tool> {
        let known = self.plan.known.latency.lock();
        let callable = self.callable().filter(|it| it.minimal().is_ok());
        let mut tools: Vec<&Tool> = callable.collect();
        tools.sort_by_key(|tool| known.get(&tool.name).copied().unwrap_or_default());
        tools
    }

    /// How long a tool took to answer.
    pub(crate) fn latency(&self, tool: &Tool) -> Duration {
        let known = self.plan.known.latency.lock();
        known.get(&tool.name).copied().unwrap_or_default()
    }

    /// Checks that the extension still answers a request, or a shutdown.
    pub(crate) async fn alive(&self, session: &mut Session) -> Checked {
        match self.probe_request(session, "ls")? {
            Some(request) => drop(self.ask(session, &request).await?),
            None => drop(self.shut_down(session).await?),
        }
        PASS
    }

    /// Sends `shutdown`, closes stdin and waits for the extension to exit.
    pub(crate) async fn shut_down(&self, session: &mut Session) -> Result<Exit, Fault> {
        // The process may have exited already.
        let _ = session.send(&json!({"type": "shutdown"})).await;
        session.close_stdin();
        let within = self.scaled(limits::SHUTDOWN_GRACE);
        match session.exit(within).await {
            Some(exit) => Ok(exit),
            None => {
                let finding = Finding::new(format!(
                    "it is still running {} after `shutdown` and the end of stdin",
                    diagnose::shown(within)
                ))
                .hint("exit on `shutdown` and at the end of stdin");
                Err(Fault::in_session(finding, session))
            }
        }
    }

    /// Whether the profile is `full`.
    pub(crate) fn is_full(&self) -> bool {
        self.plan.profile == Profile::Full
    }
}

/// The result if the extension exited or stopped reading before a frame could be sent.
pub(super) fn gone(session: &Session, wait_error: WaitError) -> Stop {
    let why = match wait_error {
        WaitError::Exited(exit) => format!("it exited: {exit}"),
        _ => "it is not reading stdin".to_owned(),
    };
    Fault::in_session(with_stderr(Finding::new(why), session), session).into()
}

/// Adds the last part of stderr to a finding.
pub(super) fn with_stderr(mut finding: Finding, session: &Session) -> Finding {
    let stderr = session.stderr();
    finding.stderr = (!stderr.is_empty()).then_some(stderr);
    finding
}

/// The result of a check that could not call a tool.
pub(crate) fn unreachable_tool(tool: &Tool, why: &crate::surface::Unreachable) -> Stop {
    let what = format!("tool `{}` could not be called: {why}", tool.name);
    let hint = "fix the schema so that some arguments match it";
    Stop::not_exercised(Finding::new(what).hint(hint))
}

/// Waits until the extension sends `ready`, has sent as many registrations as on the first start,
/// or is silent for a while.
pub(crate) async fn until_ready(
    session: &mut Session,
    known: Option<&Surface>,
) -> Result<(), WaitError> {
    let startup = session.scaled(limits::STARTUP);
    let all = known.map(|it| it.registrations);
    let idle = match all {
        // The number of registrations is known, so wait for all of them.
        Some(_) => startup,
        // Longer than a host waits, so that late registrations on a slow machine are tested too.
        None => session.scaled(PATIENCE),
    };
    let mut after_hello = session
        .received()
        .iter()
        .position(|received| received.is("hello"))
        .map_or(0, |at| at + 1);
    let mut registered = 0;
    let deadline = Instant::now() + session.scaled(TALKS_ON);
    while all != Some(registered) {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        match session
            .find(after_hello, idle.min(left), |received| !received.is_blank())
            .await
        {
            Ok(at) => {
                registered += 1;
                after_hello = at + 1;
                if session.received()[at].is("ready") {
                    break;
                }
            }
            Err(WaitError::Deadline(_)) => break,
            Err(wait_error) => return Err(wait_error),
        }
    }
    Ok(())
}
