//! What the host asks an extension, each with its deadline, the write included.

use std::time::Duration;

use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until, timeout},
};
use zot_protocol::{
    Capability, CommandInvoked, CommandResponse, EventIntercept, EventInterceptResponse, FromHost,
    Id, Intercept, Object, ToolCall, ToolCancel, ToolResult,
};

use super::{Connection, Stage};
use crate::extension::{
    call_chain::CallChain,
    fold::{Answer, Failure},
    pending::{Kind, Reply, RequestError, Running, Ticket},
};

/// How many lines of progress may wait to be shown.
const PROGRESS_QUEUE: usize = 64;

impl Connection {
    /// Runs a slash command.
    pub async fn command(&self, name: &str, args: &str) -> Result<CommandResponse, RequestError> {
        let frame = |id: Id| CommandInvoked::new(id, name, args.trim()).into();
        match self.ask(Kind::Command, frame, self.limits.command).await? {
            Reply::Command(response) => Ok(response),
            _ => unreachable!("only a reply of the kind that is waited for is delivered"),
        }
    }

    /// Asks about an event; whoever asks keeps the time.
    pub async fn intercept(&self, event: &Intercept) -> Answer {
        match &*self.stage.borrow() {
            Stage::Starting | Stage::Registering => return Err(Failure::NotReady),
            Stage::Ended(why) => return Err(Failure::Gone(why.to_string())),
            Stage::Ready => {}
        }
        self.intercepted(event).await.map_err(|error| match error {
            RequestError::Refused(refusal) => Failure::Refused(refusal),
            RequestError::TooLarge { bytes, .. } => Failure::TooLarge { bytes },
            RequestError::Timeout(after) => Failure::Timeout(after),
            other => Failure::Gone(other.to_string()),
        })
    }

    async fn intercepted(&self, event: &Intercept) -> Result<EventInterceptResponse, RequestError> {
        let frame = |id: Id| EventIntercept::new(id, event.clone()).into();
        match self.ask(Kind::Intercept, frame, Duration::MAX).await? {
            Reply::Intercept(response) => Ok(response),
            _ => unreachable!("only a reply of the kind that is waited for is delivered"),
        }
    }

    async fn ask(
        &self,
        kind: Kind,
        frame: impl FnOnce(Id) -> FromHost,
        deadline: Duration,
    ) -> Result<Reply, RequestError> {
        let mut ticket = self.pending.wait(self.ids.next(), kind, None);
        self.send(&frame(ticket.id().clone()))?;
        match timeout(deadline, ticket.outcome()).await {
            Ok(outcome) => outcome,
            Err(_) => Err(RequestError::Timeout(deadline)),
        }
    }

    /// Calls the tool at the end of `chain`. Each line of progress goes to `progress` and starts the clock of `deadline` again, up to the total
    /// of the limits; without a deadline the tool has all the time it wants. Whoever drops the future gives the call
    /// up, and the extension is told where it wants to be.
    pub async fn tool(
        &self,
        chain: &CallChain,
        args: Object,
        deadline: Option<Duration>,
        mut progress: impl FnMut(String),
    ) -> Result<ToolResult, RequestError> {
        let (sender, mut lines) = mpsc::channel(PROGRESS_QUEUE);
        let running = Running {
            progress: sender,
            chain: chain.clone(),
        };
        let mut call = Call {
            connection: self,
            ticket: self
                .pending
                .wait(self.ids.next(), Kind::Tool, Some(running)),
            chain,
            over: false,
        };
        let id = call.ticket.id().clone();
        if let Err(error) = self.send(&ToolCall::new(id, chain.tool(), args).into()) {
            call.over = true;
            return Err(error);
        }
        let start = Instant::now();
        let last = start + self.limits.tool_total;
        let mut until = deadline.map(|deadline| (start + deadline).min(last));
        loop {
            tokio::select! {
                biased;
                Some(line) = lines.recv() => {
                    progress(line);
                    until = deadline.map(|deadline| (Instant::now() + deadline).min(last));
                }
                outcome = call.ticket.outcome() => {
                    call.over = true;
                    while let Ok(line) = lines.try_recv() {
                        progress(line);
                    }
                    return match outcome? {
                        Reply::Tool(result) => Ok(result),
                        _ => unreachable!("only a reply of the kind that is waited for is delivered"),
                    };
                }
                () = async { sleep_until(until.unwrap_or(start)).await }, if until.is_some() => {
                    return Err(RequestError::Timeout(start.elapsed()));
                }
            }
        }
    }
}

/// A tool call that has not come to its end; dropped before, it is taken back.
struct Call<'c> {
    connection: &'c Connection,
    ticket: Ticket<'c>,
    chain: &'c CallChain,
    over: bool,
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.chain.cancel();
        if !self.over && self.connection.registered().can(&Capability::ToolCancel) {
            let _ = self
                .connection
                .send(&ToolCancel::new(self.ticket.id().clone()).into());
        }
    }
}
