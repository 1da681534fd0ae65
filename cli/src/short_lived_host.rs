//! A host for commands that start extensions, do one thing and stop them again.

use std::{path::Path, time::Duration};

use anyhow::Context;
use zot_host::{
    Host, HostConfig,
    extension::{Builtins, Launch},
    home::Home,
    provider::Providers,
    settings::Settings,
    tool,
};
use zot_process::{Orphans, Spawner, Subreaper};
use zot_protocol::{BUILTIN_COMMANDS, HelloAck, PROTOCOL_VERSION, limits};

use crate::{exit::Exit, interrupt, memory};

/// How often to check for a signal.
const TICK: Duration = Duration::from_millis(20);

/// Returns the host configuration that `zot` uses in `cwd`, without a model. The startup limit
/// allows for the longest `hello_ms` in the extensions' manifests.
pub(crate) fn config(cwd: &Path, home: &Home, launches: &[Launch]) -> HostConfig {
    let ack = HelloAck::new(
        PROTOCOL_VERSION,
        env!("CARGO_PKG_VERSION"),
        "none",
        "none",
        cwd.to_string_lossy(),
    );
    let mut config = HostConfig::new(ack);
    config.builtins = Builtins {
        commands: BUILTIN_COMMANDS.map(|(name, _)| name.to_owned()).to_vec(),
        tools: tool::NAMES.map(str::to_owned).to_vec(),
        ..Default::default()
    };
    // Ignore configuration errors; other code reports them.
    let user = Settings::load_quietly(home);
    let secrets = Providers::of(&user);
    config.secrets = secrets.key_variables().map(str::to_owned).collect();
    config.settings = user.extensions;
    let hello = launches.iter().map(|launch| {
        let ms = launch.manifest.timeouts.and_then(|it| it.hello_ms);
        ms.map_or(limits::HELLO, |ms| Duration::from_millis(ms.into()))
    });
    config.limits.startup = hello.max().unwrap_or(limits::HELLO) + limits::STARTUP;
    config
}

/// A host, and the subreaper that kills processes its extensions leave behind.
pub(crate) struct ShortLivedHost {
    pub(crate) host: Host,
    /// `None` on systems other than Linux.
    reaper: Option<Subreaper>,
}

impl ShortLivedHost {
    /// Creates a host with no extensions loaded.
    pub(crate) fn start(config: HostConfig) -> anyhow::Result<Self> {
        let host = Host::new(config).context("cannot start processes")?;
        // Only the host starts processes here, so every orphan comes from an extension.
        let reaper = Spawner::new().and_then(|it| Subreaper::enable(&it, Orphans::All));
        Ok(Self {
            host,
            reaper: reaper.ok(),
        })
    }

    /// Stops the extensions and every process they started.
    pub(crate) async fn stop(self) {
        self.host.shutdown().await;
        if let Some(reaper) = &self.reaper {
            reaper.sweep(limits::TERM_GRACE).await;
        }
    }
}

/// Runs a future to completion on a single-threaded runtime.
pub(crate) fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = memory::trim_after_activity(&mut tokio::runtime::Builder::new_current_thread())
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let ended = runtime.block_on(work);
    // Do not wait for threads that are blocked on disk I/O.
    runtime.shutdown_background();
    ended
}

/// Waits until the user interrupts the program.
pub(crate) async fn interrupted() -> Exit {
    while interrupt::check().is_ok() {
        tokio::time::sleep(TICK).await;
    }
    Exit(interrupt::EXIT_CODE)
}
