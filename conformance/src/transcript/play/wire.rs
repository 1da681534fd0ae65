//! Process-level steps: frames, bytes, signals, exit.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use zot_process::Exit;
use zot_protocol::{FromHost, validate, validate::strict_json};

use super::{Done, Mode, Player};
use crate::{
    diagnose,
    reply::Reply,
    session::WaitError,
    transcript::{Pattern, Template},
    verdict::Finding,
};

/// Pause after a piece, so that the extension reads it separately.
const PIECE_PAUSE: Duration = Duration::from_millis(20);
/// Interval for polling stderr.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

impl Player<'_> {
    pub(super) async fn send(&mut self, template: &Template) -> Done {
        let frame = match template.fill(&mut self.bindings) {
            Ok(frame) => frame,
            Err(error) => {
                return Err(Finding::new(format!("cannot send the frame: {error}")).into());
            }
        };
        // The frame was validated with sample values; it may be invalid with those from the
        // extension.
        if let Err(refusal) = validate::value::<FromHost>(&frame) {
            let what =
                format!("not a valid host frame with the values from the extension: {refusal}");
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
            Err(wait_error) => {
                let what = reply.map_or_else(|| "further frames".to_owned(), |it| it.words);
                Err(self.missing_reply(wait_error, &what, |_| false).await)
            }
        }
    }

    pub(super) async fn raw(&mut self, bytes: &[u8]) -> Done {
        match self.bytes(bytes).await {
            Ok(()) => Ok(()),
            Err(wait_error) => {
                let what = "further frames";
                Err(self.missing_reply(wait_error, what, |_| false).await)
            }
        }
    }

    /// Writes bytes, in pieces if a `split` step precedes them.
    async fn bytes(&mut self, bytes: &[u8]) -> Result<(), WaitError> {
        self.announce(bytes);
        let mut rest = bytes;
        for length in std::mem::take(&mut self.split) {
            let (piece, after) = rest.split_at(length.min(rest.len()));
            if !piece.is_empty() {
                self.session.send_raw(piece).await?;
                tokio::time::sleep(PIECE_PAUSE).await;
            }
            rest = after;
        }
        if rest.is_empty() {
            return Ok(());
        }
        self.session.send_raw(rest).await
    }

    /// Registers requests written with `raw`, so that their replies count as expected.
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
            let what = format!(
                "the process is still running after {}",
                diagnose::shown(within)
            );
            return Err(Finding::new(what).into());
        };
        let value = value_of(exit);
        let fits = how.matches(&value, &mut self.bindings);
        self.seen.at(index, value);
        match fits {
            Err(mismatch) if self.mode != Mode::Lenient => {
                let finding = Finding::new(format!("unexpected exit ({exit}): {mismatch}"));
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
            // Check once more after the deadline, for a line that arrived just before it.
            let over = Instant::now() >= deadline;
            let stderr = self.session.stderr();
            let fits = |text: &str| line.matches(&text.into(), &mut self.bindings).is_ok();
            if stderr.lines().any(fits) {
                return Ok(());
            }
            if over {
                let what = format!(
                    "no line on stderr matches {} within {}",
                    line.source(),
                    diagnose::shown(within)
                );
                let finding = Finding::new(what);
                return Err(diagnose::with_stderr(finding, &mut self.session)
                    .await
                    .into());
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

/// Formats an exit status as in a transcript: `{"code":0}` or `{"signal":"TERM"}`.
fn value_of(exit: Exit) -> Value {
    match exit {
        Exit::Code(code) => json!({"code": code}),
        Exit::Signal(number) => {
            // Use the name, because signal numbers differ between systems. `Exit` exposes the name
            // only in its text.
            let words = exit.to_string();
            let name = words.strip_prefix("killed by SIG");
            json!({"signal": name.map_or_else(|| number.to_string(), str::to_owned)})
        }
        // The exit status is unknown.
        _ => json!({}),
    }
}
