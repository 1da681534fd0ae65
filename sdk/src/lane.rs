//! Ordered work queues, for events and for the keys of a panel.

use std::{
    sync::{
        Arc,
        mpsc::{self, SyncSender, TrySendError},
    },
    thread,
};

use parking_lot::Mutex;

use crate::request::{Requests, Working};

/// Maximum length of the queue. A job that does not fit is dropped: if the reader waited instead, a
/// slow event handler would delay a guard.
const WAITING: usize = 8192;

type Job = (Working, Box<dyn FnOnce() + Send>);

/// A queue with one worker thread, started on first use.
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

    /// Queues a job.
    pub(crate) fn push(&self, job: impl FnOnce() + Send + 'static) {
        let mut sender = self.sender.lock();
        if sender.is_none() {
            *sender = self.start();
        }
        let Some(sender) = &*sender else { return };
        let job: Job = (self.requests.work(), Box::new(job));
        if let Err(TrySendError::Full(_)) = sender.try_send(job) {
            eprintln!(
                "{}: queue full ({WAITING} entries), dropping the newest",
                self.name
            );
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
                eprintln!("{}: failed to start a thread: {error}", self.name);
                None
            }
        }
    }
}
