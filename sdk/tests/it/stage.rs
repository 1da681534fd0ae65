//! Runs an installed example under the real host.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;
use zot_host::{
    Hooks, Host, HostConfig,
    extension::{
        Launch,
        chain::ChainOutcome,
        discover::{Search, TrustProject, discover},
    },
    home::Home,
};
use zot_protocol::{
    CommandResponse, HelloAck, Intercept, NoteLevel, Object, PanelClose, PanelRender, ToolResult,
    limits::Limits,
};
use zot_test_support::root;

use crate::driver::HANG;

/// Returns the path of a Rust example's program. The first call builds all Rust examples.
pub(crate) fn program(name: &str) -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let folder = BUILT.get_or_init(|| {
        let test = std::env::current_exe().expect("the path of this test");
        let target = test.ancestors().nth(3).expect("target/profile/deps/test");
        let mut cargo = Command::new(env!("CARGO"));
        cargo
            .args(["build", "--quiet", "--locked", "--target-dir"])
            .arg(target)
            .current_dir(root());
        for example in ["guard", "hello", "redact", "todo", "weather"] {
            cargo.args(["-p", &format!("zot-example-{example}")]);
        }
        let built = cargo.output().expect("run cargo");
        let stderr = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "{stderr}");
        target.join("debug")
    });
    folder.join(name)
}

/// Records what the host received.
#[derive(Default)]
pub(crate) struct Recorder(Mutex<Vec<String>>);

impl Recorder {
    fn push(&self, what: String) {
        self.0.lock().expect("not poisoned").push(what);
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().expect("not poisoned").clone()
    }
}

impl Hooks for Recorder {
    fn note(&self, _: &str, level: NoteLevel, message: &str) {
        self.push(format!("{level:?}: {message}"));
    }

    fn render_panel(&self, _: &str, render: PanelRender) {
        self.push(render.lines.unwrap_or_default().join("\n"));
    }

    fn close_panel(&self, _: &str, close: PanelClose) {
        self.push(format!("closed {}", close.panel_id));
    }
}

/// A host that runs one example from a temporary folder.
pub(crate) struct Stage {
    pub(crate) host: Host,
    pub(crate) recorder: Arc<Recorder>,
    name: String,
    folder: TempDir,
}

impl Stage {
    /// Starts an example unchanged.
    pub(crate) async fn of(name: &str) -> Self {
        Self::changed(name, |_| {}).await
    }

    /// Starts a Rust example, with its program where the manifest expects it.
    pub(crate) async fn rust(name: &str) -> Self {
        Self::changed(name, |folder| install(name, folder)).await
    }

    /// Starts a modified copy of an example.
    pub(crate) async fn changed(name: &str, change: impl FnOnce(&Path)) -> Self {
        let folder = tempfile::tempdir().expect("create a directory");
        let copy = folder.path().join(name);
        copy_folder(&root().join("examples").join(name), &copy);
        change(&copy);
        let recorder = Arc::new(Recorder::default());
        let stage = Self {
            host: host(&recorder),
            recorder,
            name: name.to_owned(),
            folder,
        };
        stage.load().await;
        stage
    }

    /// Starts or restarts the example, as a reload does.
    pub(crate) async fn load(&self) {
        let home = Home::at(self.folder.path().join("home"));
        let search = Search {
            home: home.clone(),
            cwd: self.folder.path().to_owned(),
            explicit: vec![self.folder.path().join(&self.name)],
            no_ext: true,
            trust: TrustProject::Remembered(BTreeMap::default()),
        };
        let found = discover(&search);
        let launches: Vec<Launch> = found
            .to_start()
            .map(|found| Launch::of(found, &home))
            .collect();
        let manifest = &launches[0].manifest;
        assert!(
            manifest.permissions.is_some(),
            "every example declares its permissions"
        );
        let stats = self.host.load(launches).await;
        let log = self.log();
        assert_eq!(
            (stats.ready, stats.errors.len()),
            (1, 0),
            "{stats:?}: {log}"
        );
        self.assert_clean_log();
    }

    pub(crate) fn log(&self) -> String {
        let log = format!("home/logs/ext-{}.log", self.name);
        fs::read_to_string(self.folder.path().join(log)).unwrap_or_default()
    }

    /// Asserts that the log contains nothing but the requested exit.
    fn assert_clean_log(&self) {
        let log = self.log();
        let mut messages = log.lines().filter(|line| line.starts_with("[zot]"));
        assert!(
            messages.all(|line| line.ends_with("was shut down")),
            "{log}"
        );
    }

    /// Returns the path of a file in the example's data directory.
    pub(crate) fn data(&self, file: &str) -> PathBuf {
        let folder = self.folder.path().join("home/extension-data");
        folder.join(&self.name).join(file)
    }

    pub(crate) async fn command(&self, name: &str, args: &str) -> CommandResponse {
        let response = self.host.command(name, args).await;
        response.unwrap_or_else(|error| panic!("{error}: {}", self.log()))
    }

    /// Runs a command and returns the displayed text.
    pub(crate) async fn shown(&self, name: &str, args: &str) -> String {
        let response = self.command(name, args).await;
        assert_eq!(response.error, None);
        response.display.expect("the command displays text")
    }

    pub(crate) async fn tool(&self, name: &str, args: Value) -> ToolResult {
        let result = self.host.tool(name, object(args), |_| {}).await;
        result.unwrap_or_else(|error| panic!("{error}: {}", self.log()))
    }

    pub(crate) async fn ask(&self, event: impl Into<Intercept>) -> ChainOutcome {
        self.host.intercept(event.into()).await
    }

    /// Waits until the host has received something that contains these words.
    pub(crate) async fn wait_for(&self, words: &str) {
        let waiting = async {
            while !self.recorder.all().iter().any(|it| it.contains(words)) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let found = tokio::time::timeout(HANG, waiting).await;
        assert!(
            found.is_ok(),
            "{words}: {:?}; {}",
            self.recorder.all(),
            self.log()
        );
    }

    /// Shuts the example down and asserts that its log contains no problems.
    pub(crate) async fn end(self) {
        let start = std::time::Instant::now();
        self.host.shutdown().await;
        assert!(
            start.elapsed() < Duration::from_secs(2),
            "the extension did not exit in time"
        );
        self.assert_clean_log();
    }
}

fn host(recorder: &Arc<Recorder>) -> Host {
    let ack = HelloAck::new(1, "0.0.0", "demo", "demo", "/home/you/project");
    let mut config = HostConfig::new(ack);
    // Use long timeouts, because the machine may be busy.
    config.limits = Limits {
        startup: HANG,
        auto_ready: HANG,
        ..Limits::default()
    };
    config.hooks = Arc::<Recorder>::clone(recorder);
    Host::new(config).expect("start the host")
}

/// Copies an example's program to where its manifest expects it.
pub(crate) fn install(name: &str, folder: &Path) {
    let bin = folder.join("bin");
    fs::create_dir_all(&bin).expect("create a directory");
    fs::copy(program(name), bin.join(name)).expect("copy the program");
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("create a directory");
    for entry in fs::read_dir(from).expect("read the example") {
        let entry = entry.expect("read the directory");
        let name = entry.file_name();
        // Do not copy build output, which a developer may have left there.
        if ["node_modules", "dist", "bin"].iter().any(|it| name == *it) {
            continue;
        }
        if entry.file_type().expect("read the file type").is_dir() {
            copy_folder(&entry.path(), &to.join(name));
        } else {
            fs::copy(entry.path(), to.join(name)).expect("copy the file");
        }
    }
}

pub(crate) fn object(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        other => panic!("not an object: {other}"),
    }
}

pub(crate) fn text(result: &ToolResult) -> String {
    zot_sdk::text_of(&result.content)
}
