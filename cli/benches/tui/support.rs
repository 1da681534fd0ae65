//! An isolated home directory, as in the tests.

#[path = "../../tests/it/support/svg.rs"]
pub(crate) mod svg;

use std::{path::PathBuf, process::Command};

use tempfile::TempDir;

pub(crate) struct World(TempDir);

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("create a temporary directory");
        for name in ["home", "work", "tmp"] {
            std::fs::create_dir(folder.path().join(name)).expect("create a directory");
        }
        Self(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.path("work")
    }

    /// Returns a command that runs in this environment.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .env("ZOT_HOME", self.path("zot"))
            .env("TMPDIR", self.path("tmp"));
        command
    }

    /// Installs an extension that runs a shell script.
    pub(crate) fn extension(&self, name: &str, script: &str) {
        let dir = self.path("zot/extensions").join(name);
        std::fs::create_dir_all(&dir).expect("create a directory");
        let manifest = serde_json::json!({"name": name, "exec": "sh", "args": ["-c", script]});
        std::fs::write(dir.join("extension.json"), manifest.to_string())
            .expect("write the manifest");
    }
}
