//! What an agent is made of.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use zot_protocol::{ExtensionConfig, Reasoning};

use crate::{
    agent::Offered,
    extension::{
        connection::Tap,
        discover::{Search, TrustProject},
    },
    home::Home,
    hooks::{Hooks, NoHooks},
    provider::{Catalogue, Model, Resolved},
    session::Choice,
    tool::Skills,
};

/// What an agent is made of. [`RuntimeConfig::new`] has the defaults.
#[non_exhaustive]
pub struct RuntimeConfig {
    /// Where sessions, extensions and logs are.
    pub home: Home,
    /// Where the user works.
    pub cwd: PathBuf,
    /// Who answers; taken when the agent starts.
    model: Option<Resolved>,
    /// How much the model thinks. As it does by itself.
    pub reasoning: Option<Reasoning>,
    /// In the place of our own system prompt. None.
    pub system_prompt: Option<String>,
    /// Behind the system prompt. Nothing.
    pub appended: Vec<String>,
    /// Whether `AGENTS.md` and the like are read. Yes.
    pub context_files: bool,
    /// The skills that are offered. [`Skills::builtin`].
    pub skills: Skills,
    /// What is known of models. What came with the program.
    pub catalogue: Arc<Catalogue>,
    /// How often the model may be called for one prompt. As often as it likes.
    pub max_steps: Option<u32>,
    /// Which tools the model is offered. All.
    pub tools: Offered,
    /// Whether the jail is closed from the beginning. No.
    pub jail: bool,
    /// Which session. None is kept.
    pub session: Choice,
    /// Extensions by their paths, before those that are found.
    pub explicit: Vec<PathBuf>,
    /// Whether only those are started. No.
    pub no_ext: bool,
    /// Which of the project's extensions may be started. None.
    pub trust: TrustProject,
    /// The user's settings by extension.
    pub extensions: BTreeMap<String, ExtensionConfig>,
    /// Whether an extension whose permissions cannot be enforced is refused. No.
    pub strict_permissions: bool,
    /// Whether there is a user to talk with. No.
    pub interactive: bool,
    /// Slash commands of the program around it, which no extension can take.
    pub commands: Vec<String>,
    /// The program around it.
    pub hooks: Arc<dyn Hooks>,
    /// Sees every frame between the host and the extensions.
    pub tap: Option<Arc<dyn Tap>>,
}

impl RuntimeConfig {
    /// An agent without a session, in `cwd`, with somebody who answers.
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
            catalogue: Arc::new(Catalogue::built_in()),
            max_steps: None,
            tools: Offered::All,
            jail: false,
            session: Choice::Off,
            explicit: Vec::new(),
            no_ext: false,
            trust: TrustProject::Remembered(BTreeMap::new()),
            extensions: BTreeMap::new(),
            strict_permissions: false,
            interactive: false,
            commands: Vec::new(),
            hooks: Arc::new(NoHooks),
            tap: None,
        }
    }

    /// Somebody else answers.
    pub fn set_model(&mut self, model: Resolved) {
        self.model = Some(model);
    }

    /// What is known of the model that answers; `None` once an agent was made of it.
    pub fn model(&self) -> Option<&Model> {
        self.model.as_ref().map(|resolved| &resolved.model)
    }

    pub(super) fn take_model(&mut self) -> Resolved {
        self.model.take().expect("an agent is made of it once")
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
