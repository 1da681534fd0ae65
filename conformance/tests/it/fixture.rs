//! Sets up `tests/fixtures/broken.py`, an extension with one fault or none.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use zot_test_support::skip::search_path;

/// A directory `broken` with the fixture, and a file next to it.
pub(crate) struct Staged {
    root: TempDir,
}

impl Staged {
    /// Creates the fixture with this manifest.
    pub(crate) fn with_manifest(manifest: &str) -> Self {
        let staged = Self {
            root: tempfile::tempdir().expect("a directory"),
        };
        fs::create_dir(staged.dir()).expect("a directory");
        for file in ["broken.py", "good.py", "faults.py"] {
            fs::copy(fixtures().join(file), staged.dir().join(file)).expect("a fixture");
        }
        fs::write(staged.root.path().join("outside.txt"), "outside").expect("a file");
        fs::write(staged.dir().join("extension.json"), manifest).expect("a manifest");
        staged
    }

    /// Creates the fixture with this fault; `more` is merged into the manifest.
    pub(crate) fn with_fault(python: &str, fault: Option<&str>, more: &Value) -> Self {
        // Run Python without `site`, which takes as long as the rest of the startup.
        let mut args = vec!["-S", "-E", "broken.py"];
        if let Some(fault) = fault {
            args.extend(["--fault", fault]);
        }
        let mut manifest = json!({"name": "broken", "exec": python, "args": args});
        if let (Value::Object(manifest), Value::Object(more)) = (&mut manifest, more) {
            manifest.extend(more.clone());
        }
        Self::with_manifest(&manifest.to_string())
    }

    /// Creates an extension from this script, which is executable so that `exec` can refer to it.
    pub(crate) fn with_script(python: &str, manifest: &Value, script: &str) -> Self {
        use std::os::unix::fs::PermissionsExt;
        let staged = Self::with_manifest(&manifest.to_string());
        let file = staged.dir().join("main");
        fs::write(&file, format!("#!{python}\n{script}")).expect("a script");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("chmod +x");
        staged
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self.root.path().join("broken")
    }

    /// Runs `zot-conform` on it, with its temporary files below the fixture's directory.
    pub(crate) fn conform(&self, args: &[&str]) -> Output {
        let temporary = self.root.path().join("tmp");
        fs::create_dir_all(&temporary).expect("a directory");
        Command::new(env!("CARGO_BIN_EXE_zot-conform"))
            .arg(self.dir())
            .args(args)
            .env("PATH", search_path())
            .env("TMPDIR", temporary)
            .output()
            .expect("zot-conform starts")
    }

    /// Returns the temporary files that runs left behind.
    pub(crate) fn left(&self) -> Vec<String> {
        let entries = fs::read_dir(self.root.path().join("tmp")).expect("it was made");
        let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        entries
            .map(|entry| name(entry.expect("an entry")))
            .collect()
    }
}

/// Returns the names of the faults.
pub(crate) fn faults(python: &str) -> Vec<String> {
    let listed = Command::new(python)
        .args(["-B", "broken.py", "--list"])
        .current_dir(fixtures())
        .output()
        .expect("python starts");
    assert!(listed.status.success(), "{listed:?}");
    let text = String::from_utf8(listed.stdout).expect("valid UTF-8");
    text.lines().map(str::to_owned).collect()
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}
