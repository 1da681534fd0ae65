//! Extensions that run for a moment: the host around them as `zot` has it, and the runtime it needs.

use std::{path::Path, time::Duration};

use anyhow::Context;
use zot_host::{
    Host, HostConfig, extension::Builtins, provider::credentials, settings::Settings, tool,
};
use zot_process::{Orphans, Spawner, Subreaper};
use zot_protocol::{HelloAck, PROTOCOL_VERSION, limits};

use crate::{exit::Exit, interrupt, memory};

/// The slash commands that zot has itself.
pub(crate) const BUILT_IN_COMMANDS: [&str; 15] = [
    "help",
    "model",
    "clear",
    "compact",
    "sessions",
    "session",
    "skills",
    "reload-ext",
    "ext",
    "login",
    "logout",
    "jail",
    "unjail",
    "yolo",
    "exit",
];
/// How often a signal to end is looked for.
const TICK: Duration = Duration::from_millis(20);

/// A host as `zot` has it in `cwd`, without a model.
pub(crate) fn config(cwd: &Path, home: &zot_host::home::Home) -> HostConfig {
    let ack = HelloAck::new(
        PROTOCOL_VERSION,
        env!("CARGO_PKG_VERSION"),
        "none",
        "none",
        cwd.to_string_lossy(),
    );
    let mut config = HostConfig::new(ack);
    config.builtins = Builtins {
        commands: BUILT_IN_COMMANDS.map(str::to_owned).to_vec(),
        tools: tool::NAMES.map(str::to_owned).to_vec(),
    };
    config.secrets = credentials::variables().map(str::to_owned).collect();
    // Whatever is wrong with the configuration is for others to tell.
    config.settings = Settings::load_quietly(home).extensions;
    config
}

/// A host, and whoever ends what its extensions have left behind.
pub(crate) struct Running {
    pub(crate) host: Host,
    /// Linux alone has it.
    reaper: Option<Subreaper>,
}

impl Running {
    /// Without extensions yet.
    pub(crate) fn start(config: HostConfig) -> anyhow::Result<Self> {
        let host = Host::new(config).context("cannot start processes")?;
        // This program starts nothing by other means, so every orphan is an extension's.
        let reaper = Spawner::new().and_then(|it| Subreaper::enable(&it, Orphans::All));
        Ok(Self {
            host,
            reaper: reaper.ok(),
        })
    }

    /// Ends the extensions, and with them everything that they have started.
    pub(crate) async fn end(self) {
        self.host.shutdown().await;
        if let Some(reaper) = &self.reaper {
            reaper.sweep(limits::TERM_GRACE).await;
        }
    }
}

/// Runs this to its end.
pub(crate) fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = memory::return_the_rest(&mut tokio::runtime::Builder::new_current_thread())
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let ended = runtime.block_on(work);
    // A thread that still waits for a disk holds up nobody.
    runtime.shutdown_background();
    ended
}

/// Waits for a signal to end.
pub(crate) async fn interrupted() -> Exit {
    while interrupt::check().is_ok() {
        tokio::time::sleep(TICK).await;
    }
    Exit(interrupt::EXIT_CODE)
}
