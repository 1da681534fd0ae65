//! Sends frames to an extension through a bounded queue in front of its pipe.
//!
//! A sender tries to write its frame immediately. Data that the pipe does not accept stays in the
//! queue for the task that drives the outbox. Sending to an idle extension therefore needs no task
//! switch, and a sender never waits.

use std::{
    collections::VecDeque,
    future::poll_fn,
    io,
    pin::Pin,
    sync::{Arc, Weak},
    task::{Context, Poll, Waker, ready},
};

use parking_lot::{Mutex, MutexGuard};
use tokio::{io::AsyncWrite, sync::Notify, time::Instant};
use zot_protocol::limits::Limits;

/// The pipe to an extension's standard input.
pub(crate) type Pipe = Box<dyn AsyncWrite + Send + Unpin>;

/// Called with each frame just before its first byte is written.
type FrameObserver = Box<dyn Fn(&[u8]) + Send + Sync>;

/// Why a frame was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotSent {
    /// The queue is full.
    Full,
    /// The pipe is closed.
    Closed,
}

/// The effect of an accepted frame on the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    /// The queue was empty, and the pipe did not accept the whole frame.
    BacklogStarted,
    /// No change: the queue is still empty, or is still waiting for the pipe.
    Unchanged,
}

/// The queue and its pipe.
pub(crate) struct Outbox {
    queue: Arc<Queue>,
    budget: Arc<QueueBudget>,
    max_frames: usize,
    max_bytes: usize,
}

/// The limit on the combined size of the queues of all extensions of a host.
pub(crate) struct QueueBudget {
    max_bytes: usize,
    queues: Mutex<Vec<Weak<Queue>>>,
}

impl QueueBudget {
    pub(crate) fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            max_bytes: limits.all_queues_bytes,
            queues: Mutex::default(),
        })
    }

    /// Closes the largest queues until the total is within the limit. The fault lies with the
    /// extension that does not read, not with the receiver of the current frame.
    fn enforce(&self) {
        let mut queues = self.queues.lock();
        queues.retain(|queue| queue.strong_count() > 0);
        loop {
            let open: Vec<Arc<Queue>> = queues.iter().filter_map(Weak::upgrade).collect();
            let bytes = |queue: &Arc<Queue>| queue.state.lock().bytes;
            let all: usize = open.iter().map(bytes).sum();
            let largest = open.iter().max_by_key(|queue| bytes(queue));
            let Some(largest) = largest.filter(|_| all > self.max_bytes) else {
                return;
            };
            largest.state.lock().overflowed = true;
            largest.close();
        }
    }
}

struct Queue {
    state: Mutex<QueueState>,
    /// Notified when the queue is empty or closed.
    drained: Notify,
}

impl Queue {
    /// Closes the pipe and drops the queue.
    fn close(&self) {
        self.state.lock().close();
        self.drained.notify_waiters();
    }
}

struct QueueState {
    /// `None` once it is closed.
    pipe: Option<Pipe>,
    queue: VecDeque<Frame>,
    /// How many bytes of the first frame have been written; `None` before the first attempt.
    written: Option<usize>,
    observer: Option<FrameObserver>,
    bytes: usize,
    /// Whether to close the pipe once the queue is empty.
    finishing: bool,
    /// Whether the queue was closed because all queues together exceeded their limit.
    overflowed: bool,
    /// Wakes the driving task when the pipe accepts data again.
    driver: Waker,
    /// When the pipe last accepted data. Only valid while the queue is not empty.
    progress: Instant,
}

struct Frame {
    /// The request that the frame belongs to, by which the frame can be withdrawn.
    request: Option<u64>,
    line: Vec<u8>,
}

impl Outbox {
    pub(crate) fn new(pipe: Pipe, budget: &Arc<QueueBudget>, limits: &Limits) -> Self {
        let state = QueueState {
            pipe: Some(pipe),
            queue: VecDeque::new(),
            written: None,
            observer: None,
            bytes: 0,
            finishing: false,
            overflowed: false,
            driver: Waker::noop().clone(),
            progress: Instant::now(),
        };
        let queue = Arc::new(Queue {
            state: Mutex::new(state),
            drained: Notify::new(),
        });
        budget.queues.lock().push(Arc::downgrade(&queue));
        Self {
            queue,
            budget: Arc::clone(budget),
            max_frames: limits.queue_frames,
            max_bytes: limits.queue_bytes,
        }
    }

    /// Waits until the queue is empty or the pipe is closed.
    pub(crate) async fn drained(&self) {
        loop {
            let notified = self.queue.drained.notified();
            if self.lock().queue.is_empty() {
                return;
            }
            notified.await;
        }
    }

    /// Passes every frame to `observer` just before its first byte is written.
    pub(crate) fn set_observer(&self, observer: FrameObserver) {
        self.lock().observer = Some(observer);
    }

    /// Queues a line, including its newline, and writes as much of the queue as the pipe accepts
    /// now. A line with a `request` can be withdrawn until its first byte is written.
    pub(crate) fn send(&self, line: Vec<u8>, request: Option<u64>) -> Result<Sent, NotSent> {
        let mut state = self.lock();
        if state.overflowed {
            return Err(NotSent::Full);
        }
        if state.pipe.is_none() || state.finishing {
            return Err(NotSent::Closed);
        }
        if state.queue.len() >= self.max_frames || state.bytes + line.len() > self.max_bytes {
            return Err(NotSent::Full);
        }
        let was_idle = state.queue.is_empty();
        state.bytes += line.len();
        state.queue.push_back(Frame { request, line });
        let driver = state.driver.clone();
        let written = state.poll_write(&mut Context::from_waker(&driver));
        if state.queue.is_empty() {
            self.queue.drained.notify_waiters();
        } else {
            if was_idle {
                state.progress = Instant::now();
            }
            drop(state);
            self.budget.enforce();
            state = self.lock();
        }
        if state.overflowed {
            return Err(NotSent::Full);
        }
        match written {
            Poll::Pending if was_idle => return Ok(Sent::BacklogStarted),
            // The driving task reports the error.
            Poll::Ready(Err(_)) => driver.wake(),
            Poll::Ready(Ok(())) | Poll::Pending => {}
        }
        Ok(Sent::Unchanged)
    }

    /// Removes a cancelled request from the queue. Returns false if it is not in the queue or has
    /// been partly written.
    pub(crate) fn withdraw(&self, request: u64) -> bool {
        let mut state = self.lock();
        let begun = usize::from(state.written.is_some());
        let unwritten = state.queue.iter().skip(begun);
        let Some(at) = unwritten.clone().position(|it| it.request == Some(request)) else {
            return false;
        };
        if let Some(frame) = state.queue.remove(begun + at) {
            state.bytes -= frame.line.len();
        }
        if state.queue.is_empty() {
            self.queue.drained.notify_waiters();
        }
        true
    }

    /// Accepts no more frames, and closes the pipe once the queue is empty.
    pub(crate) fn finish(&self) {
        let mut state = self.lock();
        state.finishing = true;
        let driver = state.driver.clone();
        drop(state);
        driver.wake();
    }

    /// Closes the pipe and drops the queue.
    pub(crate) fn close(&self) {
        self.queue.close();
    }

    /// Reports whether this queue was closed for being the largest when all queues together
    /// exceeded their limit.
    pub(crate) fn has_overflowed(&self) -> bool {
        self.lock().overflowed
    }

    /// Returns when the pipe last accepted data, if there are frames waiting for it; `None` if
    /// nothing is waiting.
    pub(crate) fn stalled_since(&self) -> Option<Instant> {
        let state = self.lock();
        (state.pipe.is_some() && !state.queue.is_empty()).then_some(state.progress)
    }

    /// Writes until the outbox is finished and empty, or the pipe breaks. Only one task may await
    /// this.
    pub(crate) async fn drive(&self) -> io::Result<()> {
        poll_fn(|context| {
            let mut state = self.lock();
            state.driver.clone_from(context.waker());
            if state.pipe.is_none() {
                return Poll::Ready(Ok(()));
            }
            let written = state.poll_write(context);
            if written.is_ready() {
                self.queue.drained.notify_waiters();
            }
            match written {
                Poll::Ready(Ok(())) if state.finishing => {
                    state.close();
                    Poll::Ready(Ok(()))
                }
                Poll::Ready(Err(error)) => {
                    state.close();
                    Poll::Ready(Err(error))
                }
                _ => Poll::Pending,
            }
        })
        .await
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.queue.state.lock()
    }
}

impl QueueState {
    /// Writes as much as the pipe accepts. Ready when the queue is empty.
    fn poll_write(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(pipe) = &mut self.pipe else {
            return Poll::Ready(Ok(()));
        };
        while let Some(Frame { line, .. }) = self.queue.front() {
            let written = self.written.get_or_insert_with(|| {
                if let Some(observer) = &self.observer {
                    observer(line);
                }
                0
            });
            let taken = ready!(Pin::new(&mut *pipe).poll_write(context, &line[*written..]))?;
            if taken == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            *written += taken;
            if *written == line.len() {
                self.bytes -= line.len();
                self.written = None;
                self.queue.pop_front();
            }
            if !self.queue.is_empty() {
                self.progress = Instant::now();
            }
        }
        Poll::Ready(Ok(()))
    }

    fn close(&mut self) {
        self.pipe = None;
        self.queue.clear();
        self.bytes = 0;
        self.written = None;
        self.driver.wake_by_ref();
    }
}

impl std::fmt::Debug for Outbox {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.lock();
        formatter
            .debug_struct("Outbox")
            .field("open", &state.pipe.is_some())
            .field("frames", &state.queue.len())
            .field("bytes", &state.bytes)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_largest_queue_is_closed_when_all_together_exceed_the_limit() {
        let limits = Limits {
            queue_bytes: 10_000,
            all_queues_bytes: 15_000,
            ..Limits::default()
        };
        let budget = QueueBudget::new(&limits);
        let mut other_ends = Vec::new();
        let mut outbox = || {
            let (ours, theirs) = tokio::io::duplex(1);
            other_ends.push(theirs);
            Outbox::new(Box::new(ours), &budget, &limits)
        };
        let (largest, second, third) = (outbox(), outbox(), outbox());
        let send = |to: &Outbox, bytes| to.send(vec![b'x'; bytes], None);
        assert_eq!(send(&largest, 9_000), Ok(Sent::BacklogStarted));
        assert_eq!(send(&second, 4_000), Ok(Sent::BacklogStarted));
        assert_eq!(send(&third, 1_000), Ok(Sent::BacklogStarted));
        assert!(!largest.has_overflowed());
        assert_eq!(send(&second, 2_000), Ok(Sent::Unchanged));
        assert!(largest.has_overflowed(), "the largest");
        assert!(!second.has_overflowed() && !third.has_overflowed());
        assert_eq!(send(&largest, 1), Err(NotSent::Full));
        assert!(largest.drive().await.is_ok(), "its driver ends");
        assert_eq!(largest.lock().bytes, 0, "its memory is freed");
        assert_eq!(
            send(&third, 8_000),
            Ok(Sent::Unchanged),
            "there is room again"
        );
        drop(second);
        assert_eq!(send(&third, 500), Ok(Sent::Unchanged));
    }

    #[tokio::test]
    async fn a_request_withdrawn_before_its_first_byte_is_never_sent() {
        use tokio::io::AsyncReadExt as _;

        let limits = Limits::default();
        let (ours, mut theirs) = tokio::io::duplex(1);
        let outbox = Outbox::new(Box::new(ours), &QueueBudget::new(&limits), &limits);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let observer = Arc::clone(&seen);
        outbox.set_observer(Box::new(move |line| {
            observer.lock().push(line.to_vec());
        }));
        for (request, line) in ["first\n", "second\n", "third\n"].into_iter().enumerate() {
            outbox.send(line.into(), Some(request as u64)).unwrap();
        }
        assert!(outbox.withdraw(1));
        assert!(!outbox.withdraw(1), "already withdrawn");
        assert!(!outbox.withdraw(0), "partly written");
        outbox.finish();
        let mut read = String::new();
        let (driven, _) = tokio::join!(outbox.drive(), theirs.read_to_string(&mut read));
        driven.unwrap();
        assert_eq!(read, "first\nthird\n");
        assert_eq!(seen.lock().concat(), read.as_bytes());
    }
}
