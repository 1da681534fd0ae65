//! Test directories with an extension: the configurable fixture, or an example as installed.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::OnceLock,
};

use regex::Regex;
use serde_json::json;
use tempfile::TempDir;
use zot_test_support::skip::{has, search_path};

use crate::support::build;

/// A temporary directory with an extension, and a home directory for stored failures.
pub(crate) struct Stage {
    folder: TempDir,
}

/// The result of running the binary.
#[derive(Debug)]
pub(crate) struct RunOutput {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Stage {
    /// Sets up the fixture with these flags.
    pub(crate) fn configurable(flags: &[&str]) -> Self {
        let stage = Self::empty();
        stage.set_flags(flags);
        stage
    }

    /// Changes the flags of the fixture.
    pub(crate) fn set_flags(&self, flags: &[&str]) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/configurable.py");
        let script = script.to_str().expect("a path in UTF-8");
        let args: Vec<&str> = [script].iter().chain(flags).copied().collect();
        self.manifest(
            &json!({"name": "configurable", "exec": "python3", "args": args, "timeouts": {"tool_ms": 1500}}),
        );
    }

    /// Creates a directory without an extension.
    pub(crate) fn empty() -> Self {
        let folder = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(folder.path().join("ext/conform")).expect("a directory");
        Self { folder }
    }

    pub(crate) fn manifest(&self, manifest: &serde_json::Value) {
        let path = self.path("ext/extension.json");
        fs::write(path, manifest.to_string()).expect("a manifest");
    }

    /// Returns a path in the directory; the extension is in `ext`.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Adds a transcript to the extension.
    pub(crate) fn transcript(&self, name: &str, lines: &str) {
        let path = self.path(&format!("ext/conform/{name}.zt.ndjson"));
        fs::write(path, lines).expect("a transcript");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Runs `zot-conform` in the directory.
    pub(crate) fn conform(&self, args: &[&str]) -> RunOutput {
        self.conform_with(args, "")
    }

    pub(crate) fn conform_with(&self, args: &[&str], input: &str) -> RunOutput {
        let mut child = Command::new(env!("CARGO_BIN_EXE_zot-conform"))
            .args(args)
            .current_dir(self.folder.path())
            .env("PATH", search_path())
            .env("ZOT_HOME", self.path("home"))
            // The fixture controls its own buffering.
            .env_remove("PYTHONUNBUFFERED")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("zot-conform starts");
        // The write fails if the process exits without reading its input, which is fine.
        let _ = child
            .stdin
            .take()
            .expect("piped")
            .write_all(input.as_bytes());
        let Output {
            status,
            stdout,
            stderr,
        } = child.wait_with_output().expect("ends");
        RunOutput {
            code: status.code(),
            out: self.tidy(&String::from_utf8(stdout).expect("valid UTF-8")),
            err: self.tidy(&String::from_utf8(stderr).expect("valid UTF-8")),
        }
    }

    /// Replaces what differs between runs.
    pub(crate) fn tidy(&self, text: &str) -> String {
        let own = self.folder.path().to_str().expect("a path in UTF-8");
        let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");
        let text = text.replace(own, "[STAGE]").replace(fixtures, "[FIXTURES]");
        // Slow steps print their duration; remove it.
        let slow = Regex::new(r"\s\(\d+(\.\d+)?\sm?s\)").expect("a valid regex");
        let text = slow.replace_all(&text, "");
        let taken = Regex::new(r" in \d+(\.\d+)?\sm?s\b").expect("a valid regex");
        let text = taken.replace_all(&text, " in [TIME]");
        let now = Regex::new(r"\b\d{10}\.\d+").expect("a valid regex");
        let text = now.replace_all(&text, "[NOW]");
        let id = Regex::new(r"\b([a-z]{3}-\d\d)-[0-9a-f]{6}\b").expect("a valid regex");
        id.replace_all(&text, "$1-[ID]").into_owned()
    }
}

impl RunOutput {
    /// Returns both streams and the exit code, for a snapshot.
    pub(crate) fn all(&self) -> String {
        format!("{}{}exit {:?}\n", self.out, self.err, self.code)
    }

    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}\n{}", self.out, self.err);
        self
    }
}

fn workspace() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("the harness is in the workspace")
}

/// Returns the binary of a Rust example. Builds all of them on first use.
fn program(name: &str) -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let folder = BUILT.get_or_init(|| {
        let packages = ["guard", "hello", "redact", "todo", "weather"]
            .map(|example| format!("zot-example-{example}"));
        build(&packages.each_ref().map(|it| ["-p", it]).concat())
    });
    folder.join(name)
}

/// Sets up an example as installed; `None` if its runtime is missing, which is reported.
pub(crate) fn example(name: &str) -> Option<Stage> {
    let needed: &[&str] = match name {
        "hello-py" | "audit" => &["python3"],
        "clock" => &["node"],
        "scratchpad" => &["node", "npm"],
        "fortune" => &["bash", "jq"],
        _ => &[],
    };
    if !needed.iter().all(|program| has(program)) {
        return None;
    }
    let stage = Stage::empty();
    let ext = stage.path("ext");
    copy_folder(&workspace().join("examples").join(name), &ext);
    match name {
        "guard" | "hello" | "redact" | "todo" | "weather" => {
            fs::create_dir_all(ext.join("bin")).expect("a directory");
            fs::copy(program(name), ext.join("bin").join(name)).expect("a program");
        }
        "scratchpad" => {
            for args in [&["ci", "--no-audit", "--no-fund"][..], &["run", "build"]] {
                let built = Command::new("npm").args(args).current_dir(&ext).output();
                let built = built.expect("npm");
                let output = String::from_utf8_lossy(&built.stderr);
                assert!(built.status.success(), "npm {args:?}: {output}");
            }
        }
        _ => {}
    }
    Some(stage)
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("an example") {
        let entry = entry.expect("a directory");
        let name = entry.file_name();
        // Ignore a developer's own build output.
        if ["node_modules", "dist", "bin"].iter().any(|it| name == *it) {
            continue;
        }
        if entry.file_type().expect("a file").is_dir() {
            copy_folder(&entry.path(), &to.join(name));
        } else {
            fs::copy(entry.path(), to.join(name)).expect("a file");
        }
    }
}
