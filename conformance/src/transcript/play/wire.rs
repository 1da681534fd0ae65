//! What the player does to the process: frames, bytes, signals, the wait for its end.

use std::time::{Duration, Instant};

use rustix::process::Signal as System;
use serde_json::{Value, json};
use zot_process::Exit;
use zot_protocol::{FromHost, validate, validate::strict_json};

use super::{Done, Mode, Player};
use crate::{
    diagnose,
    reply::Reply,
    session::{Session, Silence},
    transcript::{Pattern, Signal, Template},
    verdict::Finding,
};

/// Long enough for a piece to be read by itself.
const PIECE: Duration = Duration::from_millis(20);
/// How often a standard error is looked at.
const LOOK: Duration = Duration::from_millis(10);

impl Player<'_> {
    pub(super) async fn send(&mut self, template: &Template) -> Done {
        let frame = match template.fill(&mut self.bindings) {
            Ok(frame) => frame,
            Err(error) => return Err(Finding::new(format!("cannot be sent: {error}")).into()),
        };
        // What was proved with made up values may be wrong with those that the extension gave.
        if let Err(refusal) = validate::value::<FromHost>(&frame) {
            let what = format!("with what the extension gave, no host sends this: {refusal}");
            return Err(Finding::new(what).frame(frame.to_string(), None).into());
        }
        let reply = Reply::to(&frame);
        if reply.is_some() {
            self.asked.push(frame.clone());
        }
        let sent = if self.split.is_empty() && self.begun.is_empty() {
            self.session.send_as_is(&frame).await
        } else {
            self.bytes(format!("{frame}\n").as_bytes()).await
        };
        match sent {
            Ok(()) => Ok(()),
            Err(silence) => {
                let kind = crate::surface::text(&frame, "type");
                let what = match reply {
                    Some(reply) => reply.words,
                    None => format!("anything after `{kind}`"),
                };
                Err(self.silent(silence, &what, |_| false).await)
            }
        }
    }

    pub(super) async fn raw(&mut self, bytes: &[u8]) -> Done {
        match self.bytes(bytes).await {
            Ok(()) => Ok(()),
            Err(silence) => {
                let what = "anything after those bytes";
                Err(self.silent(silence, what, |_| false).await)
            }
        }
    }

    /// Writes bytes, in pieces where the step before says so.
    async fn bytes(&mut self, bytes: &[u8]) -> Result<(), Silence> {
        self.announce(bytes);
        let mut rest = bytes;
        for length in std::mem::take(&mut self.split) {
            let (piece, after) = rest.split_at(length.min(rest.len()));
            if !piece.is_empty() {
                self.session.send_raw(piece).await?;
                tokio::time::sleep(PIECE).await;
            }
            rest = after;
        }
        if rest.is_empty() {
            return Ok(());
        }
        self.session.send_raw(rest).await
    }

    /// A request is one however it is written: its reply is not invented.
    fn announce(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if *byte != b'\n' {
                self.begun.push(*byte);
                continue;
            }
            if let Ok(frame @ Value::Object(_)) = strict_json(self.begun.trim_ascii()) {
                self.session.announce(&frame);
            }
            self.begun.clear();
        }
    }

    pub(super) async fn exit(
        &mut self,
        index: usize,
        how: &Pattern,
        within: Option<Duration>,
    ) -> Done {
        let within = self.within(within).await;
        let Some(exit) = self.session.exit(within).await else {
            let what = format!("it still runs after {}", diagnose::shown(within));
            return Err(Finding::new(what).into());
        };
        let value = value_of(exit);
        let fits = how.matches(&value, &mut self.bindings);
        self.seen.at(index, value);
        match fits {
            Err(mismatch) if self.mode != Mode::Lenient => {
                let finding = Finding::new(format!("it ended ({exit}): {mismatch}"));
                Err(diagnose::with_stderr(finding, &mut self.session)
                    .await
                    .into())
            }
            _ => Ok(()),
        }
    }

    pub(super) async fn stderr(&mut self, line: &Pattern, within: Option<Duration>) -> Done {
        let within = self.within(within).await;
        let deadline = Instant::now() + within;
        loop {
            // Looked at once more after the deadline: what came just before it came in time.
            let over = Instant::now() >= deadline;
            let stderr = self.session.stderr();
            let fits = |text: &str| line.matches(&text.into(), &mut self.bindings).is_ok();
            if stderr.lines().any(fits) {
                return Ok(());
            }
            if over {
                let what = format!(
                    "no line of its standard error is {} within {}",
                    line.source(),
                    diagnose::shown(within)
                );
                let finding = Finding::new(what);
                return Err(diagnose::with_stderr(finding, &mut self.session)
                    .await
                    .into());
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// An end as a transcript writes it: `{"code":0}` or `{"signal":"TERM"}`.
fn value_of(exit: Exit) -> Value {
    match exit {
        Exit::Code(code) => json!({"code": code}),
        Exit::Signal(number) => {
            // The numbers differ between systems, and whoever knows their names tells them only in words.
            let words = exit.to_string();
            let name = words.strip_prefix("killed by SIG");
            json!({"signal": name.map_or_else(|| number.to_string(), str::to_owned)})
        }
        // Its status went to somebody else.
        _ => json!({}),
    }
}

pub(super) fn signal(session: &mut Session, signal: Signal) {
    let system = match signal.name() {
        "INT" => System::INT,
        "HUP" => System::HUP,
        "QUIT" => System::QUIT,
        "KILL" => System::KILL,
        "USR1" => System::USR1,
        "USR2" => System::USR2,
        "STOP" => System::STOP,
        "CONT" => System::CONT,
        _ => System::TERM,
    };
    session.signal(system, &format!("SIG{}", signal.name()));
}
