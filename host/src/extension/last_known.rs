//! What each extension registered when it last ran, stored on disk so that listing extensions does
//! not start them.

use std::{
    fs,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, Semaphore};

use super::{
    connection::{Connection, Stage},
    registered::Registered,
};
use crate::untrusted::{Follow, open_regular};

/// Allows one write at a time.
static WRITE_PERMIT: Semaphore = Semaphore::const_new(1);

/// The maximum number of bytes to read. A larger file is cut off and therefore unreadable.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// What an extension had registered when it last ran.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct LastKnown {
    /// The version in its manifest; `""` if it has none.
    pub version: String,
    /// Its slash commands.
    pub commands: Vec<Offer>,
    /// Its tools.
    pub tools: Vec<Offer>,
    /// The events it observed.
    pub events: Vec<String>,
    /// The events it intercepted.
    pub intercepts: Vec<String>,
}

/// A registered command or tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Offer {
    /// Its name.
    pub name: String,
    /// What it does; `""` if not given.
    pub description: String,
}

impl LastKnown {
    pub(crate) fn of(version: &str, registered: &Registered) -> Self {
        let offer = |name: &str, description: &str| Offer {
            name: name.to_owned(),
            description: description.to_owned(),
        };
        let commands = registered.commands.iter();
        let tools = registered.tools.iter().map(|tool| &tool.frame);
        Self {
            version: version.to_owned(),
            commands: commands
                .map(|command| offer(&command.name, &command.description))
                .collect(),
            tools: tools
                .map(|tool| offer(&tool.name, tool.description.as_deref().unwrap_or_default()))
                .collect(),
            events: registered.events.iter().map(ToString::to_string).collect(),
            intercepts: registered
                .intercepts
                .iter()
                .map(ToString::to_string)
                .collect(),
        }
    }

    /// Reads the file. Returns `None` if it is missing or unreadable, because it is only a cache.
    pub fn read(path: &Path) -> Option<Self> {
        let mut bytes = Vec::new();
        let file = open_regular(path, Follow::Never).ok()??;
        file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Writes the file atomically. Does nothing if it already has the same content.
    fn write(&self, path: &Path) -> io::Result<()> {
        if Self::read(path).as_ref() == Some(self) {
            return Ok(());
        }
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        // Another zot may write at the same time, so each process has its own temporary file.
        let own = folder.join(format!(
            ".{}.{}",
            path.file_name().unwrap_or_default().display(),
            std::process::id()
        ));
        // Do not write to a file that was left behind, or that someone else put there.
        let _ = fs::remove_file(&own);
        let written = fs::File::create_new(&own)
            .and_then(|mut file| file.write_all(&serde_json::to_vec_pretty(self)?))
            .and_then(|()| fs::rename(&own, path));
        if written.is_err() {
            let _ = fs::remove_file(&own);
        }
        written
    }
}

/// Updates an extension's file whenever its registrations change, from `ready` until it exits.
pub(crate) async fn keep_updated(
    path: PathBuf,
    version: String,
    connection: Arc<Connection>,
    changed: Arc<Notify>,
) {
    let mut stage = connection.stage();
    loop {
        tokio::select! {
            // Also write a change that arrives just before the extension exits.
            biased;
            () = changed.notified() => {}
            _ = stage.wait_for(|stage| matches!(stage, Stage::Ended(_))) => return,
        }
        let known = LastKnown::of(&version, &connection.registered());
        let path = path.clone();
        // One write at a time: a thread for each extension would cost more than it gains.
        let _turn = WRITE_PERMIT.acquire().await;
        // Ignore errors: other code reports a home that is not writable, and here the only effect
        // is an incomplete list.
        let _ = tokio::task::spawn_blocking(move || known.write(&path)).await;
    }
}
