//! Extensions to play transcripts against: the fixture, and the examples as they would be installed.

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

use crate::{fixture::search_path, support::build};

/// A directory of one's own with an extension in it, and a home for what is kept.
pub(crate) struct Stage {
    folder: TempDir,
}

/// What a run of the binary came to.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Stage {
    /// The fixture, in this mood.
    pub(crate) fn moody(mood: &[&str]) -> Self {
        let stage = Self::empty();
        stage.set_mood(mood);
        stage
    }

    /// The fixture changes its mood.
    pub(crate) fn set_mood(&self, mood: &[&str]) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/moody.py");
        let script = script.to_str().expect("a path in UTF-8");
        let args: Vec<&str> = [script].iter().chain(mood).copied().collect();
        self.manifest(
            &json!({"name": "moody", "exec": "python3", "args": args, "timeouts": {"tool_ms": 1500}}),
        );
    }

    /// Somewhere to put an extension.
    pub(crate) fn empty() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(folder.path().join("ext/conform")).expect("a folder");
        Self { folder }
    }

    pub(crate) fn manifest(&self, manifest: &serde_json::Value) {
        let path = self.path("ext/extension.json");
        fs::write(path, manifest.to_string()).expect("a manifest");
    }

    /// A path in the stage's folder; the extension is in `ext`.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a transcript of that name into the extension's own.
    pub(crate) fn transcript(&self, name: &str, lines: &str) {
        let path = self.path(&format!("ext/conform/{name}.zt.ndjson"));
        fs::write(path, lines).expect("a transcript");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Runs `zot-conform` in the stage's folder.
    pub(crate) fn conform(&self, args: &[&str]) -> Said {
        self.conform_with(args, "")
    }

    pub(crate) fn conform_with(&self, args: &[&str], input: &str) -> Said {
        let mut child = Command::new(env!("CARGO_BIN_EXE_zot-conform"))
            .args(args)
            .current_dir(self.folder.path())
            .env("PATH", search_path())
            .env("ZOT_HOME", self.path("home"))
            // Whether Python buffers is the fixture's own matter.
            .env_remove("PYTHONUNBUFFERED")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("zot-conform starts");
        // One that does not read its input has closed the pipe; that is its right.
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
        Said {
            code: status.code(),
            out: self.tidy(&String::from_utf8(stdout).expect("a text")),
            err: self.tidy(&String::from_utf8(stderr).expect("a text")),
        }
    }

    /// Without what differs from run to run.
    pub(crate) fn tidy(&self, text: &str) -> String {
        let own = self.folder.path().to_str().expect("a path in UTF-8");
        let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");
        let text = text.replace(own, "[STAGE]").replace(fixtures, "[FIXTURES]");
        // What was slow says so; whether it was is not the test's matter.
        let slow = Regex::new(r"\s\(\d+(\.\d+)?\sm?s\)").expect("a pattern");
        let text = slow.replace_all(&text, "");
        let taken = Regex::new(r" in \d+(\.\d+)?\sm?s\b").expect("a pattern");
        let text = taken.replace_all(&text, " in [TIME]");
        let now = Regex::new(r"\b\d{10}\.\d+").expect("a pattern");
        let text = now.replace_all(&text, "[NOW]");
        let id = Regex::new(r"\b([a-z]{3}-\d\d)-[0-9a-f]{6}\b").expect("a pattern");
        id.replace_all(&text, "$1-[ID]").into_owned()
    }
}

impl Said {
    /// Both streams, for a snapshot.
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

/// The program of an example in Rust; all of them are built when the first is asked for.
fn program(name: &str) -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let folder = BUILT.get_or_init(|| {
        let packages = ["guard", "hello", "redact", "todo", "weather"]
            .map(|example| format!("zot-example-{example}"));
        build(&packages.each_ref().map(|it| ["-p", it]).concat())
    });
    folder.join(name)
}

/// An example as it would be installed; `None`, said aloud, where what it runs on is missing.
pub(crate) fn example(name: &str) -> Option<Stage> {
    let needed: &[&str] = match name {
        "hello-py" | "audit" => &["python3"],
        "clock" => &["node"],
        "scratchpad" => &["node", "npm"],
        "fortune" => &["bash", "jq"],
        _ => &[],
    };
    for program in needed {
        let mut asked = Command::new("sh");
        let asked = asked.args(["-c", "command -v \"$0\"", program]).output();
        if !asked.expect("sh").status.success() {
            crate::support::skipped(&format!("{program} not found"));
            return None;
        }
    }
    let stage = Stage::empty();
    let ext = stage.path("ext");
    copy_folder(&workspace().join("examples").join(name), &ext);
    match name {
        "guard" | "hello" | "redact" | "todo" | "weather" => {
            fs::create_dir_all(ext.join("bin")).expect("a folder");
            fs::copy(program(name), ext.join("bin").join(name)).expect("a program");
        }
        "scratchpad" => {
            for args in [&["ci", "--no-audit", "--no-fund"][..], &["run", "build"]] {
                let built = Command::new("npm").args(args).current_dir(&ext).output();
                let built = built.expect("npm");
                let said = String::from_utf8_lossy(&built.stderr);
                assert!(built.status.success(), "npm {args:?}: {said}");
            }
        }
        _ => {}
    }
    Some(stage)
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("an example") {
        let entry = entry.expect("a folder");
        let name = entry.file_name();
        // What a developer has built there is not what is tested.
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
