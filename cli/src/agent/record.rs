//! `--record FILE`: records the frames between zot and its extensions as transcripts for
//! `zot-conform`.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::Context;
use parking_lot::Mutex;
use serde_json::Value;
use zot_conform::{Party, transcript::Recorder};
use zot_host::{
    extension::{connection::Tap, discover::escape},
    provider::Providers,
};
use zot_protocol::RPC_TOKEN;

use crate::exit::Usage;

/// The file extension of transcripts.
const SUFFIX: &str = ".zt.ndjson";

/// Records frames until [`finish`](Self::finish) is called.
pub(crate) struct Record {
    path: PathBuf,
    started: Instant,
    /// The recorders of each extension, one per start.
    recorders: Mutex<BTreeMap<String, Vec<Recorder>>>,
    /// Values to leave out of the recording.
    secrets: Vec<String>,
}

impl Record {
    /// Creates a recorder for the file at `path`, which must not exist yet.
    pub(crate) fn to(path: &Path, providers: &Providers) -> anyhow::Result<Self> {
        let shown = escape::path(path);
        if path.symlink_metadata().is_ok() {
            let message = format!(
                "--record: `{shown}` already exists\nhint: choose another file, or remove it"
            );
            return Err(Usage::new(message).into());
        }
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        if folder.is_some_and(|folder| !folder.is_dir()) {
            let message = format!("--record: the parent directory of `{shown}` does not exist");
            return Err(Usage::new(message).into());
        }
        Ok(Self {
            path: std::path::absolute(path).context("the working directory does not exist")?,
            started: Instant::now(),
            recorders: Mutex::default(),
            secrets: secrets(providers),
        })
    }

    fn frame(&self, extension: &str, who: Party, line: &[u8]) {
        // Skip invalid JSON: the receiver rejects it, and a transcript cannot contain it.
        let Ok(frame) = serde_json::from_slice::<Value>(line) else {
            return;
        };
        let mut recorders = self.recorders.lock();
        let of_extension = recorders.entry(extension.to_owned()).or_default();
        if of_extension.is_empty() || frame["type"] == "hello" {
            of_extension.push(self.recorder(extension));
        }
        if let Some(recorder) = of_extension.last_mut() {
            recorder.frame(who, &frame, self.started.elapsed());
        }
    }

    /// Writes the transcripts and returns their paths. A single transcript is written to the given
    /// file; if there are several, each file name includes the extension's name.
    pub(crate) fn finish(&self) -> anyhow::Result<Vec<PathBuf>> {
        let all: Vec<(String, Recorder)> = std::mem::take(&mut *self.recorders.lock())
            .into_iter()
            .flat_map(|(name, recorders)| {
                let numbered = recorders.into_iter().enumerate();
                numbered.map(move |(number, recorder)| match number {
                    0 => (name.clone(), recorder),
                    number => (format!("{name}-{}", number + 1), recorder),
                })
            })
            .collect();
        let several = all.len() > 1;
        let mut files = Vec::new();
        for (name, recorder) in all {
            let path = if several {
                self.named(&name)
            } else {
                self.path.clone()
            };
            let text = recorder.finish().to_text();
            fs::write(&path, text)
                .with_context(|| format!("cannot write `{}`", escape::path(&path)))?;
            files.push(path);
        }
        Ok(files)
    }

    fn recorder(&self, extension: &str) -> Recorder {
        let recorder = Recorder::new(extension).about("recorded by zot --record");
        let secrets = self.secrets.iter();
        secrets.fold(recorder, |recorder, secret| recorder.secret(secret.clone()))
    }

    fn named(&self, extension: &str) -> PathBuf {
        let file = self.path.file_name().unwrap_or_default().to_string_lossy();
        let (stem, suffix) = match file.strip_suffix(SUFFIX) {
            Some(stem) => (stem, SUFFIX),
            None => file.rfind('.').map_or((&*file, ""), |at| file.split_at(at)),
        };
        self.path
            .with_file_name(format!("{stem}-{extension}{suffix}"))
    }
}

/// Returns the API keys and the RPC token from the environment.
fn secrets(providers: &Providers) -> Vec<String> {
    let names = providers.key_variables().chain([RPC_TOKEN]);
    names.filter_map(|name| env::var(name).ok()).collect()
}

impl Tap for Record {
    fn received(&self, extension: &str, line: &[u8]) {
        self.frame(extension, Party::Extension, line);
    }

    fn sent(&self, extension: &str, line: &[u8]) {
        self.frame(extension, Party::Host, line);
    }
}
