//! Hosts zot extensions: finds them, starts them, speaks the protocol with them, folds their interceptor chains, and
//! ends them with everything they have started.
//!
//! For a program that wants to be extended by other programs, in any language. It is not a sandbox yet, and the agent
//! that `zot` is has its place here later, behind a feature.
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
//! let launches = found.to_start().map(|found| Launch::of(found, &home)).collect::<Result<_, _>>()?;
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
//! # How a frame travels
//!
//! Bytes become lines in [`extension::wire`], which knows no frame. [`extension::connection`] validates each line by its
//! schema, decodes it and finds out who waits for it; it is the only place that knows ids. The
//! [`Registry`](extension::Registry) says who offers what; it is immutable and swapped whole. A chain of interceptors
//! ([`extension::chain`]) asks one after the other in load order, and what their answers make of an event is a pure
//! function ([`extension::fold`]).

#![warn(missing_docs)]

pub mod extension;
pub mod home;
mod hooks;
mod host;

pub use hooks::{Hooks, NoHooks, ToolRequest};
pub use host::{Host, HostConfig, HostError, ToolOutcome};
