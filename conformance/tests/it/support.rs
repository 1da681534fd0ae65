//! Shared test helpers.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use tempfile::TempDir;
use zot_test_support::skip::search_path;

/// An extension that consists of one Python file, in a temporary directory.
pub(crate) struct Extension {
    root: TempDir,
    name: String,
}

impl Extension {
    pub(crate) fn python(name: &str, script: &str) -> Self {
        let extension = Self {
            root: tempfile::tempdir().expect("a directory"),
            name: name.to_owned(),
        };
        fs::create_dir(extension.dir()).expect("a directory");
        let manifest = format!(r#"{{"name":"{name}","exec":"python3","args":["main.py"]}}"#);
        fs::write(extension.dir().join("extension.json"), manifest).expect("a manifest");
        extension.rewrite(script);
        extension
    }

    /// Returns the directory of its manifest.
    pub(crate) fn dir(&self) -> PathBuf {
        self.root.path().join(&self.name)
    }

    /// Returns a path next to its directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn rewrite(&self, script: &str) {
        fs::write(self.dir().join("main.py"), script).expect("a script");
    }

    /// Runs `zot-conform` on it.
    pub(crate) fn conform(&self, args: &[&str]) -> Output {
        run(Command::new(env!("CARGO_BIN_EXE_zot-conform"))
            .arg(self.dir())
            .args(args))
    }
}

/// Runs `zot-conform`.
pub(crate) fn conform<A: AsRef<std::ffi::OsStr>>(args: &[A]) -> Output {
    run(Command::new(env!("CARGO_BIN_EXE_zot-conform")).args(args))
}

fn run(command: &mut Command) -> Output {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    command
        .current_dir(workspace.expect("the workspace"))
        .env("PATH", search_path())
        .output()
        .expect("zot-conform starts")
}

/// Returns the exit code and everything that was printed.
pub(crate) fn code_and_text(output: &Output) -> (Option<i32>, String) {
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    let text = String::from_utf8(text).expect("valid UTF-8");
    (output.status.code(), text)
}

/// Builds part of the workspace and returns the output directory.
pub(crate) fn build(what: &[&str]) -> PathBuf {
    let test = std::env::current_exe().expect("the path of the test binary");
    let target = test.ancestors().nth(3).expect("target/profile/deps/test");
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--locked", "--target-dir"])
        .arg(target)
        .args(what)
        .current_dir(workspace.expect("the workspace"))
        .output()
        .expect("cargo");
    let stderr = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{stderr}");
    target.join("debug")
}
