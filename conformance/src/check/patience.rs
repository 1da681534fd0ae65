//! How long a check waits for a reply. A host waits a minute, but the author of an extension should
//! learn within seconds that no reply is coming.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{Checked, Cx, Fault, Request, broken, context::subject};
use crate::{
    await_reply::{Missing, await_reply},
    diagnose::{self, shown},
    exchange::SHOWN_BYTES,
    session::{ReceivedLine, Session, WaitError},
    verdict::Finding,
};

/// How long to wait for the reply to a request that has not been answered before, unless the
/// manifest or the user sets another timeout.
pub(crate) const PATIENCE: Duration = Duration::from_secs(4);
/// How long to wait for the reply to a request that has been answered before. The extension may
/// first have to finish work that a check caused, such as handling a burst of events.
const RECOVERY: Duration = Duration::from_secs(30);
/// How long to wait for a reply before checking whether it is stuck in a buffer.
const DOUBT: Duration = Duration::from_secs(1);
/// How long `Cx::buffers` waits for its second process to answer before closing stdin.
const PROMPT: Duration = Duration::from_millis(200);

/// After this many unanswered requests, a check skips its remaining requests.
const MANY: usize = 2;
/// A fault that took longer than this is a missing reply, not a crash.
const SLOW: Duration = Duration::from_secs(2);

/// The faults of requests for different tools, commands or events. Each missing reply costs seconds,
/// so a check gives up after a few.
#[derive(Default)]
pub(super) struct Faults {
    all: Vec<Fault>,
    slow: usize,
    skipped: Vec<String>,
}

impl Faults {
    /// Whether to skip a request of this type for `name`. If so, other checks skip it too.
    pub(super) fn skip(&mut self, cx: &Cx, kind: &str, name: &str) -> bool {
        let skips = self.slow >= MANY;
        if skips {
            cx.plan.known.silent.lock().insert(subject(kind, name));
            self.skipped.push(format!("`{name}`"));
        }
        skips
    }

    /// Adds the fault of a request that was sent at `asked`.
    pub(super) fn push(&mut self, fault: Fault, asked: Instant) {
        self.slow += usize::from(asked.elapsed() > SLOW);
        self.all.push(fault);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Passes if there are no faults.
    pub(super) fn into_checked(mut self) -> Checked {
        if let Some(last) = self.all.last_mut().filter(|_| !self.skipped.is_empty()) {
            let skipped = self.skipped.join(", ");
            last.finding.what += &format!(" (skipped after this: {skipped})");
        }
        broken(self.all)
    }
}

impl Cx {
    /// Waits for the reply to a request that has been sent.
    pub(crate) async fn answer(
        &self,
        session: &mut Session,
        request: &Request,
    ) -> Result<ReceivedLine, Fault> {
        match self.wait(session, request).await {
            Ok(received) => {
                let known = &self.plan.known;
                known.answered.lock().insert(request.hash());
                known.answering.lock().insert(request.subject());
                Ok(received)
            }
            Err(Missing::Mistaken(finding)) => {
                self.give_up(request);
                let finding = diagnose::with_stderr(*finding, session).await;
                Err(Fault::in_session(finding, session))
            }
            Err(Missing::Wait(WaitError::Deadline(waited))) if waited < request.limit => {
                Err(self.silent(session, request).await)
            }
            Err(Missing::Wait(wait_error)) => Err(self.fault(session, request, wait_error).await),
        }
    }

    async fn wait(
        &self,
        session: &mut Session,
        request: &Request,
    ) -> Result<ReceivedLine, Missing> {
        let asked = session.elapsed();
        let doubt = self.scaled(DOUBT);
        let mut within = self.patience(request);
        if within > doubt && !self.was_answered(request) {
            match await_reply(session, &request.frame, &request.reply, doubt).await {
                Err(Missing::Wait(WaitError::Deadline(_))) => {}
                other => return other,
            }
            self.progress.waiting(self.id, &request.reply.words);
            if let Some(finding) = self.buffers(session, request, asked).await {
                return Err(Missing::Mistaken(Box::new(finding)));
            }
            within = within.saturating_sub(session.elapsed().saturating_sub(asked));
        }
        // `tool_progress` restarts the timeout, but a tool must not keep us waiting forever.
        let most = asked + request.limit + doubt;
        loop {
            match await_reply(session, &request.frame, &request.reply, within).await {
                Err(Missing::Wait(WaitError::Deadline(_))) => {}
                other => return other,
            }
            let progress = session.last_progress(request.id());
            let now = session.elapsed();
            let deadline = progress.map_or(now, |at| at + request.limit).min(most);
            within = deadline.saturating_sub(now);
            if within.is_zero() {
                let since = progress.unwrap_or(asked).max(asked);
                let silent = now.saturating_sub(since).min(request.limit);
                return Err(Missing::Wait(WaitError::Deadline(silent)));
            }
        }
    }

    /// Sends the request to a second process and closes its stdin. If the reply arrives only then,
    /// although the first process has been silent for more than twice as long, stdout is
    /// block-buffered.
    async fn buffers(
        &self,
        session: &mut Session,
        request: &Request,
        asked: Duration,
    ) -> Option<Finding> {
        let aside = self.aside();
        let mut second = aside.open().await.ok()?;
        let began = second.elapsed();
        second.send(&request.frame).await.ok()?;
        let prompt = second.scaled(PROMPT);
        let came = |line: &ReceivedLine| request.reply.is(line, request.id());
        if second.find(0, prompt, came).await.is_ok() {
            return None;
        }
        second.close_stdin();
        let flushed = second.scaled(diagnose::FLUSH_TIMEOUT);
        let at = second.find(0, flushed, came).await.ok()?;
        let took = second.received()[at].at.saturating_sub(began);
        let is_silent = await_reply(session, &request.frame, &request.reply, Duration::ZERO)
            .await
            .is_err();
        let is_longer = session.elapsed().saturating_sub(asked) > took * 2;
        (is_silent && is_longer)
            .then(|| diagnose::buffered(&request.reply.words, self.target().language()))
    }

    /// A context for processes that are not part of the report.
    fn aside(&self) -> Self {
        Self::new(
            self.id,
            Arc::clone(&self.plan),
            Arc::clone(&self.progress),
            self.verdicts.clone(),
        )
    }

    /// Remembers a tool or command that has never answered, so that no other check waits for it.
    pub(super) fn give_up(&self, request: &Request) {
        let (known, subject) = (&self.plan.known, request.subject());
        if !known.answering.lock().contains(&subject) {
            known.silent.lock().insert(subject);
        }
    }

    fn patience(&self, request: &Request) -> Duration {
        if self.was_answered(request) {
            let recovery = self.scaled(RECOVERY).min(request.limit);
            return request.patience.max(recovery);
        }
        request.patience
    }

    fn was_answered(&self, request: &Request) -> bool {
        self.plan.known.answered.lock().contains(&request.hash())
    }

    /// The fault for a request that may still be answered: a host waits longer than we did.
    async fn silent(&self, session: &mut Session, request: &Request) -> Fault {
        self.give_up(request);
        let words = &request.reply.words;
        let limit = shown(request.limit);
        let what = match session.last_progress(request.id()) {
            Some(_) => format!(
                "no {words} within {limit}, although `tool_progress` arrived; the host waits 10 minutes in total"
            ),
            None => format!(
                "no {words} within {}; the host waits {limit}",
                shown(self.patience(request))
            ),
        };
        let mut finding = Finding::new(what).hint(advice(request));
        let input = request.frame.to_string();
        finding.input = (input.len() <= SHOWN_BYTES).then_some(input);
        let finding = diagnose::with_stderr(finding, session).await;
        let mut fault = Fault::in_session(finding, session);
        fault.is_open = true;
        fault
    }
}

/// Returns what the author can do about a request that was not answered before the timeout.
fn advice(request: &Request) -> String {
    let seconds = request.limit.as_secs().max(1);
    match request.reply.kind {
        "tool_result" => format!(
            "answer every `tool_call`, even if the tool fails; if the tool is only slow, send `tool_progress`, set `timeouts.tool_ms` in the manifest, or pass `--reply-timeout {seconds}`"
        ),
        kind => format!(
            "send the `{kind}` immediately, and report the outcome later with `notify`; to wait as long as a host does, pass `--reply-timeout {seconds}`"
        ),
    }
}
