//! `zot rpc`: the agent, driven by another program over standard input and output.
//!
//! One loop, the [`Driver`], does everything in order: it reads commands, responds to them, runs
//! prompts one at a time and reports their events. It never blocks on any of these, so an `abort`
//! is always handled immediately.

mod auth;
mod driver;
mod images;
mod input;
mod queue;
mod stdin;

use std::sync::Arc;

use zot_protocol::rpc::Command;

use crate::{
    agent::{
        JsonOutput, OutputClosed, Start,
        headless::{Deadline, Headless, NoteQueue},
    },
    exit::Exit,
};

use auth::{Admission, RpcToken};
use driver::Driver;
use input::{CommandReader, Received};

/// Runs until the client has closed its end and all work is done.
pub(crate) async fn drive(start: Start) -> anyhow::Result<()> {
    let mut input = CommandReader::new();
    let mut output = JsonOutput::new();
    // Authenticate before anything is started.
    let first = match RpcToken::from_env() {
        None => None,
        Some(token) => match token.admit(&mut input).await {
            Admission::Granted(hello) => Some(hello),
            Admission::Refused(response) => {
                output.push(response);
                // Ignore errors: the client may already have exited.
                let _ = output.finish().await;
                return Err(Exit(1).into());
            }
            Admission::Closed => return Ok(()),
        },
    };
    let notes = Arc::new(NoteQueue::default());
    let log_level = start.log_level;
    let mut agent = Headless::begin(start, notes.clone(), Deadline::start(None))?;
    let mut driver = Driver::new(agent.runtime.clone(), input, output, notes, log_level);
    if let Some(hello) = first {
        driver
            .receive(Received::Command(Command::Hello(hello)))
            .await;
    }
    let outcome = driver.run(&mut agent).await;
    if outcome.is_err() {
        driver.stop_listening();
    }
    let ended = agent.end().await;
    let flushed = match outcome {
        Ok(()) => driver.finish().await,
        Err(OutputClosed) => Err(OutputClosed),
    };
    ended?;
    flushed.map_err(|OutputClosed| Exit(Exit::BROKEN_PIPE).into())
}
