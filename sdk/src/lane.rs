//! Things that are handled one after the other, in the order in which they came: events, and the keys of a panel.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, SyncSender, TrySendError},
    },
    thread,
};

use crate::request::{Requests, Working};

/// How many may wait. The reader never waits for a lane, or a slow handler of events would hold up a guard.
const WAITING: usize = 8192;

type Job = (Working, Box<dyn FnOnce() + Send>);

/// One thread, started when there is something to do.
pub(crate) struct Lane {
    name: String,
    requests: Arc<Requests>,
    sender: Mutex<Option<SyncSender<Job>>>,
}

impl Lane {
    pub(crate) fn new(name: impl Into<String>, requests: &Arc<Requests>) -> Self {
        Self {
            name: name.into(),
            requests: Arc::clone(requests),
            sender: Mutex::new(None),
        }
    }

    /// Does it after all that was given before.
    pub(crate) fn push(&self, job: impl FnOnce() + Send + 'static) {
        let mut sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        if sender.is_none() {
            *sender = self.start();
        }
        let Some(sender) = &*sender else { return };
        let job: Job = (self.requests.work(), Box::new(job));
        if let Err(TrySendError::Full(_)) = sender.try_send(job) {
            eprintln!("{}: {WAITING} are waiting, one more is dropped", self.name);
        }
    }

    fn start(&self) -> Option<SyncSender<Job>> {
        let (sender, jobs) = mpsc::sync_channel::<Job>(WAITING);
        let started = thread::Builder::new()
            .name(self.name.clone())
            .spawn(move || {
                for (working, job) in jobs {
                    job();
                    drop(working);
                }
            });
        match started {
            Ok(_) => Some(sender),
            Err(error) => {
                eprintln!("{}: no thread: {error}", self.name);
                None
            }
        }
    }
}
