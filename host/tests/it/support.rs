//! Hosts with real extensions in a temporary home.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::json;
use tempfile::TempDir;
use zot_host::{
    Hooks, Host, HostConfig,
    extension::{Builtins, Launch},
    home::Home,
};
use zot_protocol::{HelloAck, Manifest, NoteLevel, Object, limits::Limits};

/// Longer than anything here takes; only a hang reaches it.
pub(crate) const HANG: Duration = Duration::from_secs(60);

/// The protocol's limits, but a busy machine may take its time to start a dozen Pythons.
pub(crate) fn patient() -> Limits {
    Limits {
        startup: HANG,
        ..Limits::default()
    }
}

/// What the host told the program around it.
#[derive(Default)]
pub(crate) struct Notes(Mutex<Vec<String>>);

impl Notes {
    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().expect("not poisoned").clone()
    }

    fn push(&self, note: String) {
        self.0.lock().expect("not poisoned").push(note);
    }
}

impl Hooks for Notes {
    fn note(&self, extension: &str, level: NoteLevel, message: &str) {
        self.push(format!("[{extension}] {level:?}: {message}"));
    }

    fn clear_notes(&self, extension: &str) {
        self.push(format!("[{extension}] cleared"));
    }
}

/// A host, its home, and what it said.
pub(crate) struct Stage {
    pub(crate) host: Host,
    pub(crate) notes: Arc<Notes>,
    pub(crate) home: TempDir,
}

impl Stage {
    pub(crate) fn with(limits: Limits) -> Self {
        let notes = Arc::new(Notes::default());
        let mut config = HostConfig::new(HelloAck::new(1, "0.0.0", "demo", "demo", "/project"));
        config.limits = limits;
        config.hooks = Arc::<Notes>::clone(&notes);
        config.builtins = Builtins {
            commands: vec!["help".into()],
            tools: vec!["read".into()],
        };
        config.secrets = vec!["ZOTCORE_RPC_TOKEN".into()];
        Self {
            host: Host::new(config).expect("a host"),
            notes,
            home: tempfile::tempdir().expect("a home"),
        }
    }

    pub(crate) fn new() -> Self {
        Self::with(patient())
    }

    /// The misbehaving extension, under a name of its own.
    pub(crate) fn odd(&self, name: &str, words: &[&str]) -> Launch {
        self.fixture("odd.py", name, words)
    }

    /// An extension in Python, under a name of its own.
    pub(crate) fn fixture(&self, file: &str, name: &str, words: &[&str]) -> Launch {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
        let fixture = fixtures.join(file);
        let mut args = vec![fixture.display().to_string(), format!("name={name}")];
        args.extend(words.iter().map(ToString::to_string));
        self.launch(
            name,
            "/usr/bin/env",
            [vec!["python3".to_owned()], args].concat(),
        )
    }

    pub(crate) fn launch(
        &self,
        name: &str,
        program: impl Into<PathBuf>,
        args: Vec<String>,
    ) -> Launch {
        let program = program.into();
        let mut manifest = Manifest::new(name, program.display().to_string());
        manifest.args = args;
        let home = Home::at(self.home.path());
        Launch::new(manifest, self.home.path(), program, &home).expect("a data directory")
    }

    pub(crate) fn log(&self, name: &str) -> String {
        std::fs::read_to_string(self.home.path().join(format!("logs/ext-{name}.log")))
            .unwrap_or_default()
    }
}

pub(crate) fn args(value: serde_json::Value) -> Object {
    match value {
        serde_json::Value::Object(object) => object,
        other => panic!("not an object: {other}"),
    }
}

pub(crate) fn no_args() -> Object {
    args(json!({}))
}

/// Waits until something is so.
pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = std::time::Instant::now();
    while !is_so() {
        assert!(start.elapsed() < HANG, "waited for: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Whether a process is there and not a zombie.
pub(crate) fn is_alive(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        let state = stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .trim_start()
            .chars()
            .next();
        state.is_some_and(|state| state != 'Z')
    })
}
