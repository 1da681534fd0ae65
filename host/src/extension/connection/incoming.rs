//! Handles each line from the extension.

use std::sync::Arc;

use zot_protocol::{
    Capability, FrameError, FromExtension, Hello, Id, Tagged,
    validate::{self, Hint, Refusal, RefusalKind, SpreadJson},
};

use super::{Connection, Stage, reader::ReadState};
use crate::extension::{
    event::truncate_text,
    pending::{Reply, RequestError},
    registered::RegisterEffect,
    wire::Line,
};

/// How many consecutive lines that are not JSON to log. Further ones are only counted.
const GARBAGE_LOGGED: usize = 10;
/// How many different unknown frame types are logged. This limits the memory that an extension can
/// use up by inventing types.
const UNKNOWN_TYPES_NAMED: usize = 64;

/// What is logged about a rejected line instead of the reason.
enum Shown {
    /// The line, quoted.
    Quoted(String),
    /// Nothing: another log line explains it.
    Explained,
}

impl Connection {
    /// Handles one line. An error ends the connection.
    pub(super) fn line(&self, line: Line<'_>, state: &mut ReadState) -> Result<(), String> {
        let Line::Bytes(line) = line else {
            let limit = self.limits.frame_bytes;
            self.listener
                .log(&format!("skipped a line longer than {limit} bytes"));
            self.pending.fail_all(&RequestError::LineTooLong(limit));
            let message = format!("line longer than {limit} bytes");
            self.send_error(FrameError::new(message));
            return Ok(());
        };
        if let Some(tap) = &self.tap {
            tap.received(&self.name, line);
        }
        if let Some(unknown) = validate::unknown_type::<FromExtension>(line) {
            self.end_garbage_run(state);
            return self.unknown(&unknown, state);
        }
        let frame = validate::frame::<FromExtension>(line)
            .and_then(|frame| validate::images(&frame).map(|()| frame));
        match frame {
            Ok(frame) => {
                state.spread = SpreadJson::default();
                state.broken_frame = false;
                self.end_garbage_run(state);
                self.frame(frame, state)
            }
            Err(refusal) => {
                let is_json = refusal.kind != RefusalKind::NotJson;
                let begins_object = line.trim_ascii_start().starts_with(b"{");
                if is_json && begins_object {
                    // This line is a whole object, so it does not continue an earlier line.
                    state.spread = SpreadJson::default();
                    return self.refused(refusal, None, state);
                }
                let was_inside = state.spread.is_open();
                let spread = state.spread.push(line);
                if let Some(hint) = &spread {
                    self.listener.log(&format!("{hint}; {}", hint.fix()));
                }
                if was_inside && (spread.is_some() || state.spread.is_open()) {
                    // A single log line explains the whole object that this line is part of.
                    return self.refused(refusal, Some(Shown::Explained), state);
                }
                // Do not quote text that looks like part of a frame: it may contain something that
                // a guard would remove.
                state.broken_frame |= begins_object || line.trim_ascii_start().starts_with(b"[");
                let text = (!is_json && !state.broken_frame)
                    .then(|| validate::hints::<FromExtension>(line));
                let quoted = text
                    .and_then(|hints| hints.into_iter().find(|it| matches!(it, Hint::NotJson(_))));
                self.refused(
                    refusal,
                    quoted.map(|hint| Shown::Quoted(hint.to_string())),
                    state,
                )
            }
        }
    }

    fn frame(&self, frame: FromExtension, state: &mut ReadState) -> Result<(), String> {
        if let Some(ack) = state.ack.take() {
            let FromExtension::Hello(hello) = frame else {
                return Err(not_hello(frame.name()));
            };
            self.hello(&hello);
            let _ = self.send(&ack.into());
            self.stage.send_replace(Stage::Registering);
            self.expect_ready(state);
            return Ok(());
        }
        self.expect_ready(state);
        match frame {
            FromExtension::Hello(_) => self.listener.log("ignored a second hello"),
            FromExtension::Ready(_) => {
                state.frame_deadline = None;
                self.become_ready();
            }
            FromExtension::RegisterCommand(_)
            | FromExtension::RegisterTool(_)
            | FromExtension::Subscribe(_) => {
                self.register(frame, state);
            }
            FromExtension::CommandResponse(response) => self.reply(Reply::Command(response)),
            FromExtension::ToolResult(result) => self.reply(Reply::Tool(result)),
            FromExtension::EventInterceptResponse(response) => {
                self.reply(Reply::Intercept(response));
            }
            FromExtension::ToolProgress(mut progress) => {
                truncate_text(&mut progress.text, self.limits.progress_bytes);
                if !self.pending.progress(&progress.id, progress.text) {
                    self.log_unmatched("tool_progress", &progress.id);
                }
            }
            FromExtension::ShutdownAck(_) => {}
            // Only reached if the type contains JSON escapes; `unknown_type` finds all others.
            FromExtension::Unknown(unknown) => return self.unknown(&unknown.name, state),
            other => self.listener.frame(other),
        }
        Ok(())
    }

    fn hello(&self, hello: &Hello) {
        if hello.name != *self.name {
            self.listener.log(&format!(
                "the name is {:?} in `hello`, but {:?} in the manifest; using the name in the manifest",
                hello.name, self.name
            ));
        }
        let mut registered = self.registered.lock();
        let capabilities = hello.capabilities.iter().filter(|it| it.is_known());
        Arc::make_mut(&mut registered)
            .capabilities
            .extend(capabilities.cloned());
    }

    /// Restarts the timeout for `ready`, if the extension has not sent it yet.
    fn expect_ready(&self, state: &mut ReadState) {
        if *self.stage.borrow() == Stage::Registering {
            state.frame_deadline = Some(tokio::time::Instant::now() + self.limits.auto_ready);
        }
    }

    fn register(&self, frame: FromExtension, state: &mut ReadState) {
        let frame_type = frame.name().to_owned();
        let effect = {
            let mut registered = self.registered.lock();
            Arc::make_mut(&mut registered).register(frame, &self.limits)
        };
        match effect {
            Ok(RegisterEffect::Unchanged) => {}
            Ok(RegisterEffect::Changed) => state.changed = self.is_ready(),
            Ok(RegisterEffect::Partial(unknown)) => {
                state.changed = self.is_ready();
                self.listener.log(&format!("{frame_type}: {unknown}"));
            }
            Err(refused) => {
                self.listener.log(&format!("{frame_type}: {refused}"));
                let mut error = FrameError::new(refused.to_string());
                error.frame_type = Some(frame_type);
                error.pointer = refused.pointer;
                self.send_error(error);
            }
        }
    }

    /// Notifies the extension that a frame of this type was refused.
    pub(crate) fn report_refused(&self, frame_type: &str, why: &str) {
        let mut error = FrameError::new(why.to_owned());
        error.frame_type = Some(frame_type.to_owned());
        self.send_error(error);
    }

    /// Sends an `error` frame if the extension supports it.
    fn send_error(&self, error: FrameError) {
        if self.registered().can(&Capability::Errors) {
            let _ = self.send(&error.into());
        }
    }

    /// Ends a run of lines that are not JSON, and logs how many of them were not logged
    /// individually.
    fn end_garbage_run(&self, state: &mut ReadState) {
        let run = std::mem::take(&mut state.garbage);
        if run > GARBAGE_LOGGED {
            let more = run - GARBAGE_LOGGED;
            let lines = if more == 1 { "line" } else { "lines" };
            self.listener
                .log(&format!("skipped {more} more {lines}: not JSON"));
        }
    }

    fn reply(&self, reply: Reply) {
        if let Err(reply) = self.pending.reply(reply) {
            self.log_unmatched("a reply", reply.id());
        }
    }

    fn log_unmatched(&self, what: &str, id: &Id) {
        let id: String = id.as_str().chars().take(80).collect();
        self.listener.log(&format!(
            "dropped {what} for id {id:?}: no request is waiting for it"
        ));
    }

    /// Ignores a frame of a type that this version does not know.
    fn unknown(&self, name: &str, state: &mut ReadState) -> Result<(), String> {
        let name: String = name.chars().take(80).collect();
        if state.ack.is_some() {
            return Err(not_hello(&name));
        }
        self.expect_ready(state);
        if state.unknown_types.len() < UNKNOWN_TYPES_NAMED
            && state.unknown_types.insert(name.clone())
        {
            let nearest = validate::nearest(&name, FromExtension::NAMES.iter().copied());
            let hint = Hint::UnknownType { name, nearest };
            self.listener
                .log(&format!("ignored: {hint}; {}", hint.fix()));
        }
        Ok(())
    }

    /// Handles a line that is not a valid frame. `shown` is logged instead of the reason.
    fn refused(
        &self,
        refusal: Refusal,
        shown: Option<Shown>,
        state: &mut ReadState,
    ) -> Result<(), String> {
        if refusal.kind == RefusalKind::NotJson {
            state.garbage += 1;
            if state.garbage >= self.limits.garbage_lines {
                return Err(format!(
                    "was disconnected: {} lines in a row were not JSON",
                    state.garbage
                ));
            }
        } else {
            self.end_garbage_run(state);
        }
        if state.garbage <= GARBAGE_LOGGED {
            match shown {
                Some(Shown::Explained) => {}
                Some(Shown::Quoted(text)) => self.listener.log(&text),
                None => self.listener.log(&refusal.to_string()),
            }
        }
        if state.ack.is_some() && refusal.kind != RefusalKind::NotJson {
            return Err(format!(
                "was stopped: its first frame is invalid: {refusal}"
            ));
        }
        self.send_error(refusal.to_frame());
        // The extension chose the ids in these frames, so they do not refer to the host's requests.
        let own = ["call_tool", "call_tool_cancel"];
        let own = refusal
            .frame_type
            .as_deref()
            .is_some_and(|it| own.contains(&it));
        if let Some(id) = refusal.id.clone().filter(|_| !own) {
            self.pending
                .fail(&id, RequestError::Refused(Box::new(refusal)));
        }
        Ok(())
    }
}

fn not_hello(frame_type: &str) -> String {
    format!("was stopped: its first frame is {frame_type:?}, not \"hello\"")
}
