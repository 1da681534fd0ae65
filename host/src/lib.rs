//! Hosts zot extensions: discovers and starts them, speaks the protocol with them, runs their
//! interceptor chains, and stops them together with every process they started.
//!
//! This crate is for programs that can be extended by other programs, written in any language. The
//! feature `agent`, on by default, adds the agent that the extensions extend, as a library:
//! `Runtime`. Without it, this crate is only the extension host.
//!
//! ```
//! use zot_host::{Host, HostConfig, extension::{Launch, discover::{Search, TrustProject, discover}}, home::Home};
//! use zot_protocol::HelloAck;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # std::fs::write(folder.path().join("extension.json"), r#"{"name": "shout", "exec": "sh", "args": ["shout.sh"]}"#)?;
//! # std::fs::write(folder.path().join("shout.sh"), r#"
//! # echo '{"type":"hello","name":"shout"}'
//! # echo '{"type":"register_command","name":"shout"}'
//! # echo '{"type":"ready"}'
//! # while read -r line; do case "$line" in
//! #   *command_invoked*) id=${line#*\"id\":\"}; id=${id%%\"*}
//! #     echo "{\"type\":\"command_response\",\"id\":\"$id\",\"action\":\"display\",\"display\":\"HELLO\"}";;
//! #   *shutdown*) exit;;
//! # esac; done"#)?;
//! let home = Home::at(folder.path().join("home"));
//! let search = Search {
//!     home: home.clone(),
//!     cwd: folder.path().to_owned(),
//!     explicit: vec![folder.path().to_owned()],
//!     no_ext: false,
//!     trust: TrustProject::Remembered(Default::default()),
//! };
//! let found = discover(&search);
//! let launches = found.to_start().map(|found| Launch::of(found, &home)).collect();
//!
//! let host = Host::new(HostConfig::new(HelloAck::new(1, "0.1.0", "none", "none", "/")))?;
//! let stats = host.load(launches).await;
//! assert_eq!(stats.ready, 1);
//!
//! let answer = host.command("shout", "hello").await?;
//! assert_eq!(answer.display.as_deref(), Some("HELLO"));
//! host.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! # Starting and stopping
//!
//! [`discover`](extension::discover::discover) finds extensions and decides which of them start.
//! [`Host::load`] starts those in parallel and waits for the slowest one, but no longer than
//! [`Limits::startup`](zot_protocol::limits::Limits); slower extensions join later.
//! Calling it again reloads: it stops all extensions, then starts the new ones, and requests wait
//! in the meantime. [`Host::reload`] runs discovery in between. [`Host::shutdown`] stops all
//! extensions in parallel, together with every process they started, including daemons. A process
//! that has removed every marker of its process tree can be stopped only if the program is a
//! subreaper ([`zot_process::Subreaper`]). That setting affects the whole program, so the library
//! does not enable it.
//!
//! # Requests
//!
//! [`Host::command`] and [`Host::tool`] send a request to one extension. Every request has a
//! deadline, fails immediately when the extension exits, and is cancelled by dropping its future.
//! [`Host::run_tool`] makes a complete tool call, with its events and the interceptors before and
//! after it.
//!
//! # Events and interception
//!
//! [`Host::send_event`] sends an event to its subscribers and never waits. [`Host::intercept`] asks
//! the interceptors of an event in load order. Each one sees the event as the previous one left it,
//! and the first one that blocks ends the chain. The
//! [`ChainOutcome`](extension::chain::ChainOutcome) contains the final event, or which extension
//! blocked it and why, and a record of each interceptor. An interceptor that is slow, broken or
//! gone counts as failed. Its manifest decides whether the event passes in that case; the user can
//! make that stricter ([`HostConfig::settings`]).
//!
//! # Callbacks
//!
//! Notes, panels, prompts and tool calls from extensions are passed to the program's [`Hooks`].
//! [`Host::changes`] publishes changes to commands and tools. An optional
//! [`Tap`](extension::connection::Tap) sees every line in both directions.
//!
//! # Permissions
//!
//! If the manifest of an extension declares [permissions](zot_protocol::Permissions), the kernel
//! confines the extension and every process it starts, as far as the kernel supports that.
//! [`Host::permissions`] reports what is declared and what is enforced.
//! [`HostConfig::strict_permissions`] refuses to start an extension whose permissions cannot be
//! enforced. [`HostConfig::secrets`] are withheld from every extension whose manifest does not list
//! them.
//!
//! # How a frame is processed
//!
//! [`extension::wire`] splits bytes into lines and does not know about frames.
//! [`extension::connection`] validates each line against its schema, decodes it, and finds the
//! request that it answers; it is the only module that handles request ids. The
//! [`Registry`](extension::Registry) lists which extension provides which command or tool; it is
//! immutable and replaced as a whole. [`extension::chain`] asks the interceptors one after the
//! other in load order, and a pure function ([`extension::fold`]) applies their answers to the
//! event.

#![warn(missing_docs)]

#[cfg(feature = "agent")]
mod agent;
pub mod approval;
pub mod clock;
#[cfg(feature = "agent")]
pub mod context_files;
pub mod decisions;
pub mod extension;
mod file;
pub mod home;
mod hooks;
mod host;
#[cfg(feature = "agent")]
pub mod message;
#[cfg(feature = "agent")]
pub mod provider;
#[cfg(feature = "agent")]
mod runtime;
#[cfg(feature = "agent")]
pub mod session;
pub mod settings;
#[cfg(feature = "agent")]
pub mod tool;
pub mod untrusted;
#[cfg(feature = "agent")]
pub mod walk;

#[cfg(feature = "agent")]
pub use agent::{EventStream, Prompt, SteerError, ToolSelection};
pub use hooks::{ApprovalRequest, Confirmed, Hooks, NoHooks, Preview};
pub use host::{Host, HostConfig, HostError, ToolOutcome};
#[cfg(feature = "agent")]
pub use runtime::{Context, Runtime, RuntimeConfig, RuntimeError, SetModelError, Unavailable};

/// Compiles the examples in docs/embedding.md as doctests.
#[cfg(all(doctest, feature = "agent"))]
#[doc = include_str!("../../docs/embedding.md")]
struct PageOnEmbedding;
