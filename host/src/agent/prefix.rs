//! The start of every request: the system prompt and the tools. It is fixed when a session starts,
//! because the provider's cache and the reasoning that is sent back are valid only while everything
//! before them stays the same. Later changes reach the model as remarks with the user's next
//! message.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};
use zot_protocol::{BeforeAgentStart, Intercept, InterceptName, rpc::ExtensionState};

use super::{Agent, surroundings::Surroundings, system_prompt};
use crate::{context_files::ContextFile, home::short_hash, provider::ToolSpec};

/// The start of every request of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Prefix {
    /// The system prompt after interception.
    pub(crate) system: Arc<str>,
    /// The tools offered to the model.
    pub(crate) tools: Arc<[ToolSpec]>,
    /// A hash of what the prefix was built from, such as the model, the extensions and the flags.
    /// If it differs when the session is continued, the session needs a new prefix.
    basis: String,
    /// The server that it was built for. Reasoning from one server is not valid on another.
    #[serde(default)]
    server: String,
}

impl Prefix {
    /// Reports whether requests with either prefix begin the same way and go to the same server.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.system == other.system && self.tools == other.tools && self.server == other.server
    }

    /// Marks a prefix that someone else may have written. It is rebuilt before the next request.
    pub(crate) fn distrust(&mut self) {
        // No hash is empty, so the basis never matches.
        self.basis.clear();
    }
}

/// What the model was last told about the things that can change during a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Told {
    /// The date.
    date: String,
    /// A hash of each context file, by path.
    files: BTreeMap<String, String>,
    /// A hash of each tool, by name.
    tools: BTreeMap<String, String>,
}

/// Whether the prefix of a session can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PrefixStatus {
    /// It is valid.
    Ready,
    /// The session was continued, so the prefix is valid unless its basis has changed.
    Continued,
    /// Something in the prefix may have changed, so it must be rebuilt and compared.
    Changed,
}

impl Agent {
    /// Builds the prefix if necessary, and passes the system prompt to the interceptors, which can
    /// refuse the session. This happens once per session, and again whenever something in the
    /// prefix may have changed.
    pub(super) async fn prepare_prefix(&self) -> Result<(), String> {
        let (provider, server, model, known) = {
            let state = self.state.lock().await;
            if state.prefix_status == PrefixStatus::Ready {
                return Ok(());
            }
            let known = state.prefix.clone();
            let known = known.filter(|_| state.prefix_status == PrefixStatus::Continued);
            let provider = state.provider.name().to_owned();
            let server = state.provider.server();
            (provider, server, state.model.id.clone(), known)
        };
        let surroundings = Surroundings::now(&self.config.cwd);
        let skills = self.toolbox.skills();
        let prompt =
            system_prompt::system_prompt(&self.config, &self.context, skills, &surroundings);
        let basis = self.basis(&server, &model);
        let asked = BeforeAgentStart::new(prompt, provider, model);
        let system = match self.host.intercept(asked.into()).await.result {
            Ok(Intercept::BeforeAgentStart(start)) => start.system_prompt,
            Ok(_) => unreachable!("a chain does not change the type of its event"),
            Err(block) => return Err(block.reason),
        };
        let mut state = self.state.lock().await;
        state.prefix_status = PrefixStatus::Ready;
        if known.is_some_and(|known| known.basis == basis) {
            return Ok(());
        }
        let prefix = Prefix {
            system: system.into(),
            tools: self.offered().into(),
            basis,
            server,
        };
        let told = self.tellable(&surroundings.date, &prefix.tools);
        let written = state.set_prefix(prefix, told);
        drop(state);
        self.report_write_error(written);
        Ok(())
    }

    /// Returns a hash of everything that the prefix depends on, except for what a remark can
    /// report.
    fn basis(&self, server: &str, model: &str) -> String {
        let config = &self.config;
        let mut extensions: Vec<String> = self
            .host
            .extensions()
            .into_iter()
            .filter(|it| !matches!(it.state, ExtensionState::Failed | ExtensionState::Stopped))
            .map(|it| format!("{} {}", it.name, it.version))
            .collect();
        extensions.sort();
        let parts = (
            (server, model, &config.cwd),
            (&config.system_prompt, &config.appended, &config.tools),
            (self.toolbox.skills().prompt(), extensions),
        );
        short_hash(format!("{parts:?}"))
    }

    /// Compares what the model was told with the current state, and prepares a remark about the
    /// differences for the user's next message.
    pub(super) async fn remark_on_changes(&self) {
        let (server, model) = {
            let state = self.state.lock().await;
            if state.prefix_status == PrefixStatus::Changed || state.prefix.is_none() {
                return;
            }
            (state.provider.server(), state.model.id.clone())
        };
        let basis = self.basis(&server, &model);
        let offered = self.offered();
        let now = self.tellable(&Surroundings::today(), &offered);
        let mut state = self.state.lock().await;
        let is_continued = state.prefix_status == PrefixStatus::Continued;
        let Some(prefix) = state.prefix.clone() else {
            return;
        };
        if state.told == now || (is_continued && prefix.basis != basis) {
            return;
        }
        // Rebuild the system prompt, because its interceptors must see the changed files.
        if state.told.files != now.files && self.host.intercepts(&InterceptName::BeforeAgentStart) {
            state.prefix_status = PrefixStatus::Changed;
            return;
        }
        let remarks = remarks(&state.told, &now, &prefix.tools, &offered, &self.context);
        // A new tool cannot be called yet, so it is not mentioned.
        let is_known = |name: &String| prefix.tools.iter().any(|tool| tool.name == *name);
        let mut now = now;
        now.tools.retain(|name, _| is_known(name));
        if state.told == now {
            return;
        }
        // `told` is updated when the user's next message delivers these remarks.
        state.changes = Some((remarks, now));
    }

    fn tellable(&self, date: &str, tools: &[ToolSpec]) -> Told {
        let files = self.context.iter().map(|ContextFile { path, text, .. }| {
            let path = path.to_string_lossy().into_owned();
            (path, short_hash(text))
        });
        let tools = tools
            .iter()
            .map(|tool| (tool.name.clone(), short_hash(format!("{tool:?}"))));
        Told {
            date: date.to_owned(),
            files: files.collect(),
            tools: tools.collect(),
        }
    }
}

/// Describes the differences for the model.
fn remarks(
    told: &Told,
    now: &Told,
    listed: &[ToolSpec],
    offered: &[ToolSpec],
    context: &[ContextFile],
) -> Vec<String> {
    let mut remarks = Vec::new();
    if told.date != now.date {
        remarks.push(format!("Today is {}.", now.date));
    }
    for ContextFile { path, text, .. } in context {
        let path = path.display().to_string();
        if told.files.get(&path) != now.files.get(&path) {
            remarks.push(format!("`{path}` has changed. It now says:\n\n{text}"));
        }
    }
    let is_gone = |path: &&String| !now.files.contains_key(*path);
    for path in told.files.keys().filter(is_gone) {
        remarks.push(format!("`{path}` no longer exists. Ignore what it said."));
    }
    for tool in listed {
        let name = &tool.name;
        match offered.iter().find(|it| it.name == *name) {
            None if told.tools.contains_key(name) => {
                remarks.push(format!("The tool `{name}` is no longer available."));
            }
            Some(tool) if told.tools.get(name) != now.tools.get(name) => {
                let description = &tool.description;
                let schema = serde_json::Value::Object(tool.schema.clone());
                remarks.push(format!(
                    "The tool `{name}` has changed: {description}\nIts arguments now follow this JSON Schema: {schema}"
                ));
            }
            _ => {}
        }
    }
    remarks
}
