//! Lines into commands. Whatever is wrong with a line, the next one is read.

use zot_host::extension::wire::{Line, LineReader};
use zot_protocol::{
    RequestId, Tagged, limits,
    rpc::{Command, Response},
    validate::{self, Refusal},
};

use super::stdin::Stdin;

/// A longer name of a command is not repeated.
const NAME_BYTES: usize = 256;

/// What came.
pub(super) enum Received {
    /// A command.
    Command(Command),
    /// A line that is none, and what is to be answered.
    Refused(Response),
    /// Nothing more will come.
    End,
}

/// Commands, as they come.
pub(super) struct Input(LineReader<Stdin>);

impl Input {
    /// From standard input. Must be called within a tokio runtime.
    pub(super) fn new() -> Self {
        Self(LineReader::new(Stdin::new(), limits::RPC_LINE_BYTES))
    }

    /// Whether something has been read already that is not handed out yet.
    pub(super) fn has_more(&self) -> bool {
        self.0.has_more()
    }

    /// The next one. May be cancelled.
    pub(super) async fn next(&mut self) -> Received {
        match self.0.next().await {
            Ok(Some(Line::Bytes(line))) => read(line),
            Ok(Some(Line::TooLong)) => {
                let most = limits::RPC_LINE_BYTES / (1024 * 1024);
                let why = format!("a line has more than {most} MiB; it was skipped");
                Received::Refused(Response::new(None, "", Err(why)))
            }
            Ok(None) | Err(_) => Received::End,
        }
    }
}

fn read(line: &[u8]) -> Received {
    match validate::frame::<Command>(line) {
        Ok(command @ Command::Unknown(_)) => {
            let why = format!("unknown command; known: {}", Command::NAMES.join(", "));
            Received::Refused(Response::new(command.id(), name(command.name()), Err(why)))
        }
        Ok(command) => Received::Command(command),
        Err(refusal) => Received::Refused(refused(refusal)),
    }
}

fn refused(mut refusal: Refusal) -> Response {
    let id = refusal.id.take().map(|id| RequestId(id.0));
    // The response has a place for it.
    let command = refusal.frame_type.take().unwrap_or_default();
    let why = if refusal.pointer == "/token" {
        // The reason would repeat it.
        "/token: not a string".to_owned()
    } else {
        refusal.to_string()
    };
    Response::new(id, name(&command), Err(why))
}

fn name(name: &str) -> &str {
    if name.len() <= NAME_BYTES { name } else { "" }
}
