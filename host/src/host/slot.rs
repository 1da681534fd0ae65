//! The places of a host's extensions in load order.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;
use zot_process::LogFile;
use zot_protocol::{Intercept, InterceptName, Manifest, NoteLevel, OnFailure};

use crate::extension::{
    chain::{Ask, Link},
    fold::{Answer, Failure, Verdict},
    member::{Member, Shared, Warned},
};

/// One place in load order: an extension that was started, or one that could not be.
#[derive(Clone)]
pub(super) enum Slot {
    Started(Arc<Member>),
    Failed(Arc<FailedStart>),
}

/// An extension that could not be started. What its manifest guards is refused all the same.
pub(super) struct FailedStart {
    pub(super) manifest: Manifest,
    pub(super) why: String,
    pub(super) warned: Warned,
    pub(super) log: LogFile,
}

impl Slot {
    /// Its extension, where that can be asked.
    pub(super) fn ready(&self) -> Option<&Arc<Member>> {
        match self {
            Self::Started(member) if member.is_ready() => Some(member),
            _ => None,
        }
    }

    /// Keeps the figures of what a link did, and says where it failed: in the log each time, to the user once for
    /// each cause, so that a guard which has stopped guarding is seen.
    pub(super) fn record(&self, event: &InterceptName, link: &Link, shared: &Shared) {
        let warned = match self {
            Self::Started(member) => {
                member.record(link);
                if let Some(note) = &link.note {
                    member.log(&format!("{event}: {note}"));
                }
                &member.warned
            }
            Self::Failed(failed) => &failed.warned,
        };
        let (failure, done, done_without) = match &link.verdict {
            Verdict::FailedOpen(failure) => (failure, "passed unasked", "passed unchanged"),
            Verdict::FailedClosed(failure) => (failure, "refused", "was refused"),
            _ => return,
        };
        let said = match failure {
            Failure::NotGranted(_) => format!("{failure}; {event} {done_without}"),
            _ => format!("could not be asked about {event}, which was {done}: {failure}"),
        };
        match self {
            Self::Failed(failed) => failed.log.note(&said),
            Self::Started(member) => {
                member.log(&said);
                // A reload has caught the chain half-way; nothing is wrong with it.
                if member.connection.is_leaving() {
                    return;
                }
            }
        }
        if warned.first(failure) {
            let name = Ask::name(self);
            shared.hooks.note(name, NoteLevel::Warn, &said);
        }
    }

    pub(super) fn intercepts(&self, event: &InterceptName) -> bool {
        match self {
            Self::Started(member) => member.intercepts(event),
            Self::Failed(failed) => failed.manifest.intercept.on_failure(event) == OnFailure::Block,
        }
    }
}

impl Ask for Slot {
    fn name(&self) -> &str {
        match self {
            Self::Started(member) => Member::name(member),
            Self::Failed(failed) => &failed.manifest.name,
        }
    }

    fn on_failure(&self, event: &InterceptName) -> OnFailure {
        match self {
            Self::Started(member) => Ask::on_failure(member, event),
            Self::Failed(failed) => failed.manifest.intercept.on_failure(event),
        }
    }

    fn may_rewrite(&self, event: &InterceptName) -> bool {
        match self {
            Self::Started(member) => Ask::may_rewrite(member, event),
            Self::Failed(_) => false,
        }
    }

    fn is_final(&self, event: &InterceptName) -> bool {
        match self {
            Self::Started(member) => Ask::is_final(member, event),
            Self::Failed(_) => false,
        }
    }

    fn deadline(&self) -> Duration {
        match self {
            Self::Started(member) => Ask::deadline(member),
            Self::Failed(_) => Duration::MAX,
        }
    }

    async fn ask(&self, event: &Intercept, until: Instant) -> Answer {
        match self {
            Self::Started(member) => Ask::ask(member, event, until).await,
            Self::Failed(failed) => Err(Failure::Gone(failed.why.clone())),
        }
    }

    async fn ask_last(&self, event: &Intercept, until: Instant) -> Answer {
        match self {
            Self::Started(member) => Ask::ask_last(member, event, until).await,
            Self::Failed(failed) => Err(Failure::Gone(failed.why.clone())),
        }
    }
}
