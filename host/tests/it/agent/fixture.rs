//! Test agents with extensions that mark the events they intercept.

use std::{fs, path::Path, sync::Arc};

use serde_json::json;
use tempfile::TempDir;
use zot_host::{
    Prompt, Runtime, RuntimeConfig,
    home::Home,
    provider::{Catalogue, Demo, Provider, Resolved, demo::Script},
};
use zot_protocol::{Tagged, rpc::Event};

/// A home, a project, and the extensions to start.
pub(crate) struct AgentFixture {
    pub(crate) folder: TempDir,
    explicit: Vec<std::path::PathBuf>,
}

impl AgentFixture {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            explicit: Vec::new(),
        }
    }

    /// Adds an extension that marks or blocks the events it intercepts.
    pub(crate) fn with(mut self, name: &str, events: &str, mode: &str) -> Self {
        let dir = self.folder.path().join(name);
        fs::create_dir(&dir).unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mark.py");
        let guarded: serde_json::Map<_, _> = events
            .split(',')
            .filter(|event| !event.is_empty() && mode == "crash")
            .map(|event| (event.to_owned(), json!({"on_failure": "block"})))
            .collect();
        let manifest = json!({
            "name": name, "exec": "python3", "args": [script, name, events, mode], "intercept": guarded,
        });
        fs::write(dir.join("extension.json"), manifest.to_string()).unwrap();
        self.explicit.push(dir);
        self
    }

    /// Adds an extension with this manifest.
    pub(crate) fn add(&mut self, name: &str, manifest: &serde_json::Value) {
        let dir = self.folder.path().join(name);
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("extension.json"), manifest.to_string()).unwrap();
        self.explicit.push(dir);
    }

    pub(crate) fn config(&self, provider: impl Provider + 'static) -> RuntimeConfig {
        let model = Catalogue::built_in().model("demo", "demo");
        let provider = Box::new(provider);
        let home = Home::at(self.folder.path().join("home"));
        let project = self.folder.path().join("project");
        fs::create_dir_all(&project).unwrap();
        let mut config = RuntimeConfig::new(home, project, Resolved { provider, model });
        config.explicit.clone_from(&self.explicit);
        config
    }

    /// Removes the extensions, for agents that are started later.
    pub(crate) fn remove_extensions(&mut self) {
        self.explicit.clear();
    }

    pub(crate) fn start(&self, provider: impl Provider + 'static) -> Runtime {
        Runtime::new(self.config(provider)).unwrap()
    }

    pub(crate) fn demo(&self) -> Runtime {
        self.start(Demo::new())
    }
}

/// A demo provider that plays this script.
pub(crate) fn scripted(turns: &str) -> Demo {
    Demo::with_script(Script::parse(turns).unwrap())
}

/// The events of one prompt.
#[derive(Debug)]
pub(crate) struct PromptEvents(pub(crate) Vec<Event>);

impl PromptEvents {
    pub(crate) async fn of(runtime: &Runtime, prompt: &str) -> Self {
        let mut events = runtime.prompt(Prompt::text(prompt)).expect("idle");
        let mut published = Vec::new();
        while let Some(event) = events.next().await {
            published.push(event);
        }
        Self(published)
    }

    /// The event types in order. Consecutive deltas of the same type are listed once.
    pub(crate) fn types(&self) -> Vec<&str> {
        let mut types: Vec<&str> = self.0.iter().map(Tagged::name).collect();
        types.dedup_by(|next, before| {
            next == before && matches!(*next, "text_delta" | "tool_use_args")
        });
        types
    }

    /// The model's text as the user saw it.
    pub(crate) fn text(&self) -> String {
        let pieces = self.0.iter().filter_map(|event| match event {
            Event::TextDelta(piece) => Some(piece.delta.as_str()),
            _ => None,
        });
        pieces.collect()
    }

    /// The text and status of each tool result.
    pub(crate) fn results(&self) -> Vec<(String, String)> {
        let results = self.0.iter().filter_map(|event| match event {
            Event::ToolResult(result) => {
                let value = serde_json::to_value(result).unwrap();
                let text = value["content"][0]["text"].as_str().unwrap_or_default();
                let status = value["status"].as_str().unwrap_or_default();
                Some((text.to_owned(), status.to_owned()))
            }
            _ => None,
        });
        results.collect()
    }

    pub(crate) fn all(&self) -> String {
        serde_json::to_string(&self.0).unwrap()
    }
}

/// The events and interceptions that an extension has received.
pub(crate) async fn received(runtime: &Runtime, extension: &str) -> Vec<String> {
    let answer = runtime.host().command(extension, "").await.unwrap();
    serde_json::from_str(&answer.display.unwrap_or_default()).unwrap()
}

/// A provider that records its requests and always answers `yes`.
#[derive(Clone, Default)]
pub(crate) struct RecordingProvider(
    pub(crate) Arc<std::sync::Mutex<Vec<zot_host::provider::Request>>>,
);

impl Provider for RecordingProvider {
    fn name(&self) -> &'static str {
        "recording"
    }

    fn stream(&self, request: zot_host::provider::Request) -> zot_host::provider::Deltas {
        use futures_util::StreamExt;
        use zot_host::provider::Delta;
        self.0.lock().expect("not poisoned").push(request);
        let deltas = [
            Delta::Text("yes".into()),
            Delta::Stop(zot_protocol::StopReason::EndTurn),
        ];
        futures_util::stream::iter(deltas.map(Ok)).boxed()
    }
}
