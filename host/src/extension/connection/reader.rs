//! Reads one extension's output to its end, and tracks every deadline of the connection.

use std::{collections::HashSet, io, time::Duration};

use tokio::{io::AsyncRead, pin, task::yield_now, time::Instant};
use zot_protocol::{HelloAck, NoteLevel, limits::Limits, validate::SpreadJson};

use super::{Connection, timer::Timer};
use crate::extension::{pending::RequestError, wire::LineReader};

/// How long to keep reading after the process has exited or closed its standard input. Without a
/// limit, a descendant that holds the output open could delay the end of the connection forever.
const OUTPUT_AFTER_EXIT: Duration = Duration::from_millis(100);
/// How long to wait for the exit status after the output has ended. A crashing process closes its
/// output first and exits after it has written its core dump.
const EXIT_AFTER_OUTPUT: Duration = Duration::from_secs(1);

/// The standard output of an extension.
pub(crate) type OutputPipe = Box<dyn AsyncRead + Send + Unpin>;

/// What the reader remembers between lines.
pub(super) struct ReadState {
    /// The reply to `hello`; `None` once it is sent.
    pub(super) ack: Option<HelloAck>,
    hello_by: Instant,
    /// The deadline for the next required frame: first `hello`, then `ready`.
    pub(super) frame_deadline: Option<Instant>,
    /// Consecutive lines that are not JSON.
    pub(super) garbage: usize,
    pub(super) unknown_types: HashSet<String>,
    /// Recognises a frame that is spread over several lines.
    pub(super) spread: SpreadJson,
    /// Whether a line since the last valid frame looked like part of a frame.
    pub(super) broken_frame: bool,
    /// Whether registrations have changed since the listener was last notified.
    pub(super) changed: bool,
    stall_counted_from: Instant,
}

impl ReadState {
    fn new(ack: HelloAck, limits: &Limits) -> Self {
        let start = Instant::now();
        Self {
            ack: Some(ack),
            hello_by: start + limits.hello,
            frame_deadline: Some(start + limits.hello.min(limits.hello_notice)),
            garbage: 0,
            unknown_types: HashSet::new(),
            spread: SpreadJson::default(),
            broken_frame: false,
            changed: false,
            stall_counted_from: start,
        }
    }
}

/// What is known about the end of the process.
#[derive(Default)]
struct ProcessEnd {
    status: Option<String>,
    output_ended: bool,
    over_at: Option<Instant>,
}

impl ProcessEnd {
    fn expect_within(&mut self, time: Duration) {
        let at = Instant::now() + time;
        self.over_at.get_or_insert(at);
    }

    fn describe(&mut self) -> String {
        match self.status.take() {
            Some(status) => format!("ended: {status}"),
            // The process is alive, but can no longer be read from or written to.
            None if self.output_ended => "closed its standard output".to_owned(),
            None => "closed its standard input".to_owned(),
        }
    }
}

impl Connection {
    /// Reads to the end and returns why the stream ended: `Err` if the host ended it.
    pub(super) async fn read(
        &self,
        (output, ack): (OutputPipe, HelloAck),
        exit: impl Future<Output = String>,
    ) -> Result<String, String> {
        let mut lines = LineReader::new(output, self.limits.frame_bytes);
        let mut state = ReadState::new(ack, &self.limits);
        let mut process = ProcessEnd::default();
        let mut written = false;
        let mut timer = Timer::new();
        let writing = self.outbox.drive();
        pin!(exit, writing);
        loop {
            while let Some(line) = lines.buffered() {
                self.check_stopped()?;
                self.line(line, &mut state)?;
                // An extension that sends without a pause must not delay the others.
                if lines.has_more() {
                    yield_now().await;
                }
            }
            self.check_stopped()?;
            if std::mem::take(&mut state.changed) {
                self.listener.changed();
            }
            if lines.has_ended() && !process.output_ended {
                process.output_ended = true;
                process.expect_within(EXIT_AFTER_OUTPUT);
            }
            if process.output_ended && process.status.is_some() {
                return Ok(process.describe());
            }
            timer.set(self.next_deadline(&state, &process));
            // Reading comes last, so that a busy extension does not delay deadlines and writes.
            tokio::select! {
                biased;
                () = timer.elapsed() => self.deadline_passed(&mut state, &mut process)?,
                status = &mut exit, if process.status.is_none() => {
                    process.status = Some(status);
                    process.expect_within(OUTPUT_AFTER_EXIT);
                }
                result = &mut writing, if !written => {
                    written = true;
                    if self.outbox.has_overflowed() {
                        return Err(format!("was disconnected: {}", RequestError::QueueFull));
                    }
                    if let Err(error) = result {
                        self.input_closed(&error);
                        process.expect_within(OUTPUT_AFTER_EXIT);
                    }
                }
                () = self.reader_wakeup.notified() => {}
                read = lines.fill(), if !process.output_ended => {
                    read.map_err(|error| format!("was disconnected: cannot read its output: {error}"))?;
                }
            }
        }
    }

    fn check_stopped(&self) -> Result<(), String> {
        self.stop_reason.lock().take().map_or(Ok(()), Err)
    }

    /// Returns the time at which the reader must wake up to check its deadlines.
    fn next_deadline(&self, state: &ReadState, process: &ProcessEnd) -> Option<Instant> {
        let due = [
            state.frame_deadline,
            process.over_at,
            self.stall(state),
            self.pending.next_deadline(),
        ];
        due.into_iter().flatten().min()
    }

    /// Returns the time at which a stalled write exceeds its limit, unless the extension reads
    /// before then.
    fn stall(&self, state: &ReadState) -> Option<Instant> {
        let stalled = self.outbox.stalled_since()?;
        let counted = state.stall_counted_from.max(self.pending.settled_at());
        Some(stalled.max(counted) + self.limits.write_stall)
    }

    fn deadline_passed(
        &self,
        state: &mut ReadState,
        process: &mut ProcessEnd,
    ) -> Result<(), String> {
        let now = Instant::now();
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if is_due(self.pending.next_deadline()) {
            self.pending.expire(now);
        }
        if is_due(process.over_at) {
            return Err(process.describe());
        }
        if is_due(state.frame_deadline) {
            self.frame_missing(state)?;
        }
        if is_due(self.stall(state)) {
            if self.pending.is_empty() {
                let limit = self.limits.write_stall;
                return Err(format!("was disconnected: it read nothing for {limit:?}"));
            }
            // The extension may be too busy with a request to read its input. That time does not
            // count as a stall.
            state.stall_counted_from = now;
        }
        Ok(())
    }

    fn input_closed(&self, error: &io::Error) {
        self.listener
            .log(&format!("its standard input is closed: {error}"));
        self.pending
            .fail_all(&RequestError::Closed(self.closed_reason()));
    }

    /// Called when `hello` or `ready` has not arrived by its deadline.
    fn frame_missing(&self, state: &mut ReadState) -> Result<(), String> {
        if state.ack.is_none() {
            state.frame_deadline = None;
            self.become_ready();
            return Ok(());
        }
        if Instant::now() >= state.hello_by {
            let limit = self.limits.hello;
            return Err(format!("was stopped: no hello within {limit:?}"));
        }
        state.frame_deadline = Some(state.hello_by);
        let waiting = format!(
            "has not sent hello after {:?}; zot waits for {:?} in total",
            self.limits.hello_notice, self.limits.hello
        );
        self.listener.log(&waiting);
        self.listener.note(NoteLevel::Info, &waiting);
        Ok(())
    }
}
