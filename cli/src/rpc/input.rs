//! Parses lines into commands. An invalid line does not stop the following ones from being read.

use zot_host::extension::wire::{Line, LineReader};
use zot_protocol::{
    RequestId, Tagged, limits,
    rpc::{Command, Response},
    validate::{self, Refusal},
};

use super::stdin::Stdin;

/// Longer command names are not repeated in responses.
const MAX_NAME_BYTES: usize = 256;

/// A line of input.
pub(super) enum Received {
    Command(Command),
    /// An invalid line, with the response to send.
    Refused(Response),
    /// End of input.
    End,
}

/// Reads commands from standard input.
pub(super) struct CommandReader(LineReader<Stdin>);

impl CommandReader {
    /// Creates a reader for standard input. Must be called within a tokio runtime.
    pub(super) fn new() -> Self {
        Self(LineReader::new(Stdin::new(), limits::RPC_LINE_BYTES))
    }

    /// Reports whether there is buffered input that has not been returned yet.
    pub(super) fn has_more(&self) -> bool {
        self.0.has_more()
    }

    /// Returns the next command. Cancel-safe.
    pub(super) async fn next(&mut self) -> Received {
        match self.0.next().await {
            Ok(Some(Line::Bytes(line))) => read(line),
            Ok(Some(Line::TooLong)) => {
                let most = limits::RPC_LINE_BYTES / (1024 * 1024);
                let why = format!("line is longer than {most} MiB and was skipped");
                Received::Refused(Response::new(None, "", Err(why)))
            }
            Ok(None) | Err(_) => Received::End,
        }
    }
}

fn read(line: &[u8]) -> Received {
    match validate::frame::<Command>(line) {
        Ok(command @ Command::Unknown(_)) => {
            let why = format!(
                "unknown command; expected one of: {}",
                Command::NAMES.join(", ")
            );
            Received::Refused(Response::new(command.id(), name(command.name()), Err(why)))
        }
        Ok(command) => Received::Command(command),
        Err(refusal) => Received::Refused(refused(refusal)),
    }
}

fn refused(mut refusal: Refusal) -> Response {
    let id = refusal.id.take().map(|id| RequestId(id.0));
    // Leave the name out of the message, because the response has its own field for it.
    let command = refusal.frame_type.take().unwrap_or_default();
    let why = if refusal.pointer == "/token" {
        // The full message would repeat the token.
        "/token: must be a string".to_owned()
    } else {
        refusal.to_string()
    };
    Response::new(id, name(&command), Err(why))
}

fn name(name: &str) -> &str {
    if name.len() <= MAX_NAME_BYTES {
        name
    } else {
        ""
    }
}
