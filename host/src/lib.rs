//! Hosts zot extensions: finds them, starts them, speaks the protocol with them, folds their interceptor chains, and
//! ends them with everything they have started.
//!
//! For a program that wants to be extended by other programs, in any language. Behind the feature `agent`, which is on by
//! default, is the agent that the extensions extend, as a library: `Runtime`. Without it this is the extension host alone.
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
//! # Starting and ending
//!
//! [`discover`](extension::discover::discover) looks where extensions are and says of each what is to become of it. [`Host::load`] starts those
//! that are to be started, all at once and in no more time than the slowest needs, up to
//! [`Limits::startup`](zot_protocol::limits::Limits); who is later joins later. Called again it is a reload: all are ended, then started, and
//! what is asked meanwhile waits; [`Host::reload`] looks for them in between. [`Host::shutdown`] ends them side by side, with everything they have started, daemons
//! included. A binary that also wants to end those that removed every mark of their tree makes itself their subreaper
//! ([`zot_process::Subreaper`]); that is a setting of the whole process, so a library leaves it alone.
//!
//! # Asking
//!
//! [`Host::command`] and [`Host::tool`] ask one extension. Every request has a deadline, ends at once when the extension does,
//! and is given up by dropping its future. [`Host::run_tool`] is a tool call with all that goes with it: the events, the
//! interceptors before and after.
//!
//! # Telling and intercepting
//!
//! [`Host::tell`] sends an event to whoever has subscribed, and never waits. [`Host::intercept`] asks the interceptors of an
//! event in load order; each sees what the one before left, and the first to block ends the chain. Its
//! [`Outcome`](extension::chain::Outcome) has the event as it is now, or who refused it and why, and a record of every link.
//! An interceptor that is slow, broken or gone has failed: its manifest, which the user may tighten
//! ([`HostConfig::settings`]), says whether that lets the event pass.
//!
//! # What comes back
//!
//! Notes, panels, prompts and calls of tools come to the [`Hooks`] of the program, a change of commands and tools to
//! [`Host::changes`], and every line of both directions to a [`Tap`](extension::connection::Tap) where there is one.
//!
//! # Permissions
//!
//! An extension whose manifest declares [permissions](zot_protocol::Permissions) is held to them by the kernel where that is
//! possible, it and all it starts; [`Host::permissions`] says what is declared and what holds, and
//! [`HostConfig::strict_permissions`] refuses to start what cannot be held. [`HostConfig::secrets`] are withheld from all.
//!
//! # How a frame travels
//!
//! Bytes become lines in [`extension::wire`], which knows no frame. [`extension::connection`] validates each line by its
//! schema, decodes it and finds out who waits for it; it is the only place that knows ids. The
//! [`Registry`](extension::Registry) says who offers what; it is immutable and swapped whole. A chain of interceptors
//! ([`extension::chain`]) asks one after the other in load order, and what their answers make of an event is a pure
//! function ([`extension::fold`]).

#![warn(missing_docs)]

#[cfg(feature = "agent")]
mod agent;
#[cfg(feature = "agent")]
pub mod clock;
#[cfg(feature = "agent")]
pub mod context_files;
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
pub use agent::{Offered, Prompt};
pub use hooks::{Confirmed, Hooks, NoHooks, ToolRequest};
pub use host::{Host, HostConfig, HostError, ToolOutcome};
#[cfg(feature = "agent")]
pub use runtime::{
    Busy, Context, EventStream, Runtime, RuntimeConfig, RuntimeError, SetModelError,
};

/// The program on the page about embedding is compiled as those of this documentation are.
#[cfg(all(doctest, feature = "agent"))]
#[doc = include_str!("../../docs/embedding.md")]
struct PageOnEmbedding;
