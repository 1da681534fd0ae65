//! Builds the parts of a runtime from its configuration.

use std::{io, sync::Arc};

use zot_process::Spawner;
use zot_protocol::{HelloAck, NoteLevel, PROTOCOL_VERSION, Reasoning};

use super::RuntimeConfig;
use crate::{
    HostConfig, clock,
    decisions::DecisionLog,
    extension::{
        Builtins, Launch,
        discover::{TrustProject, discover, escape},
    },
    provider::Model,
    tool::{self, Toolbox, ToolboxConfig},
};

pub(super) fn toolbox(config: &RuntimeConfig, session: &str) -> io::Result<Toolbox> {
    let scratch = config.home.scratch_of(session);
    let mut tools = ToolboxConfig::new(&config.cwd, scratch, Spawner::new()?);
    tools.secrets = config.secrets();
    tools.jail = config.jail;
    tools.skills.clone_from(&config.skills);
    let toolbox = Toolbox::new(tools)?;
    // Delete old scratch folders of other sessions in the background, after this session has
    // created its own.
    let scratch = config.home.scratch();
    let cleaning = std::thread::Builder::new().name("scratch".to_owned());
    let _ = cleaning.spawn(move || tool::scratch::clean(&scratch));
    Ok(toolbox)
}

/// Returns the `hello_ack` that extensions receive.
pub(super) fn ack(config: &RuntimeConfig, provider: &str, model: &str) -> HelloAck {
    let version = env!("CARGO_PKG_VERSION");
    let cwd = config.cwd.to_string_lossy();
    HelloAck::new(PROTOCOL_VERSION, version, provider, model, cwd)
}

pub(super) fn host(
    config: &RuntimeConfig,
    (provider, model): (&str, &str),
    session: &str,
) -> HostConfig {
    let mut host = HostConfig::new(ack(config, provider, model));
    host.hooks = Arc::clone(&config.hooks);
    host.approvals = Arc::clone(&config.approvals);
    host.tap.clone_from(&config.tap);
    host.secrets = config.secrets();
    host.strict_permissions = config.strict_permissions;
    host.interactive = config.interactive;
    host.settings.clone_from(&config.extensions);
    let log = |detail| Arc::new(DecisionLog::new(&config.home, session, detail));
    host.decisions = config.decisions.map(log);
    host.builtins = Builtins {
        commands: config.commands.clone(),
        tools: tool::NAMES.map(str::to_owned).to_vec(),
        // Extensions cannot call `background`, because they cannot start background commands.
        replaceable_tools: [tool::GREP, tool::FIND].map(str::to_owned).to_vec(),
    };
    host
}

/// Warns the user about the model: unknown properties, retirement, or an unsupported reasoning
/// level.
pub(super) fn remark(config: &RuntimeConfig, model: &Model, reasoning: Option<Reasoning>) {
    let remarks = model.remarks(&clock::now()[..10]);
    let remarks = remarks.into_iter().chain(model.reasoning_remark(reasoning));
    for remark in remarks {
        config.hooks.notice(NoteLevel::Warn, &remark);
    }
}

impl RuntimeConfig {
    /// Returns the environment variables that child processes do not inherit.
    fn secrets(&self) -> Vec<String> {
        self.providers.key_variables().map(str::to_owned).collect()
    }

    /// Returns a closure that, when called, looks for extensions to start.
    pub(super) fn find(
        &self,
        trust: TrustProject,
    ) -> impl FnOnce() -> Vec<Launch> + Send + 'static {
        let (search, home) = (self.search(trust), self.home.clone());
        let (hooks, interactive) = (Arc::clone(&self.hooks), self.interactive);
        move || {
            let found = discover(&search);
            for refused in &found.refused {
                hooks.notice(NoteLevel::Warn, &refused.to_string());
            }
            // In interactive mode, the embedding program asks the user instead.
            if !interactive {
                for (extension, untrusted) in found.untrusted() {
                    let name = escape::text(extension.name());
                    let message = format!(
                        "did not start the project's extension {name}: {untrusted}\nhint: pass --trust-project"
                    );
                    hooks.notice(NoteLevel::Warn, &message);
                }
            }
            found.to_start().map(|it| Launch::of(it, &home)).collect()
        }
    }
}
