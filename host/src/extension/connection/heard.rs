//! What becomes of a line from the extension.

use zot_protocol::{
    Capability, FromExtension, Hello, Id, Tagged,
    validate::{self, Refusal, RefusalKind},
};

use super::{Connection, GARBAGE_LOGGED, Line, Reading, Stage, UNKNOWN_TYPES_NAMED, lock};
use crate::extension::{
    event::cut_text,
    pending::{Reply, RequestError},
};

impl Connection {
    /// Handles one line. `Err` ends the connection, and says why.
    pub(super) fn heard(&self, line: Line<'_>, reading: &mut Reading) -> Result<(), String> {
        let Line::Bytes(line) = line else {
            let limit = self.limits.frame_bytes;
            self.listener
                .log(&format!("skipped a line of more than {limit} bytes"));
            self.pending.fail_all(&RequestError::LineTooLong(limit));
            return Ok(());
        };
        if let Some(tap) = &self.tap {
            tap.heard(&self.name, line);
        }
        match validate::frame::<FromExtension>(line) {
            Ok(frame) => {
                reading.garbage = 0;
                self.frame(frame, reading)
            }
            Err(refusal) => self.refused(refusal, reading),
        }
    }

    fn frame(&self, frame: FromExtension, reading: &mut Reading) -> Result<(), String> {
        if let Some(ack) = reading.ack.take() {
            let FromExtension::Hello(hello) = frame else {
                return Err(format!(
                    "was ended: its first frame is {:?}, not \"hello\"",
                    frame.name()
                ));
            };
            self.hello(&hello);
            let _ = self.send(&ack.into());
            self.stage.send_replace(Stage::Registering);
            self.expect_ready(reading);
            return Ok(());
        }
        self.expect_ready(reading);
        match frame {
            FromExtension::Hello(_) => self.listener.log("ignored a second hello"),
            FromExtension::Ready(_) => {
                reading.patience = None;
                self.become_ready();
            }
            FromExtension::RegisterCommand(_)
            | FromExtension::RegisterTool(_)
            | FromExtension::Subscribe(_) => {
                self.register(frame);
            }
            FromExtension::CommandResponse(response) => {
                let id = response.id.clone();
                self.reply(&id, Reply::Command(response));
            }
            FromExtension::ToolResult(result) => {
                let id = result.id.clone();
                self.reply(&id, Reply::Tool(result));
            }
            FromExtension::EventInterceptResponse(response) => {
                let id = response.id.clone();
                self.reply(&id, Reply::Intercept(response));
            }
            FromExtension::ToolProgress(mut progress) => {
                cut_text(&mut progress.text, self.limits.progress_bytes);
                if !self.pending.progress(&progress.id, progress.text) {
                    self.nobody_waits("tool_progress", &progress.id);
                }
            }
            FromExtension::ShutdownAck(_) => {}
            FromExtension::Unknown(unknown) => self.unknown(&unknown.name, reading),
            other => self.listener.frame(other),
        }
        Ok(())
    }

    fn hello(&self, hello: &Hello) {
        if hello.name != *self.name {
            self.listener.log(&format!(
                "hello says {:?}, the manifest {:?}; the manifest counts",
                hello.name, self.name
            ));
        }
        let mut registered = lock(&self.registered);
        let mut changed = (**registered).clone();
        changed
            .capabilities
            .extend(hello.capabilities.iter().cloned());
        *registered = changed.into();
    }

    /// Every frame before `ready` begins the wait for it anew.
    fn expect_ready(&self, reading: &mut Reading) {
        if *self.stage.borrow() == Stage::Registering {
            reading.patience = Some(tokio::time::Instant::now() + self.limits.auto_ready);
        }
    }

    fn register(&self, frame: FromExtension) {
        let taken = {
            let mut registered = lock(&self.registered);
            let mut changed = (**registered).clone();
            let taken = changed.take(frame, &self.limits);
            *registered = changed.into();
            taken
        };
        if let Err(why) = taken {
            self.listener.log(&why);
        }
        if *self.stage.borrow() == Stage::Ready {
            self.listener.changed();
        }
    }

    fn reply(&self, id: &Id, reply: Reply) {
        if !self.pending.reply(id, reply) {
            self.nobody_waits("a reply", id);
        }
    }

    fn nobody_waits(&self, what: &str, id: &Id) {
        let id: String = id.as_str().chars().take(80).collect();
        self.listener.log(&format!(
            "dropped {what} for id {id:?}: nobody waits for it"
        ));
    }

    fn unknown(&self, name: &str, reading: &mut Reading) {
        let name: String = name.chars().take(80).collect();
        if reading.unknown_types.len() < UNKNOWN_TYPES_NAMED
            && reading.unknown_types.insert(name.clone())
        {
            self.listener
                .log(&format!("ignored a frame of unknown type {name:?}"));
        }
    }

    fn refused(&self, refusal: Refusal, reading: &mut Reading) -> Result<(), String> {
        if refusal.kind == RefusalKind::NotJson {
            reading.garbage += 1;
            if reading.garbage >= self.limits.garbage_lines {
                return Err(format!(
                    "was disconnected: {} lines in a row are not JSON",
                    reading.garbage
                ));
            }
        } else {
            reading.garbage = 0;
        }
        if reading.garbage <= GARBAGE_LOGGED {
            self.listener.log(&refusal.to_string());
        }
        if reading.ack.is_some() && refusal.kind != RefusalKind::NotJson {
            return Err(format!("was ended: its first frame was refused: {refusal}"));
        }
        if self.registered().can(&Capability::Errors) {
            let _ = self.send(&refusal.to_frame().into());
        }
        if let Some(id) = refusal.id.clone() {
            self.pending
                .fail(&id, RequestError::Refused(Box::new(refusal)));
        }
        Ok(())
    }
}
