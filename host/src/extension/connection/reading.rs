//! Reads one extension to its end, and keeps the time of all that may become due meanwhile.

use std::{collections::HashSet, future::poll_fn, io, time::Duration};

use tokio::{pin, task::yield_now, time::Instant};
use zot_protocol::{HelloAck, NoteLevel, limits::Limits};

use super::{Connection, alarm::Alarm, lock};
use crate::extension::{pending::RequestError, source::Source, wire::LineReader};

/// How long its output is still waited for when a process has exited; a descendant may hold it open.
const OUTPUT_AFTER_EXIT: Duration = Duration::from_millis(100);
/// How long its status is waited for when its output has ended. Longer, because a crash ends the output first, and the
/// process after it has written its core.
const EXIT_AFTER_OUTPUT: Duration = Duration::from_secs(1);
/// So many lines are handled before everything else has a turn.
const LINES_AT_A_TURN: usize = 16;

/// What comes from the extension, and what is kept of it. The lock on it is held for some lines, and never across an await.
pub(super) struct Inbox {
    pub(super) lines: LineReader<Box<dyn Source>>,
    /// Lines that have been read still wait.
    pub(super) more: bool,
    reading: Reading,
}

impl Inbox {
    pub(super) fn new(stdout: Box<dyn Source>, ack: HelloAck, limits: &Limits) -> Self {
        let start = Instant::now();
        Self {
            lines: LineReader::new(stdout, limits.frame_bytes),
            more: false,
            reading: Reading {
                ack: Some(ack),
                hello_by: start + limits.hello,
                patience: Some(start + limits.hello.min(limits.hello_notice)),
                garbage: 0,
                unknown_types: HashSet::new(),
                changed: false,
                stall_counted_from: start,
            },
        }
    }
}

/// What the reading side keeps between lines.
pub(super) struct Reading {
    /// What `hello` is answered with; `None` once it is.
    pub(super) ack: Option<HelloAck>,
    hello_by: Instant,
    /// When it is no longer waited for in silence: for `hello`, then for `ready`.
    pub(super) patience: Option<Instant>,
    /// Lines in a row that are not JSON.
    pub(super) garbage: usize,
    pub(super) unknown_types: HashSet<String>,
    /// It has registered something since its owner was told.
    pub(super) changed: bool,
    stall_counted_from: Instant,
}

/// What is known of the process's end while the rest of it is waited for.
#[derive(Default)]
struct Ending {
    status: Option<String>,
    output_ended: bool,
    over_at: Option<Instant>,
}

impl Ending {
    fn expect_within(&mut self, time: Duration) {
        let at = Instant::now() + time;
        self.over_at.get_or_insert(at);
    }

    fn in_words(&mut self) -> String {
        match self.status.take() {
            Some(status) => format!("ended: {status}"),
            // Alive, and nothing more will be heard of it, or can be said to it.
            None if self.output_ended => "closed its standard output".to_owned(),
            None => "closed its standard input".to_owned(),
        }
    }
}

impl Connection {
    /// Reads to the end, and returns why it is the end: as `Err` where it was this side that broke off.
    pub(super) async fn read(&self, exit: impl Future<Output = String>) -> Result<String, String> {
        let mut process = Ending::default();
        let mut written = false;
        let mut alarm = Alarm::new();
        let writing = self.outbox.drive();
        pin!(exit, writing);
        loop {
            let (more, next_alarm) = self.with_inbox(|inbox| {
                // Whoever has set it did so with the inbox in hand: no line is handled after it.
                if let Some(why) = lock(&self.stop_reason).take() {
                    return Err(why);
                }
                self.hear(inbox)?;
                if inbox.lines.has_ended() && !inbox.more && !process.output_ended {
                    process.output_ended = true;
                    process.expect_within(EXIT_AFTER_OUTPUT);
                }
                Ok((inbox.more, self.next_alarm(&inbox.reading, &process)))
            })?;
            if process.output_ended && process.status.is_some() {
                return Ok(process.in_words());
            }
            alarm.set(next_alarm);
            // Whoever sends without a pause must not keep the others from their turn: what is read comes last.
            tokio::select! {
                biased;
                () = alarm.rings() => {
                    self.with_inbox(|inbox| self.alarmed(&mut inbox.reading, &mut process))?;
                }
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
                () = self.look.notified() => {}
                () = yield_now(), if more => {}
                read = self.fill(), if !more && !process.output_ended => {
                    read.map_err(|error| format!("could not be read from: {error}"))?;
                }
            }
        }
    }

    /// Reads once. May be cancelled.
    async fn fill(&self) -> io::Result<()> {
        poll_fn(|context| self.with_inbox(|inbox| inbox.lines.poll_fill(context))).await
    }

    fn with_inbox<T>(&self, work: impl FnOnce(&mut Inbox) -> T) -> T {
        let mut inbox = lock(&self.inbox);
        work(inbox.as_mut().expect("there until the end"))
    }

    /// Handles what has been read, some lines at a time; more may wait afterwards.
    pub(super) fn hear(&self, inbox: &mut Inbox) -> Result<(), String> {
        let Inbox {
            lines,
            more,
            reading,
        } = inbox;
        *more = true;
        for _ in 0..LINES_AT_A_TURN {
            match lines.buffered() {
                Some(line) => self.heard(line, reading)?,
                None => {
                    *more = false;
                    break;
                }
            }
        }
        if std::mem::take(&mut reading.changed) {
            self.listener.changed();
        }
        Ok(())
    }

    /// When something is due that no other event will tell.
    fn next_alarm(&self, reading: &Reading, process: &Ending) -> Option<Instant> {
        let due = [
            reading.patience,
            process.over_at,
            self.stall(reading),
            self.pending.alarm(),
        ];
        due.into_iter().flatten().min()
    }

    /// When it has taken nothing for too long, if it takes nothing from now on.
    fn stall(&self, reading: &Reading) -> Option<Instant> {
        let stalled = self.outbox.stalled_since()?;
        let counted = reading.stall_counted_from.max(self.pending.settled_at());
        Some(stalled.max(counted) + self.limits.write_stall)
    }

    /// Something may be due.
    fn alarmed(&self, reading: &mut Reading, process: &mut Ending) -> Result<(), String> {
        let now = Instant::now();
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if is_due(self.pending.alarm()) {
            self.pending.expire(now);
        }
        if is_due(process.over_at) {
            return Err(process.in_words());
        }
        if is_due(reading.patience) {
            self.out_of_patience(reading)?;
        }
        if is_due(self.stall(reading)) {
            if self.pending.is_empty() {
                let limit = self.limits.write_stall;
                return Err(format!("was disconnected: it read nothing for {limit:?}"));
            }
            // It may be too busy with a request to read; that time does not count.
            reading.stall_counted_from = now;
        }
        Ok(())
    }

    fn input_closed(&self, error: &io::Error) {
        self.listener
            .log(&format!("its standard input is closed: {error}"));
        let closed = RequestError::Closed("has closed its standard input".to_owned());
        self.pending.fail_all(&closed);
    }

    /// `hello` has not come in time, or no `ready` has come and nothing else either.
    fn out_of_patience(&self, reading: &mut Reading) -> Result<(), String> {
        if reading.ack.is_none() {
            reading.patience = None;
            self.become_ready();
            return Ok(());
        }
        if Instant::now() >= reading.hello_by {
            let limit = self.limits.hello;
            return Err(format!("was ended: no hello within {limit:?}"));
        }
        reading.patience = Some(reading.hello_by);
        let waiting = format!(
            "has not said hello for {:?}; it is waited for until {:?} are over",
            self.limits.hello_notice, self.limits.hello
        );
        self.listener.log(&waiting);
        self.listener.note(NoteLevel::Info, &waiting);
        Ok(())
    }
}
