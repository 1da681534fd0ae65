//! Requests to an extension. A deadline includes the time to write the request.

use std::time::Duration;

use tokio::time::Instant;
use zot_protocol::{
    Capability, CommandInvoked, CommandResponse, EventIntercept, FromHost, Id, Intercept, Object,
    ToolCall, ToolCancel, ToolResult,
};

use super::{Connection, Stage};
use crate::extension::{
    call_chain::CallChain,
    fold::{Failure, InterceptAnswer},
    pending::{Reply, RequestError, RequestKind, RequestTimer, Ticket, Update},
};

impl Connection {
    /// Runs a slash command.
    pub async fn command(&self, name: &str, args: &str) -> Result<CommandResponse, RequestError> {
        let frame = |id: Id| CommandInvoked::new(id, name, args.trim()).into();
        match self
            .ask(RequestKind::Command, frame, self.limits.command)
            .await?
        {
            Reply::Command(response) => Ok(response),
            _ => unreachable!("replies are matched to requests of their kind"),
        }
    }

    /// Asks the extension about an event. If `is_final`, it is asked for the second time, because
    /// later interceptors have changed the event. Fails if it has not answered by the time `until`.
    pub async fn intercept(
        &self,
        event: &Intercept,
        is_final: bool,
        until: Instant,
    ) -> InterceptAnswer {
        match &*self.stage.borrow() {
            Stage::Starting | Stage::Registering => return Err(Failure::NotReady),
            Stage::Ended(why) => return Err(Failure::Gone(why.to_string())),
            Stage::Ready => {}
        }
        let deadline = until.saturating_duration_since(Instant::now());
        let frame = |id: Id| {
            let mut frame = EventIntercept::new(id, event.clone());
            frame.is_final = is_final;
            frame.into()
        };
        match self.ask(RequestKind::Intercept, frame, deadline).await {
            Ok(Reply::Intercept(response)) => Ok(response),
            Ok(_) => unreachable!("replies are matched to requests of their kind"),
            Err(error) => Err(match error {
                RequestError::Refused(refusal) => Failure::Refused(refusal),
                RequestError::TooLarge { bytes, .. } => Failure::TooLarge { bytes },
                RequestError::Timeout(after) => Failure::Timeout(after),
                RequestError::QueueFull => Failure::QueueFull,
                other => Failure::Gone(other.to_string()),
            }),
        }
    }

    async fn ask(
        &self,
        kind: RequestKind,
        frame: impl FnOnce(Id) -> FromHost,
        deadline: Duration,
    ) -> Result<Reply, RequestError> {
        let mut request = RequestGuard {
            connection: self,
            ticket: self.wait(kind, RequestTimer::new(deadline, deadline)),
        };
        self.send_as(&frame(request.ticket.id()), Some(request.ticket.number()))?;
        request.ticket.outcome().await
    }

    /// Makes the innermost call of `chain`. Each progress line is passed to `progress` and restarts
    /// the deadline, but the whole call cannot take longer than the total in the limits. Without a
    /// deadline, there is no time limit. Dropping the future cancels the call, and notifies the
    /// extension if it supports that.
    pub async fn tool(
        &self,
        chain: &CallChain,
        args: Object,
        deadline: Option<Duration>,
        mut progress: impl FnMut(String),
    ) -> Result<ToolResult, RequestError> {
        let timer = match deadline {
            Some(deadline) => RequestTimer::new(deadline, self.limits.tool_total),
            None => RequestTimer::unlimited(),
        };
        let mut call = ToolCallGuard {
            connection: self,
            ticket: self.wait(RequestKind::Tool(chain.clone()), timer),
            chain,
            over: false,
        };
        let frame = ToolCall::new(call.ticket.id(), chain.tool(), args);
        if let Err(error) = self.send_as(&frame.into(), Some(call.ticket.number())) {
            call.over = true;
            return Err(error);
        }
        loop {
            match call.ticket.update().await {
                Update::Progress(line) => progress(line),
                Update::Done(Err(RequestError::Timeout(time))) => {
                    return Err(RequestError::Timeout(time));
                }
                Update::Done(outcome) => {
                    call.over = true;
                    return match outcome? {
                        Reply::Tool(result) => Ok(result),
                        _ => {
                            unreachable!("replies are matched to requests of their kind")
                        }
                    };
                }
            }
        }
    }

    fn wait(&self, kind: RequestKind, timer: RequestTimer) -> Ticket<'_> {
        let (ticket, sooner) = self.pending.wait(self.ids.next(), kind, timer);
        if sooner {
            self.reader_wakeup.notify_one();
        }
        ticket
    }
}

/// A pending request. Dropping it before it is written removes it from the queue.
struct RequestGuard<'c> {
    connection: &'c Connection,
    ticket: Ticket<'c>,
}

impl Drop for RequestGuard<'_> {
    fn drop(&mut self) {
        self.connection.outbox.withdraw(self.ticket.number());
    }
}

/// A pending tool call. Dropping it cancels the call.
struct ToolCallGuard<'c> {
    connection: &'c Connection,
    ticket: Ticket<'c>,
    chain: &'c CallChain,
    over: bool,
}

impl Drop for ToolCallGuard<'_> {
    fn drop(&mut self) {
        self.chain.close();
        if self.over || self.connection.outbox.withdraw(self.ticket.number()) {
            return;
        }
        if self.connection.registered().can(&Capability::ToolCancel) {
            let cancel = ToolCancel::new(self.ticket.id());
            let _ = self.connection.send(&cancel.into());
        }
    }
}
