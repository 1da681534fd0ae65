//! A transcript against a host: the harness is the extension. For whoever writes another host.

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
    transcript::{Bindings, Pattern, Place, Places, Step, Transcript, Verb, sample},
    verdict::Finding,
};

/// How long a host may take to its next frame, scaled. Somebody may be typing there.
const PATIENCE: Duration = Duration::from_secs(60);

/// Says what the transcript's extension said, checks what the host says, and tells of what is wrong as it is seen.
///
/// What cannot be seen from this end is passed over: `raw`, `split`, `stall_stdout`, `signal`, `quiet`.
pub async fn as_extension(
    transcript: &Transcript,
    name: &str,
    label: &str,
    scale: f64,
    input: impl AsyncBufRead + Unpin,
    output: impl AsyncWrite + Unpin,
    tell: impl FnMut(Finding),
) -> io::Result<()> {
    let mut guest = Guest {
        transcript,
        name,
        label,
        patience: PATIENCE.mul_f64(scale),
        input,
        output,
        tell,
        bindings: Bindings::default(),
    };
    for step in &transcript.steps {
        if guest.step(step).await?.is_none() {
            return Ok(());
        }
    }
    guest.leave().await
}

struct Guest<'a, I, O, T> {
    transcript: &'a Transcript,
    name: &'a str,
    label: &'a str,
    patience: Duration,
    input: I,
    output: O,
    tell: T,
    bindings: Bindings,
}

/// Whether it goes on.
type GoesOn = Option<()>;

impl<I, O, T> Guest<'_, I, O, T>
where
    I: AsyncBufRead + Unpin,
    O: AsyncWrite + Unpin,
    T: FnMut(Finding),
{
    async fn step(&mut self, step: &Step) -> io::Result<GoesOn> {
        match &step.verb {
            Verb::UseHandshake => return self.handshake(step.line).await,
            Verb::Send(template) => return self.hears(step.line, &template.to_pattern()).await,
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

    /// Registers all that the transcript has the host ask for.
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
        let ack = ack.expect("a frame without matchers is a pattern");
        self.hears(line, &ack).await
    }

    /// The next frame of the host must be this. One of its type that says something else is found fault with, and the
    /// transcript goes on; at any other, nothing that follows would make sense.
    async fn hears(&mut self, line: usize, expected: &Pattern) -> io::Result<GoesOn> {
        let kind = text(expected.source(), "type").to_owned();
        let Some(frame) = self.next(line, &format!("`{kind}`")).await? else {
            return Ok(None);
        };
        if text(&frame, "type") == "hello_ack" {
            self.learn_places(&frame);
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
        let finding = Finding::new(format!("expected `{kind}`, and `{came}` came"));
        self.found(line, finding.frame(frame.to_string(), pointer));
        Ok(None)
    }

    /// The host's next frame that is not to be passed over.
    async fn next(&mut self, line: usize, what: &str) -> io::Result<Option<Value>> {
        loop {
            let Some(text_line) = self.line(line, what).await? else {
                return Ok(None);
            };
            if text_line.is_empty() {
                self.found(line, Finding::new("a blank line, which no host sends"));
                continue;
            }
            if let Err(refusal) = validate::frame::<FromHost>(&text_line) {
                let shown = String::from_utf8_lossy(&text_line).into_owned();
                let finding = Finding::new(format!("no frame of a host: {refusal}"));
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
                let what = format!("the host ended the input before it sent {what}");
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
                let finding = Finding::new("expected the end of the input, and a line came");
                self.found(line, finding.frame(shown, None));
            }
            Err(_) => {
                let shown = diagnose::shown(self.patience);
                let what = format!("the host did not end the input within {shown}");
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

    /// The transcript is over: whatever the host still says, it is told that it may end.
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

    fn learn_places(&mut self, ack: &Value) {
        let mut places = Places::default();
        for place in [Place::Cwd, Place::ExtensionDir, Place::DataDir] {
            if let Some(path) = ack.get(place.name()).and_then(Value::as_str) {
                places.set(place, path);
            }
        }
        self.bindings = Bindings::new(places);
    }

    fn found(&mut self, line: usize, mut finding: Finding) {
        finding.what = format!("{}:{line}: {}", self.label, finding.what);
        (self.tell)(finding);
    }
}
