//! Plays the extension's side of a transcript, to test a host.

use std::{io, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt},
    time::timeout,
};
use zot_protocol::{FromHost, validate};

use crate::{
    diagnose,
    surface::text,
    transcript::{Bindings, Pattern, Places, Step, Transcript, Verb, sample},
    verdict::Finding,
};

/// How long to wait for the host's next frame. It is long because a user may be typing.
const PATIENCE: Duration = Duration::from_secs(60);

/// Sends the extension's frames from a transcript, checks the host's frames, and reports each
/// mismatch through `report`.
///
/// Steps that only make sense for a host are skipped: `raw`, `split`, `stall_stdout`, `signal`,
/// `quiet`.
pub async fn play_extension(
    transcript: &Transcript,
    name: &str,
    label: &str,
    scale: f64,
    input: impl AsyncBufRead + Unpin,
    output: impl AsyncWrite + Unpin,
    report: impl FnMut(Finding),
) -> io::Result<()> {
    let mut player = ExtensionPlayer {
        transcript,
        name,
        label,
        patience: PATIENCE.mul_f64(scale),
        input,
        output,
        report,
        bindings: Bindings::default(),
    };
    for step in &transcript.steps {
        if player.step(step).await?.is_none() {
            return Ok(());
        }
    }
    player.leave().await
}

struct ExtensionPlayer<'a, I, O, T> {
    transcript: &'a Transcript,
    name: &'a str,
    label: &'a str,
    patience: Duration,
    input: I,
    output: O,
    report: T,
    bindings: Bindings,
}

/// `Some(())` continues with the next step; `None` ends the transcript.
type GoesOn = Option<()>;

impl<I, O, T> ExtensionPlayer<'_, I, O, T>
where
    I: AsyncBufRead + Unpin,
    O: AsyncWrite + Unpin,
    T: FnMut(Finding),
{
    async fn step(&mut self, step: &Step) -> io::Result<GoesOn> {
        match &step.verb {
            Verb::UseHandshake => return self.handshake(step.line).await,
            Verb::Send(template) => return self.hears(step.line, template.as_pattern()).await,
            Verb::Expect(expect) => self.says_what_fits(&expect.frame).await?,
            Verb::Unordered { expects, .. } => {
                for expect in expects {
                    self.says_what_fits(&expect.frame).await?;
                }
            }
            Verb::Wait(during) => tokio::time::sleep(*during).await,
            Verb::CloseStdin => return self.hears_the_end(step.line).await,
            Verb::Exit { .. } => return Ok(None),
            Verb::Stderr { line, .. } => {
                if let Some(Value::String(line)) = line.sample(&mut self.bindings) {
                    eprintln!("{line}");
                }
            }
            Verb::Comment(_)
            | Verb::Quiet(_)
            | Verb::Raw(_)
            | Verb::Split(_)
            | Verb::StallStdout(_)
            | Verb::Signal(_) => {}
        }
        Ok(Some(()))
    }

    /// Performs the handshake, and registers everything that the transcript's host frames use.
    async fn handshake(&mut self, line: usize) -> io::Result<GoesOn> {
        let mut needs = self.transcript.head.needs.clone();
        let mut events = Vec::new();
        for step in &self.transcript.steps {
            let Verb::Send(template) = &step.verb else {
                continue;
            };
            let frame = template.source();
            let (list, key) = match text(frame, "type") {
                "tool_call" => (&mut needs.tools, "name"),
                "command_invoked" => (&mut needs.commands, "name"),
                "event_intercept" => (&mut needs.intercept, "event"),
                "event" => (&mut events, "event"),
                _ => continue,
            };
            let name = text(frame, key).to_owned();
            if !name.is_empty() && !list.contains(&name) {
                list.push(name);
            }
        }
        let capabilities = ["commands", "tools", "events", "panels"];
        self.says(&json!({"type": "hello", "name": self.name, "version": "1.0.0", "capabilities": capabilities}))
            .await?;
        for name in &needs.commands {
            self.says(&json!({"type": "register_command", "name": name}))
                .await?;
        }
        for name in &needs.tools {
            let schema = json!({"type": "object"});
            self.says(&json!({"type": "register_tool", "name": name, "schema": schema}))
                .await?;
        }
        if !events.is_empty() || !needs.intercept.is_empty() {
            self.says(
                &json!({"type": "subscribe", "events": events, "intercept": needs.intercept}),
            )
            .await?;
        }
        self.says(&json!({"type": "ready"})).await?;
        let ack = Pattern::new(json!({"type": "hello_ack", "protocol_version": 1}));
        let ack = ack.expect("a frame without matchers is a valid pattern");
        self.hears(line, &ack).await
    }

    /// Expects this frame next. A mismatch in a frame of the same type is reported, and the
    /// transcript continues. A frame of another type ends the transcript.
    async fn hears(&mut self, line: usize, expected: &Pattern) -> io::Result<GoesOn> {
        let kind = text(expected.source(), "type").to_owned();
        let Some(frame) = self.next(line, &format!("`{kind}`")).await? else {
            return Ok(None);
        };
        if text(&frame, "type") == "hello_ack" {
            let mut places = Places::default();
            places.learn(&frame);
            self.bindings = Bindings::new(places);
        }
        let Err(mismatch) = expected.matches(&frame, &mut self.bindings) else {
            return Ok(Some(()));
        };
        let came = text(&frame, "type");
        let pointer = Some(mismatch.pointer.clone());
        if came == kind {
            let finding = Finding::new(format!("`{kind}`: {mismatch}"));
            self.found(line, finding.frame(frame.to_string(), pointer));
            expected.capture(&frame, &mut self.bindings);
            return Ok(Some(()));
        }
        let finding = Finding::new(format!("expected `{kind}`, got `{came}`"));
        self.found(line, finding.frame(frame.to_string(), pointer));
        Ok(None)
    }

    /// Returns the host's next frame, skipping ignored types.
    async fn next(&mut self, line: usize, what: &str) -> io::Result<Option<Value>> {
        loop {
            let Some(text_line) = self.line(line, what).await? else {
                return Ok(None);
            };
            if text_line.is_empty() {
                self.found(line, Finding::new("the host sent a blank line"));
                continue;
            }
            if let Err(refusal) = validate::frame::<FromHost>(&text_line) {
                let shown = String::from_utf8_lossy(&text_line).into_owned();
                let finding = Finding::new(format!("invalid frame from the host: {refusal}"));
                self.found(line, finding.frame(shown, None));
            }
            let Ok(frame) = serde_json::from_slice::<Value>(&text_line) else {
                return Ok(None);
            };
            let kind = text(&frame, "type");
            if !self.transcript.head.ignore.iter().any(|it| it == kind) {
                return Ok(Some(frame));
            }
        }
    }

    async fn line(&mut self, at: usize, what: &str) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        let read = self.input.read_until(b'\n', &mut line);
        match timeout(self.patience, read).await.map(io::Result::ok) {
            Ok(Some(1..)) => {
                let text = line.trim_ascii_end();
                Ok(Some(text.to_vec()))
            }
            Ok(_) => {
                let what = format!("the host closed the input before sending {what}");
                self.found(at, Finding::new(what));
                Ok(None)
            }
            Err(_) => {
                let what = format!(
                    "the host sent no {what} within {}",
                    diagnose::shown(self.patience)
                );
                self.found(at, Finding::new(what));
                Ok(None)
            }
        }
    }

    async fn hears_the_end(&mut self, line: usize) -> io::Result<GoesOn> {
        let mut more = Vec::new();
        let read = self.input.read_until(b'\n', &mut more);
        match timeout(self.patience, read).await.map(io::Result::ok) {
            Ok(Some(0) | None) => {}
            Ok(_) => {
                let shown = String::from_utf8_lossy(more.trim_ascii_end()).into_owned();
                let finding = Finding::new("expected the end of input, got a line");
                self.found(line, finding.frame(shown, None));
            }
            Err(_) => {
                let shown = diagnose::shown(self.patience);
                let what = format!("the host did not close the input within {shown}");
                self.found(line, Finding::new(what));
            }
        }
        Ok(Some(()))
    }

    async fn says_what_fits(&mut self, expected: &Pattern) -> io::Result<()> {
        let frame = sample::frame(expected, &mut self.bindings);
        self.says(&frame).await
    }

    async fn says(&mut self, frame: &Value) -> io::Result<()> {
        self.output
            .write_all(format!("{frame}\n").as_bytes())
            .await?;
        self.output.flush().await
    }

    /// Waits for `shutdown` after the end of the transcript, and acknowledges it.
    async fn leave(&mut self) -> io::Result<()> {
        let mut line = Vec::new();
        while self.input.read_until(b'\n', &mut line).await? > 0 {
            let frame: Value = serde_json::from_slice(&line).unwrap_or_default();
            if text(&frame, "type") == "shutdown" {
                return self.says(&json!({"type": "shutdown_ack"})).await;
            }
            line.clear();
        }
        Ok(())
    }

    fn found(&mut self, line: usize, finding: Finding) {
        (self.report)(finding.prefixed(format_args!("{}:{line}", self.label)));
    }
}
