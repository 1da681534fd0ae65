//! The configuration of an agent.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use zot_protocol::{Config, DecisionDetail, ExtensionConfig, Reasoning};

use crate::{
    agent::ToolSelection,
    approval::Approvals,
    extension::{
        connection::Tap,
        discover::{Search, TrustProject},
    },
    home::Home,
    hooks::{Hooks, NoHooks},
    provider::{Catalogue, Model, Providers, Resolved, Retry},
    session::Choice,
    tool::Skills,
};

/// The configuration of an agent. [`RuntimeConfig::new`] sets the defaults.
#[non_exhaustive]
pub struct RuntimeConfig {
    /// The directory for sessions, extensions and logs.
    pub home: Home,
    /// The working directory.
    pub cwd: PathBuf,
    /// The provider and model; `None` once an agent has been started.
    model: Option<Resolved>,
    /// The reasoning effort. Default: the model's default.
    pub reasoning: Option<Reasoning>,
    /// Replaces the built-in system prompt. Default: none.
    pub system_prompt: Option<String>,
    /// Sections to append to the system prompt. Default: none.
    pub appended: Vec<String>,
    /// Whether to read context files such as `AGENTS.md`. Default: yes.
    pub context_files: bool,
    /// The skills to offer. Default: [`Skills::builtin`].
    pub skills: Skills,
    /// The providers, whose keys child processes do not inherit. Default: the built-in ones.
    pub providers: Providers,
    /// How to retry a model call that failed temporarily.
    pub retry: Retry,
    /// The known models. Default: the built-in catalogue.
    pub catalogue: Arc<Catalogue>,
    /// The maximum number of model calls per prompt. Default: unlimited.
    pub max_steps: Option<u32>,
    /// The tools to offer to the model. Default: all.
    pub tools: ToolSelection,
    /// Whether the jail is on from the start. Default: no.
    pub jail: bool,
    /// Decides which tool calls need confirmation. Default: every call, through [`Hooks::confirm`].
    pub approvals: Arc<Approvals>,
    /// The session to open. Default: none, and nothing is stored.
    pub session: Choice,
    /// Paths of extensions to load before the discovered ones.
    pub explicit: Vec<PathBuf>,
    /// Whether to load only the `explicit` extensions. Default: no.
    pub no_ext: bool,
    /// Which of the project's extensions may start. Default: none.
    pub trust: TrustProject,
    /// The user's settings for each extension.
    pub extensions: BTreeMap<String, ExtensionConfig>,
    /// What to record about the decisions of interceptors. Default: nothing.
    pub decisions: Option<DecisionDetail>,
    /// Whether to refuse an extension whose permissions cannot be enforced. Default: no.
    pub strict_permissions: bool,
    /// Whether there is a user to interact with. Default: no.
    pub interactive: bool,
    /// The embedding program's slash commands. Extensions cannot register these names.
    pub commands: Vec<String>,
    /// Callbacks into the embedding program.
    pub hooks: Arc<dyn Hooks>,
    /// Sees every frame between the host and the extensions.
    pub tap: Option<Arc<dyn Tap>>,
}

impl RuntimeConfig {
    /// Creates the configuration of an agent in `cwd` with this model, without a session.
    pub fn new(home: Home, cwd: impl Into<PathBuf>, model: Resolved) -> Self {
        Self {
            home,
            cwd: cwd.into(),
            model: Some(model),
            reasoning: None,
            system_prompt: None,
            appended: Vec::new(),
            context_files: true,
            skills: Skills::builtin(),
            providers: Providers::of(&Config::default()),
            retry: Retry::default(),
            catalogue: Arc::new(Catalogue::built_in()),
            max_steps: None,
            tools: ToolSelection::All,
            jail: false,
            approvals: Arc::default(),
            session: Choice::Off,
            explicit: Vec::new(),
            no_ext: false,
            trust: TrustProject::Remembered(BTreeMap::new()),
            extensions: BTreeMap::new(),
            decisions: None,
            strict_permissions: false,
            interactive: false,
            commands: Vec::new(),
            hooks: Arc::new(NoHooks),
            tap: None,
        }
    }

    /// Replaces the provider and model.
    pub fn set_model(&mut self, model: Resolved) {
        self.model = Some(model);
    }

    /// Returns the model, or `None` once an agent has been started from this configuration.
    pub fn model(&self) -> Option<&Model> {
        self.model.as_ref().map(|resolved| &resolved.model)
    }

    pub(super) fn take_model(&mut self) -> Resolved {
        self.model.take().expect("a configuration starts one agent")
    }

    pub(super) fn search(&self, trust: TrustProject) -> Search {
        Search {
            home: self.home.clone(),
            cwd: self.cwd.clone(),
            explicit: self.explicit.clone(),
            no_ext: self.no_ext,
            trust,
        }
    }
}
