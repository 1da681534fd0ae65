//! What an extension offered when it last ran, on disk: a listing need not start it.

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

/// Who writes.
static WRITING: Semaphore = Semaphore::const_new(1);

/// More than any extension registers; another file is none of ours.
const MOST_BYTES: u64 = 4 * 1024 * 1024;

/// What an extension had registered when it was last seen ready.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct LastKnown {
    /// The version that its manifest had; `""` where it had none.
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

/// Something that was offered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Offer {
    /// Its name.
    pub name: String,
    /// What it does; `""` where nothing was said.
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

    /// What the file says; `None` where there is none that can be read, since it is only what was once known.
    pub fn read(path: &Path) -> Option<Self> {
        let mut bytes = Vec::new();
        let file = open_regular(path, Follow::Never).ok()??;
        file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Writes the file, whole or not at all. One that says the same is left as it is.
    fn write(&self, path: &Path) -> io::Result<()> {
        if Self::read(path).as_ref() == Some(self) {
            return Ok(());
        }
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        // Another zot may write the same at the same time; each has a file of its own until the rename.
        let own = folder.join(format!(
            ".{}.{}",
            path.file_name().unwrap_or_default().display(),
            std::process::id()
        ));
        // What an earlier one left behind, or somebody put there, is not written to.
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

/// Keeps the file of one extension in step with what it registers, from its `ready` to its end.
pub(crate) async fn keep(
    path: PathBuf,
    version: String,
    connection: Arc<Connection>,
    changed: Arc<Notify>,
) {
    let mut stage = connection.stage();
    loop {
        tokio::select! {
            // What has changed just before the end is written too.
            biased;
            () = changed.notified() => {}
            _ = stage.wait_for(|stage| matches!(stage, Stage::Ended(_))) => return,
        }
        let known = LastKnown::of(&version, &connection.registered());
        let path = path.clone();
        // One after the other: a thread for each of many extensions at once would cost more than it hurries.
        let _turn = WRITING.acquire().await;
        // A home that cannot be written to is told elsewhere; here it only makes a listing poorer.
        let _ = tokio::task::spawn_blocking(move || known.write(&path)).await;
    }
}
