//! Looking for a reply instead of sleeping until it comes.
//!
//! A core that has fallen asleep takes longer to wake than most extensions take to answer. So whoever asks looks for the
//! answer for a moment, and reads it without a detour over the task that reads otherwise. Between two looks others have the
//! core, of whom the extension may be one. An extension that does not answer in that time is looked for ever less often, and then
//! costs next to nothing.

use std::{
    num::NonZero,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        TryLockError,
        atomic::{AtomicU32, Ordering},
    },
    thread::{available_parallelism, yield_now},
    time::{Duration, Instant},
};

use tokio::runtime::Handle;

use super::{Connection, lock};
use crate::extension::pending::Ticket;

/// How long a reply is looked for.
const MOMENT: Duration = Duration::from_micros(100);
/// After a look in vain, and another one, and so on, this many requests at the most are made without one.
const LONGEST_BREAK: u32 = 1024;

/// Whether looking for the replies of one extension is worth it.
#[derive(Debug)]
pub(super) struct Looking {
    /// Whether the extension can answer meanwhile.
    harmless: bool,
    /// How many requests are made without a look after the next one in vain.
    pause: AtomicU32,
    /// How many are still to be.
    left: AtomicU32,
}

impl Looking {
    pub(super) fn new() -> Self {
        let cores = available_parallelism().map_or(1, NonZero::get);
        let workers = Handle::try_current().map_or(1, |it| it.metrics().num_workers());
        Self {
            harmless: is_harmless(cores, workers),
            pause: AtomicU32::new(1),
            left: AtomicU32::new(0),
        }
    }

    /// Whether the reply to this request is looked for.
    fn is_worth_it(&self) -> bool {
        let one_less = |left: u32| left.checked_sub(1);
        let order = Ordering::Relaxed;
        self.harmless && self.left.fetch_update(order, order, one_less).is_err()
    }

    fn found(&self) {
        self.pause.store(1, Ordering::Relaxed);
    }

    fn in_vain(&self) {
        let pause = self.pause.load(Ordering::Relaxed);
        self.left.store(pause, Ordering::Relaxed);
        let longer = pause.saturating_mul(2).min(LONGEST_BREAK);
        self.pause.store(longer, Ordering::Relaxed);
    }
}

/// With one core, another worker of the runtime, which is woken by the same reply, would be in the way.
fn is_harmless(cores: usize, workers: usize) -> bool {
    cores > 1 || workers == 1
}

/// What a look has come to.
enum Look {
    /// Lines have been handled.
    Lines,
    /// There was nothing.
    Nothing,
    /// It is for the task that reads to go on.
    Leave,
}

impl Connection {
    /// Looks for the reply that `ticket` waits for. Whether or not it is found, awaiting the ticket is the next thing to do.
    pub(super) fn look_for(&self, ticket: &Ticket<'_>) {
        let until = self.looking.is_worth_it();
        let until = until.then(|| Instant::now() + MOMENT);
        loop {
            if until.is_some() {
                // The extension may be waiting for this very core.
                yield_now();
            }
            // Even where it is not waited for: it may have answered while the request was written.
            let look = self.look();
            if ticket.is_settled() {
                if until.is_some_and(|until| Instant::now() >= until) {
                    // Whoever else wanted the core has had it for long.
                    self.looking.in_vain();
                } else if matches!(look, Look::Lines) {
                    // Otherwise somebody else may have read it.
                    self.looking.found();
                }
                return;
            }
            match until {
                None => return,
                Some(_) if matches!(look, Look::Leave) => return,
                Some(until) if Instant::now() >= until => return self.looking.in_vain(),
                Some(_) => {}
            }
        }
    }

    /// Handles what has come until this moment, as the task that reads would.
    fn look(&self) -> Look {
        let mut inbox = match self.inbox.try_lock() {
            Ok(inbox) => inbox,
            // It is being read.
            Err(TryLockError::WouldBlock) => return Look::Nothing,
            Err(TryLockError::Poisoned(_)) => return Look::Leave,
        };
        let Some(inbox) = inbox.as_mut() else {
            return Look::Leave;
        };
        // What is ending, and what has more to handle than to read, is for the task.
        if inbox.more || lock(&self.stop_reason).is_some() {
            return Look::Leave;
        }
        match inbox.lines.fill_now() {
            Ok(true) => {}
            Ok(false) => return Look::Nothing,
            Err(_) => return Look::Leave,
        }
        // Who asks has nothing to do with what goes wrong here.
        match catch_unwind(AssertUnwindSafe(|| self.hear(inbox))) {
            Ok(Ok(())) => {}
            Ok(Err(why)) => self.disconnect(why),
            Err(_) => self.disconnect("was let go: its task has failed"),
        }
        if inbox.more || inbox.lines.has_ended() {
            self.look.notify_one();
        }
        Look::Lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_is_slow_is_looked_for_ever_less_often() {
        let looking = Looking {
            harmless: true,
            ..Looking::new()
        };
        let mut looks = 0;
        for _ in 0..10_000 {
            if looking.is_worth_it() {
                looks += 1;
                looking.in_vain();
            }
        }
        assert!((10..25).contains(&looks), "{looks}");
        while !looking.is_worth_it() {}
        looking.found();
        assert!(looking.is_worth_it() && looking.is_worth_it(), "at once");
    }

    #[test]
    fn on_one_core_the_only_worker_looks_and_one_of_several_does_not() {
        let known = [(1, 1), (1, 2), (2, 1), (2, 2)];
        let looks = known.map(|(cores, workers)| is_harmless(cores, workers));
        assert_eq!(looks, [true, false, true, true]);
    }
}
