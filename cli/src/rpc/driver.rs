//! The main loop between the client and the agent.

mod commands;
mod extension_list;
mod extension_requests;

use std::{io, sync::Arc};

use rustix::event::PollFlags;
use tokio::{
    sync::{Semaphore, watch},
    task::JoinSet,
};
use zot_host::{EventStream, Runtime};
use zot_protocol::{
    RequestId,
    rpc::{Data, Event, Response, Started},
};

use crate::{
    agent::{
        JsonOutput, OutputClosed, descriptor,
        headless::{Headless, NoteQueue, QueuedNote, level_of, log_message},
    },
    args::LogLevel,
};

use super::{
    input::{CommandReader, Received},
    queue::{Job, JobQueue},
};
use extension_list::Told;
use extension_requests::ExtensionResult;

/// While this many bytes of output are waiting to be written, no further command is read.
const UNREAD_BYTES: usize = 1024 * 1024;

/// Connects a client to the agent.
pub(super) struct Driver {
    runtime: Runtime,
    input: CommandReader,
    output: JsonOutput,
    notes: Arc<NoteQueue>,
    log_level: LogLevel,
    /// Jobs that are waiting for the running one to finish.
    queue: JobQueue,
    /// The running job.
    active: Option<Active>,
    /// Requests that run in the background, such as extension commands.
    requests: JoinSet<ExtensionResult>,
    permits: Arc<Semaphore>,
    /// What the client knows about extensions.
    told: Told,
    /// Whether extensions are being reloaded. No job starts in the meantime.
    reloading: bool,
    /// Whether the end of the input has been reached.
    read_all: bool,
    /// Whether a signal is shutting zot down.
    ending: watch::Sender<bool>,
}

/// A running prompt or compaction.
struct Active {
    events: EventStream,
    /// `done`, the last event. It is held back until the job has ended, so that the agent is idle
    /// when the client receives `done`.
    done: Option<Event>,
}

impl Driver {
    pub(super) fn new(
        runtime: Runtime,
        input: CommandReader,
        output: JsonOutput,
        notes: Arc<NoteQueue>,
        log_level: LogLevel,
    ) -> Self {
        Self {
            told: Told::new(&runtime),
            runtime,
            input,
            output,
            notes,
            log_level,
            queue: JobQueue::default(),
            active: None,
            requests: JoinSet::new(),
            permits: Arc::new(Semaphore::new(extension_requests::MAX_CONCURRENT)),
            reloading: false,
            read_all: false,
            ending: watch::Sender::new(false),
        }
    }

    /// Runs until all commands have been read and all work is done and reported.
    pub(super) async fn run(&mut self, agent: &mut Headless) -> Result<(), OutputClosed> {
        loop {
            self.start_next();
            if self.is_over() {
                return Ok(());
            }
            let reads = !self.read_all && self.output.waiting() < UNREAD_BYTES;
            let sends = !self.output.is_full();
            tokio::select! {
                worked = self.output.work() => worked?,
                received = self.input.next(), if reads => {
                    self.receive(received).await;
                    // The client may be waiting for the response, so write it now. If the client
                    // has already sent more commands, batch the responses.
                    if !self.input.has_more() {
                        self.output.write_now()?;
                    }
                }
                event = next(&mut self.active), if sends => self.event(event),
                note = self.notes.next(), if sends => self.note(note),
                () = self.told.changed(), if sends => self.report_change(),
                Some(result) = self.requests.join_next(), if sends => {
                    self.extension_result(result.expect("a request task does not panic"));
                }
                code = agent.signalled() => {
                    agent.signal(code).await;
                    self.end();
                }
            }
        }
    }

    /// Drops the running job's events, because the output is closed. Otherwise, the job would wait
    /// for us to read them.
    pub(super) fn stop_listening(&mut self) {
        self.active = None;
    }

    /// Sends the remaining extension notes after the extensions have ended.
    pub(super) async fn finish(mut self) -> Result<(), OutputClosed> {
        while let Some(note) = self.notes.take() {
            self.note(note);
        }
        self.output.finish().await
    }

    /// Reports whether a prompt, a compaction or a reload is running or queued.
    fn is_busy(&self) -> bool {
        self.active.is_some() || self.reloading || !self.queue.is_empty()
    }

    fn is_over(&self) -> bool {
        let is_flushed = self.output.waiting() == 0;
        self.read_all && is_flushed && !self.is_busy() && self.requests.is_empty()
    }

    /// Handles a signal. The running job is already aborted, and no other job will start.
    fn end(&mut self) {
        self.read_all = true;
        self.ending.send_replace(true);
        while let Some(job) = self.queue.pop() {
            self.reject(job, extension_requests::SHUTTING_DOWN);
        }
    }

    /// Handles one line of input.
    pub(super) async fn receive(&mut self, received: Received) {
        match received {
            Received::Command(command) => self.command(command).await,
            Received::Refused(response) => self.output.push(response),
            Received::End => self.read_all = true,
        }
    }

    fn respond(&mut self, id: Option<RequestId>, command: &str, outcome: Result<Data, String>) {
        self.output.push(Response::new(id, command, outcome));
    }

    fn refuse(&mut self, id: Option<RequestId>, command: &str, why: impl Into<String>) {
        self.respond(id, command, Err(why.into()));
    }

    /// Queues a job. The response is sent when the job starts.
    fn queue(&mut self, job: Job) {
        if let Err(job) = self.queue.push(job) {
            self.reject(job, "queue is full");
        }
    }

    fn reject(&mut self, job: Job, why: &str) {
        let command = job.command();
        self.refuse(job.into_id(), command, why);
    }

    /// Starts the next job if none is running.
    fn start_next(&mut self) {
        while self.active.is_none()
            && !self.reloading
            && let Some(job) = self.queue.pop()
        {
            let command = job.command();
            let (begun, id, data) = match job {
                Job::Prompt(id, prompt) => {
                    let data = Data::Prompt(Started::new(true));
                    (self.runtime.prompt(prompt), id, data)
                }
                Job::Compact(id) => {
                    let data = Data::Compact(Started::new(true));
                    (self.runtime.compact(), id, data)
                }
                Job::Command(id, data, prompt) => {
                    (self.runtime.prompt(prompt), id, Data::RunCommand(*data))
                }
            };
            match begun {
                Ok(events) => {
                    self.respond(id, command, Ok(data));
                    self.active = Some(Active { events, done: None });
                }
                Err(why) => self.refuse(id, command, why.to_string()),
            }
        }
    }

    /// Sends an event of the running job, and all later events that are already available.
    fn event(&mut self, event: Option<Event>) {
        let Some(active) = &mut self.active else {
            return;
        };
        let mut next = event;
        while let Some(event) = next {
            // Send the notes that extensions sent before this event.
            while !self.output.is_full()
                && let Some(note) = self.notes.take()
            {
                send_note(note, &mut self.output, self.log_level);
            }
            match event {
                Event::Done(_) => active.done = Some(event),
                event => self.output.push(event),
            }
            if self.output.is_full() {
                return;
            }
            match active.events.ready() {
                Some(event) => next = Some(event),
                // No event is available yet. The next call handles the next one, or the end of the
                // job.
                None => return,
            }
        }
        if let Some(done) = active.done.take() {
            self.output.push(done);
        }
        self.active = None;
    }

    fn note(&mut self, note: QueuedNote) {
        send_note(note, &mut self.output, self.log_level);
    }
}

fn send_note(note: QueuedNote, output: &mut JsonOutput, log_level: LogLevel) {
    match note {
        QueuedNote::Event(event) => output.push(event),
        // A client that does not read stderr must not block us.
        QueuedNote::Notice(level, message)
            if descriptor::is_ready(&io::stderr(), PollFlags::OUT) =>
        {
            log_message(log_level, level_of(level), &message);
        }
        QueuedNote::Notice(..) => {}
    }
}

/// Returns the next event of the running job; `None` after the last.
async fn next(active: &mut Option<Active>) -> Option<Event> {
    match active {
        Some(active) => active.events.next().await,
        None => std::future::pending().await,
    }
}
