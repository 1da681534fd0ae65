//! The loop between a driver and the agent.

mod answer;
mod ask;

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
        Gone, Outlet, descriptor,
        headless::{Headless, Note, Notes, level_of, say},
    },
    args::LogLevel,
};

use super::{
    input::{Input, Received},
    queue::{Job, Queue},
};
use ask::Asked;

/// While so many bytes of answers are not read, no further command is.
const UNREAD_BYTES: usize = 1024 * 1024;

/// Between a driver and the agent.
pub(super) struct Driver {
    runtime: Runtime,
    input: Input,
    outlet: Outlet,
    notes: Arc<Notes>,
    log_level: LogLevel,
    /// What waits for its turn.
    queue: Queue,
    /// What has it.
    active: Option<Active>,
    /// What extensions are asked meanwhile.
    asked: JoinSet<Asked>,
    turns: Arc<Semaphore>,
    /// Whether they are ended and started anew, which has the turn too.
    reloading: bool,
    /// Whether all commands have been read.
    read_all: bool,
    /// Whether a signal has ended it.
    ending: watch::Sender<bool>,
}

/// A prompt or a compaction that runs.
struct Active {
    events: EventStream,
    /// From `done` on. They are told when the agent is idle, so that a driver who has seen them finds it so.
    last: Vec<Event>,
}

impl Driver {
    pub(super) fn new(
        runtime: Runtime,
        input: Input,
        outlet: Outlet,
        notes: Arc<Notes>,
        log_level: LogLevel,
    ) -> Self {
        Self {
            runtime,
            input,
            outlet,
            notes,
            log_level,
            queue: Queue::default(),
            active: None,
            asked: JoinSet::new(),
            turns: Arc::new(Semaphore::new(ask::AT_ONCE)),
            reloading: false,
            read_all: false,
            ending: watch::Sender::new(false),
        }
    }

    /// Until all commands have been read and everything is done and told.
    pub(super) async fn run(&mut self, agent: &mut Headless) -> Result<(), Gone> {
        loop {
            self.start_next();
            if self.is_over() {
                return Ok(());
            }
            let reads = !self.read_all && self.outlet.waiting() < UNREAD_BYTES;
            let tells = !self.outlet.is_full();
            tokio::select! {
                worked = self.outlet.work() => worked?,
                received = self.input.next(), if reads => {
                    self.receive(received).await;
                    // Most drivers wait for each answer. Those who do not have theirs written together.
                    if !self.input.has_more() {
                        self.outlet.write_now()?;
                    }
                }
                event = next(&mut self.active), if tells => self.event(event),
                note = self.notes.next(), if tells => self.note(note),
                Some(asked) = self.asked.join_next() => {
                    self.asked(asked.expect("what is asked does not panic"));
                }
                code = agent.signalled() => {
                    agent.signal(code).await;
                    self.end();
                }
            }
        }
    }

    /// Nobody reads what is told any more, so nobody listens to what is under way: it would wait for us to take its events.
    pub(super) fn stop_listening(&mut self) {
        self.active = None;
    }

    /// Tells what extensions have said while they were ended.
    pub(super) async fn finish(mut self) -> Result<(), Gone> {
        while let Some(note) = self.notes.take() {
            self.note(note);
        }
        self.outlet.finish().await
    }

    /// Whether a prompt, a compaction or a reload is under way.
    fn is_busy(&self) -> bool {
        self.active.is_some() || self.reloading || !self.queue.is_empty()
    }

    fn is_over(&self) -> bool {
        let is_told = self.outlet.waiting() == 0;
        self.read_all && is_told && !self.is_busy() && self.asked.is_empty()
    }

    /// A signal has come, and has aborted what was under way; nothing else begins.
    fn end(&mut self) {
        self.read_all = true;
        self.ending.send_replace(true);
        while let Some(job) = self.queue.pop() {
            self.give_up(job, ask::ENDING);
        }
    }

    /// Does what a line asks for.
    pub(super) async fn receive(&mut self, received: Received) {
        match received {
            Received::Command(command) => self.command(command).await,
            Received::Refused(response) => self.outlet.put(response),
            Received::End => self.read_all = true,
        }
    }

    fn respond(&mut self, id: Option<RequestId>, command: &str, outcome: Result<Data, String>) {
        self.outlet.put(Response::new(id, command, outcome));
    }

    fn refuse(&mut self, id: Option<RequestId>, command: &str, why: impl Into<String>) {
        self.respond(id, command, Err(why.into()));
    }

    /// Queues something, which is answered when it starts.
    fn queue(&mut self, job: Job) {
        if let Err(job) = self.queue.push(job) {
            self.give_up(job, "too much waits already; this was not queued");
        }
    }

    fn give_up(&mut self, job: Job, why: &str) {
        let command = job.command();
        self.refuse(job.into_id(), command, why);
    }

    /// Lets the next one begin, where nothing else is under way.
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
                    let last = Vec::new();
                    self.active = Some(Active { events, last });
                }
                Err(busy) => self.refuse(id, command, busy.to_string()),
            }
        }
    }

    /// Tells an event of what is under way, and those that have come with it.
    fn event(&mut self, event: Option<Event>) {
        let Some(active) = &mut self.active else {
            return;
        };
        let mut next = event;
        while let Some(event) = next {
            // What extensions have said until now comes before it.
            while !self.outlet.is_full()
                && let Some(note) = self.notes.take()
            {
                tell(note, &mut self.outlet, self.log_level);
            }
            if active.last.is_empty() && !matches!(event, Event::Done(_)) {
                self.outlet.put(event);
            } else {
                active.last.push(event);
            }
            if self.outlet.is_full() {
                return;
            }
            match active.events.ready() {
                Some(event) => next = Some(event),
                // Whether there will be more is for the next call to find out.
                None => return,
            }
        }
        for event in std::mem::take(&mut active.last) {
            self.outlet.put(event);
        }
        self.active = None;
    }

    fn note(&mut self, note: Note) {
        tell(note, &mut self.outlet, self.log_level);
    }
}

fn tell(note: Note, outlet: &mut Outlet, log_level: LogLevel) {
    match note {
        Note::Event(event) => outlet.put(event),
        // A driver that does not read it is not to hold us up.
        Note::Notice(level, message) if descriptor::has(&io::stderr(), PollFlags::OUT) => {
            say(log_level, level_of(level), &message);
        }
        Note::Notice(..) => {}
    }
}

/// The next event of what is under way; `None` after the last.
async fn next(active: &mut Option<Active>) -> Option<Event> {
    match active {
        Some(active) => active.events.next().await,
        None => std::future::pending().await,
    }
}
