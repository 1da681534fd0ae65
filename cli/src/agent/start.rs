//! Combines flags and configuration into the settings for an agent.

use std::{
    env,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::Context;
use zot_host::{
    RuntimeConfig, ToolSelection,
    approval::{Approvals, ConfirmMode},
    extension::discover::TrustProject,
    home::Home,
    provider::{ApiKey, Catalogue, Demo, Providers, ResolveError, Resolved, Wanted, demo, resolve},
    settings::Settings,
    tool::Skills,
};
use zot_protocol::{BUILTIN_COMMANDS, InterceptConfig, InterceptMode, InterceptName, TurnNotice};

use super::{Record, session};
use crate::{
    args::{Flags, LogLevel},
    exit::Usage,
};

/// How the agent runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// In a terminal.
    Interactive,
    /// `-p` and `--json`: a single prompt.
    Once,
    /// `zot rpc`: driven by another program.
    Rpc,
}

/// Everything that is needed to start an agent.
pub(crate) struct Start {
    /// The agent's configuration, without hooks: the code for each mode adds its own.
    pub(crate) config: RuntimeConfig,
    /// Messages to show at startup, one or two lines each.
    pub(crate) notices: Vec<String>,
    /// Whether the demo model is used because no API key was found.
    pub(crate) fell_back: bool,
    /// Whether to let the user pick a session first.
    pub(crate) pick_session: bool,
    pub(crate) log_level: LogLevel,
    /// The frame recorder, which must be finished after the agent has ended.
    pub(crate) record: Option<Arc<Record>>,
    /// The provider settings from the flags, for switching models later.
    pub(crate) wanted: Wanted,
    /// The name of the colour theme.
    pub(crate) theme: Option<String>,
    /// Whether to ring the bell when a long turn ends.
    pub(crate) rings: bool,
}

impl Start {
    /// Resolves all settings. Starts nothing, writes nothing and uses no network.
    pub(crate) fn of(flags: &Flags, mode: Mode) -> anyhow::Result<Self> {
        let home = Home::from_env()?;
        let cwd = working_directory(flags.cwd.as_deref())?;
        let settings = Settings::load(&home);
        let confirm = confirm_mode(flags, &settings, mode)?;
        let mut notices: Vec<String> = settings.notices.iter().map(ToString::to_string).collect();
        let (catalogue, faults) = Catalogue::load(&home, &settings.config);
        notices.extend(faults);
        let catalogue = Arc::new(catalogue);
        let wanted = wanted(flags)?;
        let found = resolve(&wanted, &settings.config, &home, &catalogue, |name| {
            env::var_os(name)
        });
        let (model, fell_back) = match found {
            Ok(resolved) => (resolved, false),
            Err(error) if error.is_no_key() && mode == Mode::Interactive => {
                (demo_model(&catalogue), true)
            }
            Err(error) => return Err(usage_error(error)),
        };
        let (session, pick_session) = session::choose(flags, mode, &home, &cwd)?;
        let skills = skills(flags, &cwd, &home);
        notices.extend_from_slice(skills.warnings());

        let mut config = RuntimeConfig::new(home, cwd, model);
        config.catalogue = catalogue;
        config.providers = Providers::of(&settings.config);
        if let Some(seconds) = settings.config.retry_seconds {
            config.retry.total = Duration::from_secs(seconds.into());
        }
        config.reasoning = flags.reasoning.or(settings.config.reasoning);
        config.system_prompt.clone_from(&flags.system_prompt);
        config.appended.clone_from(&flags.append_system_prompt);
        config.context_files = !flags.no_context_files;
        config.skills = skills;
        config.max_steps = flags.max_steps;
        config.tools = offered(flags);
        config.jail = flags.jail || (settings.config.jail == Some(true) && !flags.no_jail);
        config.approvals = Arc::new(Approvals::new(settings.config.approvals, confirm));
        config.session = session;
        config.explicit.clone_from(&flags.ext);
        config.no_ext = flags.no_ext;
        config.trust = if flags.trust_project || is_set("ZOT_TRUST_PROJECT") {
            TrustProject::All
        } else {
            TrustProject::Remembered(settings.config.trusted)
        };
        config.extensions = settings.config.extensions;
        for name in &flags.audit {
            let audit = InterceptConfig::new(InterceptMode::Audit);
            let events = InterceptName::KNOWN.iter().cloned();
            let own = config.extensions.entry(name.clone()).or_default();
            own.intercept.extend(events.map(|event| (event, audit)));
        }
        config.decisions = Some(settings.config.decisions.unwrap_or_default());
        config.strict_permissions = flags.strict_permissions;
        config.interactive = mode == Mode::Interactive;
        config.commands = BUILTIN_COMMANDS.map(|(name, _)| name.to_owned()).to_vec();
        let record = match &flags.record {
            Some(path) => Some(Arc::new(Record::to(path, &config.providers)?)),
            None => None,
        };
        config.tap = record.clone().map(|record| record as _);
        Ok(Self {
            config,
            notices,
            fell_back,
            pick_session,
            log_level: flags.log_level,
            record,
            wanted,
            theme: settings.config.theme,
            rings: settings.config.notify != Some(TurnNotice::Off),
        })
    }
}

/// Returns which tool calls need confirmation. Fails if all of them do and this mode cannot ask.
fn confirm_mode(flags: &Flags, settings: &Settings, mode: Mode) -> anyhow::Result<ConfirmMode> {
    let configured = settings.config.confirm == Some(true) && !flags.yolo && !flags.no_tools;
    let otherwise = if flags.yolo {
        ConfirmMode::Never
    } else {
        ConfirmMode::Rules
    };
    if mode == Mode::Interactive {
        return Ok(if flags.no_yolo || configured {
            ConfirmMode::Always
        } else {
            otherwise
        });
    }
    if flags.no_yolo {
        return Err(Usage::new(
            "--no-yolo requires interactive mode\nhint: remove the flag, or run zot without -p, --json or rpc",
        )
        .into());
    }
    // If config.json cannot be read or parsed, `confirm` counts as set. Scripts must still run, so
    // their tools are jailed instead.
    if configured && !settings.is_broken() {
        let mut message = String::new();
        // If only the value of `confirm` is invalid, it counts as true, and a notice explains why.
        for notice in &settings.notices {
            message.push_str(&format!("{notice}\n"));
        }
        message.push_str("config.json requires confirmation of each tool call, which is only possible in interactive mode\nhint: pass --yolo to run tools without asking, or --no-tools to disable them");
        return Err(Usage::new(message).into());
    }
    Ok(otherwise)
}

fn working_directory(given: Option<&Path>) -> anyhow::Result<PathBuf> {
    let Some(given) = given else {
        return env::current_dir().context("the working directory does not exist");
    };
    let shown = zot_host::extension::discover::escape::path(given);
    match given.canonicalize() {
        Ok(dir) if dir.is_dir() => Ok(dir),
        Ok(_) => Err(Usage::new(format!("--cwd: `{shown}` is not a directory")).into()),
        Err(error) => Err(Usage::new(format!("--cwd: `{shown}`: {error}")).into()),
    }
}

pub(crate) fn wanted(flags: &Flags) -> anyhow::Result<Wanted> {
    let api_key = flags.api_key.as_ref().map(|key| ApiKey::new(&key.0));
    let api_key = api_key
        .transpose()
        .map_err(|error| Usage::new(format!("--api-key: {error}")))?;
    Ok(Wanted {
        provider: flags.provider.clone(),
        model: flags.model.clone(),
        api_key,
        base_url: flags.base_url.clone(),
        script: flags.script.clone(),
    })
}

/// Converts errors about flags to usage errors.
fn usage_error(error: ResolveError) -> anyhow::Error {
    match error {
        ResolveError::Provider(_) | ResolveError::BaseUrl { .. } | ResolveError::Flag { .. } => {
            Usage::new(error.to_string()).into()
        }
        error => error.into(),
    }
}

fn demo_model(catalogue: &Catalogue) -> Resolved {
    Resolved {
        provider: Box::new(Demo::new()),
        model: catalogue.model(demo::NAME, demo::NAME),
    }
}

fn skills(flags: &Flags, cwd: &Path, home: &Home) -> Skills {
    if flags.no_skill {
        Skills::none()
    } else if flags.with_skills {
        Skills::find(cwd, home)
    } else {
        Skills::builtin()
    }
}

fn offered(flags: &Flags) -> ToolSelection {
    match &flags.tools {
        _ if flags.no_tools => ToolSelection::None,
        Some(names) => {
            ToolSelection::Only(names.iter().map(|name| name.trim().to_owned()).collect())
        }
        None => ToolSelection::All,
    }
}

fn is_set(variable: &str) -> bool {
    env::var_os(variable).is_some_and(|value| !value.is_empty() && value != "0")
}
