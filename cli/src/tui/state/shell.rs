//! Shell commands that the user runs with `!`, and their output for the model.

use std::time::Instant;

use zot_protocol::{Object, ToolId};

use super::{Call, FinishedCall};
use crate::output;

/// The name that the user's commands are shown under.
pub(crate) const SHELL: &str = "shell";
/// Maximum number of outputs to add to a message. The `bash` tool limits the size of each one.
const MAX_OUTPUTS: usize = 5;

/// A running command that the user started.
pub(crate) struct ShellRun {
    /// The command in the form of a tool call, to show its progress.
    pub(crate) call: Call,
    pub(crate) since: Instant,
    pub(crate) is_cancelled: bool,
}

impl ShellRun {
    pub(crate) fn new(command: &str, since: Instant) -> Self {
        let mut call = Call::new(ToolId::from(SHELL), SHELL.to_owned());
        let mut args = Object::new();
        args.insert("command".to_owned(), command.into());
        call.args = Some(args);
        Self {
            call,
            since,
            is_cancelled: false,
        }
    }
}

/// The outputs to add to the user's next message.
#[derive(Debug, Default)]
pub(crate) struct Outputs(Vec<Output>);

#[derive(Debug)]
struct Output {
    command: String,
    text: String,
}

impl Outputs {
    /// Adds the output of a finished command. Returns false if the oldest output was dropped to
    /// make room.
    pub(crate) fn add(&mut self, call: &FinishedCall) -> bool {
        let command = call.args.get("command").and_then(|it| it.as_str());
        self.0.push(Output {
            command: command.unwrap_or_default().to_owned(),
            text: call.text.clone(),
        });
        let fits = self.0.len() <= MAX_OUTPUTS;
        if !fits {
            self.0.remove(0);
        }
        fits
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns one line for each output.
    pub(crate) fn labels(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|output| {
            let command = output.command.replace('\n', " ⏎ ");
            let size = output::bytes(output.text.len() as u64);
            format!("+ output of `{command}` · {size}")
        })
    }

    /// Puts back the outputs in `sent`, a message that [`Outputs::take_into`] composed from `text`.
    /// They come before the current outputs. If there are too many, drops the oldest.
    pub(crate) fn restore(&mut self, sent: &str, text: &str) {
        let Self(outputs) = Self::split(sent.strip_prefix(text).unwrap_or_default()).1;
        self.0.splice(0..0, outputs);
        let over = self.0.len().saturating_sub(MAX_OUTPUTS);
        self.0.drain(..over);
    }

    /// Splits a message that [`Outputs::take_into`] composed into its text and its outputs.
    pub(crate) fn split(message: &str) -> (&str, Self) {
        for (at, _) in message.match_indices(RAN) {
            let mut outputs = Vec::new();
            let mut rest = &message[at..];
            while let Some((output, more)) = take_output(rest) {
                outputs.push(output);
                rest = more;
            }
            if rest.is_empty() {
                return (&message[..at], Self(outputs));
            }
        }
        (message, Self::default())
    }

    /// Takes the outputs. Returns the message for the model, which contains them, and the message
    /// for the screen, which has one line for each of them.
    pub(crate) fn take_into(&mut self, message: &str) -> (String, String) {
        let (mut sent, mut shown) = (message.to_owned(), message.to_owned());
        for label in self.labels() {
            shown.push_str(&format!("\n{label}"));
        }
        for Output { command, text } in self.0.drain(..) {
            let fence = fence(&[&command, &text]);
            let (command, text) = (command.trim_end(), text.trim_end());
            sent.push_str(&format!(
                "{RAN}{fence}sh\n{command}\n{fence}{PRINTED}{fence}\n{text}\n{fence}"
            ));
        }
        (sent, shown)
    }
}

/// The text before a command, after the message or the previous output.
const RAN: &str = "\n\nI ran this command:\n\n";
/// The text between a command and its output.
const PRINTED: &str = "\n\nIts output:\n\n";

/// Takes one output from the start of the text. Returns it and the rest.
fn take_output(text: &str) -> Option<(Output, &str)> {
    let text = text.strip_prefix(RAN)?;
    let fence = &text[..text.find(|it| it != '`')?];
    let (command, rest) = text
        .strip_prefix(fence)?
        .strip_prefix("sh\n")?
        .split_once(&format!("\n{fence}{PRINTED}{fence}\n"))?;
    let (text, rest) = match rest.split_once(&format!("\n{fence}{RAN}")) {
        Some((text, _)) => (text, &rest[text.len() + 1 + fence.len()..]),
        None => (rest.strip_suffix(fence)?.strip_suffix('\n')?, ""),
    };
    let output = Output {
        command: command.to_owned(),
        text: text.to_owned(),
    };
    (fence.len() > 2).then_some((output, rest))
}

/// Returns a Markdown fence that is longer than any run of backticks in the texts.
fn fence(texts: &[&str]) -> String {
    let runs = texts.iter().flat_map(|text| text.split(|it| it != '`'));
    let longest = runs.map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

#[cfg(test)]
mod tests {
    use zot_protocol::ToolStatus;

    use super::*;

    fn call(command: &str, text: &str) -> FinishedCall {
        let mut args = Object::new();
        args.insert("command".to_owned(), command.into());
        FinishedCall {
            name: SHELL.to_owned(),
            args,
            extension: None,
            status: ToolStatus::Completed,
            text: text.to_owned(),
            images: Vec::new(),
        }
    }

    #[test]
    fn outputs_become_part_of_one_message() {
        let mut outputs = Outputs::default();
        assert!(outputs.add(&call("ls", "a ```\n")));
        let (sent, shown) = outputs.take_into("what is a?");
        assert_eq!(
            sent,
            "what is a?\n\nI ran this command:\n\n````sh\nls\n````\n\nIts output:\n\n````\na ```\n````"
        );
        assert_eq!(shown, "what is a?\n+ output of `ls` · 6 bytes");
        assert_eq!(outputs.take_into("x"), ("x".to_owned(), "x".to_owned()));
    }

    #[test]
    fn a_message_is_split_into_its_text_and_its_outputs() {
        let mut outputs = Outputs::default();
        let nested = "a\n```\n\nI ran this command:\n\n```sh\nx\n```";
        outputs.add(&call("cat notes", nested));
        outputs.add(&call("true", ""));
        let (sent, _) = outputs.take_into("why?\n\nI ran this command:\n\nin vain");
        let (text, mut outputs) = Outputs::split(&sent);
        assert_eq!(text, "why?\n\nI ran this command:\n\nin vain");
        assert_eq!(outputs.labels().count(), 2);
        assert_eq!(outputs.take_into(text).0, sent);
        assert_eq!(Outputs::split("plain").0, "plain");
    }

    #[test]
    fn the_number_of_outputs_is_limited() {
        let mut outputs = Outputs::default();
        for number in 0..MAX_OUTPUTS {
            assert!(outputs.add(&call(&number.to_string(), "")));
        }
        assert!(!outputs.add(&call("last", "")));
        assert_eq!(
            outputs.labels().next().as_deref(),
            Some("+ output of `1` · 0 bytes")
        );
    }
}
