//! `zot rpc`: the agent, driven by another program over standard input and output.
//!
//! One loop, the [`Driver`], does everything in the order in which it happens: it reads commands, answers them, lets one
//! prompt after the other run, and tells their events. Nothing in it waits but for all of these at once, so that an `abort` is
//! heard whatever goes on.

mod auth;
mod built_in;
mod driver;
mod images;
mod input;
mod queue;
mod stdin;

use std::sync::Arc;

use zot_protocol::rpc::Command;

use crate::{
    agent::{
        Gone, Outlet, Start,
        headless::{Headless, Notes},
    },
    exit::Exit,
};

use auth::{Admission, Token};
use driver::Driver;
use input::{Input, Received};

/// Runs until the driver has closed its end and everything is done.
pub(crate) async fn drive(start: Start) -> anyhow::Result<()> {
    let mut input = Input::new();
    let mut outlet = Outlet::new();
    // Before anything is started.
    let first = match Token::from_env() {
        None => None,
        Some(token) => match token.admit(&mut input).await {
            Admission::Granted(hello) => Some(hello),
            Admission::Refused(response) => {
                outlet.put(response);
                // Whether or not somebody reads it.
                let _ = outlet.finish().await;
                return Err(Exit(1).into());
            }
            Admission::Nobody => return Ok(()),
        },
    };
    let notes = Arc::new(Notes::default());
    let log_level = start.log_level;
    let mut agent = Headless::begin(start, notes.clone())?;
    let mut driver = Driver::new(agent.runtime.clone(), input, outlet, notes, log_level);
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
    let told = match outcome {
        Ok(()) => driver.finish().await,
        Err(Gone) => Err(Gone),
    };
    ended?;
    told.map_err(|Gone| Exit(Exit::BROKEN_PIPE).into())
}
