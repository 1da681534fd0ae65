//! What runs one after the other: prompts, compactions, and the prompts that extensions' commands ask for.

use std::collections::VecDeque;

use zot_host::Prompt;
use zot_protocol::{RequestId, rpc};

/// So many may wait, and so many bytes of them: each line alone may have 16 MiB.
const MOST: usize = 1_000;
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// Something that has to wait for its turn. It is answered when that has come.
#[derive(Debug)]
pub(super) enum Job {
    Prompt(Option<RequestId>, Prompt),
    Compact(Option<RequestId>),
    /// What a command of an extension wants said, and what is answered to who ran it.
    Command(Option<RequestId>, Box<rpc::RunCommandData>, Prompt),
}

impl Job {
    /// The command that asked for it.
    pub(super) fn command(&self) -> &'static str {
        match self {
            Self::Prompt(..) => "prompt",
            Self::Compact(_) => "compact",
            Self::Command(..) => "run_command",
        }
    }

    /// What the driver calls that command.
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

/// The queue, in the order in which things were asked for.
#[derive(Debug, Default)]
pub(super) struct Queue {
    jobs: VecDeque<Job>,
    bytes: usize,
}

impl Queue {
    /// Adds something, or gives it back where too much waits already.
    pub(super) fn push(&mut self, job: Job) -> Result<(), Job> {
        let bytes = job.bytes();
        let is_full = self.jobs.len() >= MOST || self.bytes + bytes > MOST_BYTES;
        if is_full && !self.jobs.is_empty() {
            return Err(job);
        }
        self.bytes += bytes;
        self.jobs.push_back(job);
        Ok(())
    }

    /// What comes next.
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
    fn it_takes_so_many_and_so_much() {
        let mut queue = Queue::default();
        for _ in 0..MOST {
            assert!(queue.push(Job::Compact(None)).is_ok());
        }
        assert!(queue.push(Job::Compact(None)).is_err());
        while queue.pop().is_some() {}
        assert!(queue.push(of(MOST_BYTES + 1)).is_ok(), "one always fits");
        assert!(queue.push(of(1)).is_err());
        assert!(queue.pop().is_some());
        assert!(queue.push(of(MOST_BYTES)).is_ok());
        assert!(queue.push(of(0)).is_ok() && queue.push(of(1)).is_err());
    }
}
