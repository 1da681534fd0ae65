//! Write a zot extension in Rust.
//!
//! ```no_run
//! use std::process::ExitCode;
//! use zot_sdk::{Extension, Reply};
//!
//! fn main() -> ExitCode {
//!     Extension::new("hello", "1.0.0")
//!         .command("hello", "greets you", |name, _| Reply::prompt(format!("Greet {name} in one sentence.")))
//!         .run()
//! }
//! ```
//!
//! An extension is a program that a host starts and talks to over stdin and stdout. This crate
//! implements the extension's side: [`Extension`] registers commands, tools and handlers, and
//! [`run`](Extension::run) answers requests until the host shuts it down. There is no async
//! runtime: every request gets its own thread, which also runs async handlers.
//!
//! An `extension.json` next to the program specifies how to start it and, in `permissions`, what it
//! can access:
//!
//! ```json
//! {"name": "hello", "version": "1.0.0", "exec": "bin/hello", "permissions": {}}
//! ```
//!
//! # What to register
//!
//! * [`Extension::command`]: a slash command for the user, which answers with a [`Reply`].
//! * [`Extension::tool`]: a tool for the model with typed arguments. It returns a [`ToolOutput`].
//! * [`Extension::on`]: a handler for one of the [events](event).
//! * [`Extension::intercept_tool_call`] and similar: a guard. It returns a [`Decision`].
//! * [`Extension::panel`]: lines of text on the screen, and the keys that the user presses there.
//! * [`Extension::on_hello`]: registrations that depend on the host.
//!
//! # Errors and panics
//!
//! A handler that panics still answers: a command or tool with an error, a guard by blocking. This
//! does not work if the program is built with `panic = "abort"`. Printed output goes to the log,
//! `$ZOT_HOME/logs/ext-<name>.log`.
//!
//! To test an extension in memory, without a host, use [`testing`].

#![warn(missing_docs)]

mod answer;
mod call;
mod context;
mod decision;
mod extension;
mod lane;
mod offers;
mod once;
mod output;
mod reply;
mod request;
mod runtime;
mod stdio;
mod tool;
mod wire;

pub mod event;
pub mod testing;

pub use answer::{Answer, Handled, Later, Now};
pub use call::{CallError, CallTool};
pub use context::{Cancelled, Context, ToolContext};
pub use decision::{Blocks, Decision, Rewrites};
pub use event::EventKind;
pub use extension::{BeforeRun, Extension, OnHello};
pub use offers::PanelEvent;
pub use output::{ToolOutput, text_of};
pub use reply::Reply;
pub use tool::{NoArgs, ToolOptions};

pub use zot_protocol::{
    AssistantMessageIntercept, BeforeAgentStart, CallToolResult, Content, Event, FromExtension,
    FromHost, HelloAck, Intercept, Key, NoteLevel, Object, Panel, PanelId, Tagged,
    ToolCallIntercept, ToolResultIntercept, TurnStartIntercept, UserMessageIntercept,
};
pub use {schemars, serde, serde_json};
