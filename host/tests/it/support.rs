//! Hosts with real extensions in a temporary home.

mod fault_test;
pub(crate) mod in_memory;
mod own_process;
#[cfg(feature = "agent")]
pub(crate) mod png;
mod process;
#[cfg(feature = "agent")]
pub(crate) mod replies;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;
use zot_host::{
    Hooks, Host, HostConfig, HostError,
    extension::{Builtins, Launch, connection::Tap},
    home::Home,
};
use zot_protocol::{
    Content, HelloAck, Intercept, InterceptName, InterceptPolicies, InterceptPolicy, Manifest,
    NoteLevel, Object, OnFailure, Timeouts, ToolCallIntercept, ToolResult, limits::Limits,
};
use zot_test_support::skip;
pub(crate) use zot_test_support::soak_factor;

pub(crate) use fault_test::FaultTest;
pub(crate) use own_process::{
    is_helper_process, passed_in_own_process, path_of, rerun, run_in_own_process,
};
pub(crate) use process::{children, is_alive, processes_in, resident_kib, signal, state_of};

/// Timeout for operations that must not hang. Longer than any of them takes.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// The default limits, with more time to start. Starting a dozen Python processes can take a long
/// time on a busy machine.
pub(crate) fn lenient_limits() -> Limits {
    Limits {
        startup: TEST_TIMEOUT,
        auto_ready: TEST_TIMEOUT,
        ..Limits::default()
    }
}

pub(crate) fn fixture_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}

/// Returns the path to the Python interpreter. A helper process receives it from its parent.
pub(crate) fn python() -> &'static Path {
    static PYTHON: OnceLock<PathBuf> = OnceLock::new();
    PYTHON.get_or_init(|| {
        let inherited = std::env::var_os(own_process::PYTHON).map(PathBuf::from);
        inherited.unwrap_or_else(|| skip::python().expect("python3").into())
    })
}

/// The notes that the host sent to its hooks.
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

/// Every frame that the host has sent, with its receiver.
#[derive(Default)]
pub(crate) struct SentFrames(Mutex<Vec<(String, Value)>>);

impl SentFrames {
    /// The frames sent to one extension.
    pub(crate) fn to(&self, extension: &str) -> Vec<Value> {
        let frames = self.0.lock().expect("not poisoned");
        frames
            .iter()
            .filter(|(to, _)| to == extension)
            .map(|(_, frame)| frame.clone())
            .collect()
    }
}

impl Tap for SentFrames {
    fn received(&self, _: &str, _: &[u8]) {}

    fn sent(&self, extension: &str, line: &[u8]) {
        let frame = serde_json::from_slice(line).unwrap();
        self.0
            .lock()
            .expect("not poisoned")
            .push((extension.to_owned(), frame));
    }
}

/// A host with a temporary home and its recorded notes.
pub(crate) struct HostFixture {
    pub(crate) host: Host,
    pub(crate) notes: Arc<Notes>,
    pub(crate) home: TempDir,
}

impl HostFixture {
    pub(crate) fn with(limits: Limits) -> Self {
        Self::set_up(|config| config.limits = limits)
    }

    pub(crate) fn new() -> Self {
        Self::with(lenient_limits())
    }

    /// Creates a host with defaults for tests, modified by `change`.
    pub(crate) fn set_up(change: impl FnOnce(&mut HostConfig)) -> Self {
        let notes = Arc::new(Notes::default());
        let mut config = HostConfig::new(HelloAck::new(1, "0.0.0", "demo", "demo", "/project"));
        config.limits = lenient_limits();
        config.hooks = Arc::<Notes>::clone(&notes);
        config.builtins = Builtins {
            commands: vec!["help".into()],
            tools: vec!["read".into()],
            ..Default::default()
        };
        config.secrets = vec!["ZOTCORE_RPC_TOKEN".into()];
        change(&mut config);
        Self {
            host: Host::new(config).unwrap(),
            notes,
            home: tempfile::tempdir().unwrap(),
        }
    }

    /// An extension that misbehaves as specified by `words`; see `odd.py`.
    pub(crate) fn odd(&self, name: &str, words: &[&str]) -> Launch {
        self.python_fixture("odd.py", name, words)
    }

    /// A Python fixture that takes its name as an argument.
    pub(crate) fn python_fixture(&self, file: &str, name: &str, words: &[&str]) -> Launch {
        let mut args = vec![format!("name={name}")];
        args.extend(words.iter().map(ToString::to_string));
        self.script(name, file, args)
    }

    /// A Python fixture with arbitrary arguments.
    pub(crate) fn script(&self, name: &str, script: &str, args: Vec<String>) -> Launch {
        // Ignore the user's own modules. This also makes Python start faster.
        let mut all = vec!["-I".to_owned(), "-S".to_owned()];
        all.push(fixture_path(script).display().to_string());
        all.extend(args);
        self.launch(name, python(), all)
    }

    /// A shell script as an extension.
    pub(crate) fn sh(&self, name: &str, line: &str) -> Launch {
        self.launch(name, "/bin/sh", vec!["-c".into(), line.into()])
    }

    /// A small, well-behaved extension with a command and a tool of its own name.
    pub(crate) fn good(&self, name: &str) -> Launch {
        let script = fixture_path("good.sh").display().to_string();
        self.launch(name, "/bin/sh", vec![script, name.to_owned()])
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
        Launch::new(manifest, self.home.path(), &home)
    }

    pub(crate) fn log(&self, name: &str) -> String {
        std::fs::read_to_string(self.home.path().join(format!("logs/ext-{name}.log")))
            .unwrap_or_default()
    }

    /// Calls a tool without arguments.
    pub(crate) async fn call(&self, tool: &str) -> Result<ToolResult, HostError> {
        self.call_with(tool, json!({})).await
    }

    pub(crate) async fn call_with(&self, tool: &str, with: Value) -> Result<ToolResult, HostError> {
        let calling = self.host.tool(tool, args(with), |_| {});
        tokio::time::timeout(TEST_TIMEOUT, calling)
            .await
            .expect("does not hang")
    }

    /// Calls a tool without arguments and returns its text.
    pub(crate) async fn answer(&self, tool: &str) -> String {
        text(&self.call(tool).await.expect("answers")).to_owned()
    }
}

pub(crate) fn args(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        other => panic!("not an object: {other}"),
    }
}

pub(crate) fn no_args() -> Object {
    args(json!({}))
}

/// Returns the text of a result with a single text block.
pub(crate) fn text(result: &ToolResult) -> &str {
    match result.content.as_slice() {
        [Content::Text(text)] => &text.text,
        other => panic!("not a single text: {other:?}"),
    }
}

pub(crate) fn bash(command: &str) -> Intercept {
    ToolCallIntercept::new("bash", args(json!({"command": command}))).into()
}

/// An interception policy that blocks `event` when the extension fails.
pub(crate) fn block_on_failure(event: InterceptName) -> InterceptPolicies {
    InterceptPolicies([(event, InterceptPolicy::new(OnFailure::Block))].into())
}

/// Sets timeouts in the manifest of one extension, so that the others keep the generous limits.
pub(crate) fn with_timeouts(mut launch: Launch, set: impl FnOnce(&mut Timeouts)) -> Launch {
    set(launch.manifest.timeouts.get_or_insert_default());
    launch
}

/// Waits until a condition is true.
pub(crate) async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = std::time::Instant::now();
    while !condition() {
        assert!(
            start.elapsed() < TEST_TIMEOUT,
            "timed out waiting until {what}"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Waits for a future that must not hang.
pub(crate) async fn within<T>(what: &str, work: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(TEST_TIMEOUT, work).await;
    done.unwrap_or_else(|_| panic!("{what} timed out"))
}
