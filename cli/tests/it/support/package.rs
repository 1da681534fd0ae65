//! Extension packages, and git repositories that contain them.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::World;

/// Writes a small extension.
pub(crate) fn write(dir: &Path, name: &str, version: &str) {
    write_with(
        dir,
        &json!({"name": name, "version": version, "exec": "./run.sh"}),
    );
    fs::write(dir.join("version.txt"), version).expect("failed to write");
}

/// Writes an extension with this manifest.
pub(crate) fn write_with(dir: &Path, manifest: &Value) {
    fs::create_dir_all(dir.join("lib")).expect("failed to create directory");
    let text = serde_json::to_string_pretty(manifest).expect("invalid JSON");
    fs::write(dir.join("extension.json"), text).expect("failed to write");
    fs::write(dir.join("run.sh"), "#!/bin/sh\nexit 0\n").expect("failed to write");
    fs::set_permissions(dir.join("run.sh"), fs::Permissions::from_mode(0o755))
        .expect("failed to set permissions");
    fs::write(dir.join("lib/words"), "one two three\n").expect("failed to write");
    let link = dir.join("lib/start");
    if !link.is_symlink() {
        std::os::unix::fs::symlink("../run.sh", link).expect("failed to create symlink");
    }
}

/// A git repository for the tests to commit to.
pub(crate) struct Repository<'w> {
    world: &'w World,
    pub(crate) dir: PathBuf,
}

impl<'w> Repository<'w> {
    pub(crate) fn new(world: &'w World, name: &str) -> Self {
        let dir = world.path("repositories").join(name);
        fs::create_dir_all(&dir).expect("failed to create directory");
        let repository = Self { world, dir };
        repository.git(&["init", "-q", "-b", "main"]);
        repository
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        let output = self
            .world
            .command("git")
            .current_dir(&self.dir)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
            // Disable background maintenance, which would change files during a test.
            .args(["-c", "gc.auto=0", "-c", "maintenance.auto=false"])
            .args(args)
            .output()
            .expect("failed to start git");
        assert!(output.status.success(), "git {args:?}: {output:?}");
        String::from_utf8(output.stdout)
            .expect("not valid UTF-8")
            .trim()
            .to_owned()
    }

    /// Commits everything and returns the commit's hash.
    pub(crate) fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Writes and commits a new version of an extension.
    pub(crate) fn release(&self, name: &str, version: &str) -> String {
        write(&self.dir, name, version);
        self.commit(version)
    }

    pub(crate) fn file_url(&self) -> String {
        format!("file://{}", self.dir.display())
    }
}
