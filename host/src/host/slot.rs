//! The extensions of a host in load order, including those that failed to start.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use tokio::time::Instant;
use zot_process::LogFile;
use zot_protocol::{Intercept, InterceptName, Manifest, NoteLevel, OnFailure};

use crate::extension::{
    chain::{InterceptRecord, Interceptor},
    fold::{Failure, InterceptAnswer, Verdict},
    member::{Member, WarnedFailures},
    notes::Notes,
};

/// An extension in load order, whether or not it could be started.
#[derive(Clone)]
pub(super) enum Slot {
    Started(Arc<Member>),
    Failed(Arc<FailedStart>),
}

/// An extension that could not be started. The events that its manifest guards are still blocked.
pub(super) struct FailedStart {
    pub(super) manifest: Manifest,
    /// The events that it intercepts in audit mode.
    pub(super) audited: BTreeSet<InterceptName>,
    pub(super) why: String,
    pub(super) warned: WarnedFailures,
    pub(super) notes: Arc<Notes>,
    pub(super) log: LogFile,
}

impl Slot {
    /// Returns the extension if it is ready for requests.
    pub(super) fn ready(&self) -> Option<&Arc<Member>> {
        match self {
            Self::Started(member) if member.is_ready() => Some(member),
            _ => None,
        }
    }

    /// Updates the statistics with an interceptor's record, and reports a failure: in the log each
    /// time, to the user once for each cause, so that a guard that stopped working does not go
    /// unnoticed.
    pub(super) fn record(&self, event: &InterceptName, record: &InterceptRecord) {
        let warned = match self {
            Self::Started(member) => {
                member.stats.lock().record(record);
                if let Some(note) = &record.note {
                    member.log(&format!("{event}: {note}"));
                }
                &member.warned
            }
            Self::Failed(failed) => &failed.warned,
        };
        if record.is_audit && record.verdict == Verdict::Blocked {
            let reason = record.reason.as_deref().unwrap_or_default();
            self.log(&format!("audit mode: would have blocked {event}: {reason}"));
        }
        let (failure, done, done_without) = match &record.verdict {
            Verdict::FailedOpen(failure) => (failure, "allowed", "left unchanged"),
            Verdict::FailedClosed(failure) if record.is_audit => {
                (failure, "allowed because of audit mode", "left unchanged")
            }
            Verdict::FailedClosed(failure) => (failure, "blocked", "blocked"),
            _ => return,
        };
        let message = match failure {
            Failure::NotGranted(_) => format!("{failure}; {event} was {done_without}"),
            _ => format!("failed to intercept {event}, which was {done}: {failure}"),
        };
        self.log(&message);
        // If a reload interrupted the chain, that is not the extension's fault.
        if let Self::Started(member) = self
            && member.connection.is_shutting_down()
        {
            return;
        }
        if warned.first(failure) {
            self.notes().add(NoteLevel::Warn, &message);
        }
    }

    fn log(&self, line: &str) {
        match self {
            Self::Started(member) => member.log(line),
            Self::Failed(failed) => failed.log.note(line),
        }
    }

    /// Reports whether the extension takes part in the chain for `event`: it has subscribed, or its
    /// manifest blocks the event on failure.
    pub(super) fn intercepts(&self, event: &InterceptName) -> bool {
        let subscribed = |member: &Arc<Member>| {
            let registered = member.connection.registered();
            registered.intercepts.contains(event)
        };
        self.ready().is_some_and(subscribed) || self.on_failure(event) == OnFailure::Block
    }

    pub(super) fn notes(&self) -> &Arc<Notes> {
        match self {
            Self::Started(member) => &member.notes,
            Self::Failed(failed) => &failed.notes,
        }
    }

    /// The events that the extension intercepts in audit mode.
    pub(super) fn audited(&self) -> &BTreeSet<InterceptName> {
        match self {
            Self::Started(member) => &member.launch.audited,
            Self::Failed(failed) => &failed.audited,
        }
    }

    pub(super) fn manifest(&self) -> &Manifest {
        match self {
            Self::Started(member) => &member.launch.manifest,
            Self::Failed(failed) => &failed.manifest,
        }
    }
}

impl Interceptor for Slot {
    fn name(&self) -> &str {
        &self.manifest().name
    }

    fn on_failure(&self, event: &InterceptName) -> OnFailure {
        self.manifest().intercept.on_failure(event)
    }

    fn may_rewrite(&self, event: &InterceptName) -> bool {
        let permissions = self.manifest().permissions.as_ref();
        permissions.is_none_or(|granted| granted.intercept.contains(event))
    }

    fn is_final(&self, event: &InterceptName) -> bool {
        self.manifest().intercept.is_final(event)
    }

    fn is_audited(&self, event: &InterceptName) -> bool {
        self.audited().contains(event)
    }

    fn deadline(&self) -> Duration {
        match self {
            Self::Started(member) => member.limits.intercept,
            Self::Failed(_) => Duration::MAX,
        }
    }

    async fn ask(&self, event: &Intercept, is_final: bool, until: Instant) -> InterceptAnswer {
        match self {
            Self::Started(member) => member.connection.intercept(event, is_final, until).await,
            Self::Failed(failed) => Err(Failure::Gone(failed.why.clone())),
        }
    }
}
