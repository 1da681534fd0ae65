//! The queue of jobs that run one after the other: prompts, compactions, and prompts from extension
//! commands.

use std::collections::VecDeque;

use zot_host::Prompt;
use zot_protocol::{RequestId, rpc};

/// Limits of the queue, in jobs and in bytes. A limit on jobs is not enough, because a single
/// prompt can be up to 16 MiB long.
const MAX_JOBS: usize = 1_000;
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// A job. Its command is answered when the job starts.
#[derive(Debug)]
pub(super) enum Job {
    Prompt(Option<RequestId>, Prompt),
    Compact(Option<RequestId>),
    /// A prompt that an extension's command returned, with the response for the client.
    Command(Option<RequestId>, Box<rpc::RunCommandData>, Prompt),
}

impl Job {
    /// Returns the name of the command that queued the job.
    pub(super) fn command(&self) -> &'static str {
        match self {
            Self::Prompt(..) => "prompt",
            Self::Compact(_) => "compact",
            Self::Command(..) => "run_command",
        }
    }

    /// Returns the ID of the command that queued the job.
    pub(super) fn into_id(self) -> Option<RequestId> {
        let (Self::Prompt(id, _) | Self::Compact(id) | Self::Command(id, ..)) = self;
        id
    }

    fn bytes(&self) -> usize {
        let (Self::Prompt(_, prompt) | Self::Command(_, _, prompt)) = self else {
            return 0;
        };
        let images = prompt.images.iter().map(|(_, data)| data.len());
        prompt.text.len() + images.sum::<usize>()
    }
}

/// Jobs in the order in which they were queued.
#[derive(Debug, Default)]
pub(super) struct JobQueue {
    jobs: VecDeque<Job>,
    bytes: usize,
}

impl JobQueue {
    /// Adds a job, or returns it if the queue is full.
    pub(super) fn push(&mut self, job: Job) -> Result<(), Job> {
        let bytes = job.bytes();
        let is_full = self.jobs.len() >= MAX_JOBS || self.bytes + bytes > MAX_BYTES;
        if is_full && !self.jobs.is_empty() {
            return Err(job);
        }
        self.bytes += bytes;
        self.jobs.push_back(job);
        Ok(())
    }

    pub(super) fn pop(&mut self) -> Option<Job> {
        let job = self.jobs.pop_front()?;
        self.bytes -= job.bytes();
        Some(job)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: usize) -> Job {
        Job::Prompt(None, Prompt::text("x".repeat(bytes)))
    }

    #[test]
    fn count_and_bytes_are_limited() {
        let mut queue = JobQueue::default();
        for _ in 0..MAX_JOBS {
            assert!(queue.push(Job::Compact(None)).is_ok());
        }
        assert!(queue.push(Job::Compact(None)).is_err());
        while queue.pop().is_some() {}
        assert!(
            queue.push(of(MAX_BYTES + 1)).is_ok(),
            "an empty queue accepts any job"
        );
        assert!(queue.push(of(1)).is_err());
        assert!(queue.pop().is_some());
        assert!(queue.push(of(MAX_BYTES)).is_ok());
        assert!(queue.push(of(0)).is_ok() && queue.push(of(1)).is_err());
    }
}
