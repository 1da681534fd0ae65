//! Chooses the provider and model from flags, configuration and stored keys.

use std::{ffi::OsString, path::PathBuf, sync::Arc};

use zot_protocol::Config;

use super::{
    Anthropic, Catalogue, Credentials, Demo, Endpoint, Model, OpenAi, Provider, UrlError,
    anthropic,
    credentials::{CredentialsError, variable_of},
    demo::{self, Script, ScriptError},
    key::ApiKey,
    openai,
};
use crate::home::Home;

/// The command-line flags. Missing ones fall back to the configuration, then to the available keys.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// `--provider`.
    pub provider: Option<String>,
    /// `--model`.
    pub model: Option<String>,
    /// `--api-key`.
    pub api_key: Option<ApiKey>,
    /// `--base-url`.
    pub base_url: Option<String>,
    /// `--script`: the script that the demo plays.
    pub script: Option<PathBuf>,
}

/// A provider and the model to use.
pub struct Resolved {
    /// The provider.
    pub provider: Box<dyn Provider>,
    /// The model.
    pub model: Model,
}

/// Error returned by [`resolve`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// The provider is unknown.
    #[error("unknown provider `{}`\nhint: use one of {}; for a compatible server, use `openai` with --base-url", .0.escape_debug(), NAMES.join(", "))]
    Provider(String),
    /// No provider is chosen, and no key is stored.
    #[error(
        "no provider: no API key found\nhint: set ANTHROPIC_API_KEY or OPENAI_API_KEY, or run `zot auth set anthropic`, \
         or try zot without a model: --provider demo"
    )]
    NoProvider,
    /// The provider needs a key.
    #[error("no API key for {provider}\nhint: {}run `zot auth set {provider}`, or try zot without a model: --provider demo", set(.provider))]
    NoKey {
        /// The provider.
        provider: String,
    },
    /// The provider has no default model.
    #[error("no model for {provider}\nhint: pass --model NAME{}", installed(.provider))]
    NoModel {
        /// The provider.
        provider: String,
    },
    /// The base URL is invalid.
    #[error("--base-url: {0}")]
    BaseUrl(UrlError),
    /// The flag does not apply to the provider.
    #[error("{flag} cannot be used with {provider}, only with {of}")]
    Flag {
        /// The flag.
        flag: &'static str,
        /// The providers that support it.
        of: &'static str,
        /// The provider.
        provider: String,
    },
    /// The stored keys cannot be read.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    /// The demo's script cannot be loaded.
    #[error(transparent)]
    Script(#[from] ScriptError),
}

const NAMES: [&str; 4] = [anthropic::NAME, openai::NAME, openai::OLLAMA, demo::NAME];

fn set(provider: &str) -> String {
    let variable = variable_of(provider);
    variable.map_or_else(String::new, |variable| format!("set {variable}, or "))
}

fn installed(provider: &str) -> &'static str {
    if provider == openai::OLLAMA {
        "; `ollama list` lists the installed models"
    } else {
        ""
    }
}

impl ResolveError {
    /// Reports whether only a key is missing. Interactive mode then falls back to the demo.
    pub fn is_no_key(&self) -> bool {
        matches!(self, Self::NoProvider | Self::NoKey { .. })
    }
}

/// Chooses the provider and model. Flags win over the configuration, which wins over the available
/// keys (`anthropic` first). Makes no network requests. `vars` is the environment.
pub fn resolve(
    wanted: &Wanted,
    config: &Config,
    home: &Home,
    catalogue: &Arc<Catalogue>,
    vars: impl Fn(&str) -> Option<OsString>,
) -> Result<Resolved, ResolveError> {
    let keys = Credentials::of(home);
    let name = match provider(wanted, config, catalogue) {
        Some(name) => name,
        None => with_key(&keys, &vars)?.ok_or(ResolveError::NoProvider)?,
    };
    if !NAMES.contains(&&*name) {
        return Err(ResolveError::Provider(name));
    }
    if name == demo::NAME {
        if wanted.base_url.is_some() {
            return Err(flag("--base-url", "anthropic, openai and ollama", name));
        }
        let demo = match &wanted.script {
            Some(path) => Demo::with_script(Script::read(path)?),
            None => Demo::new(),
        };
        return Ok(Resolved {
            provider: Box::new(demo),
            model: catalogue.model(demo::NAME, demo::NAME),
        });
    }
    if wanted.script.is_some() {
        return Err(flag("--script", "demo", name));
    }
    let key = keys.find(&name, wanted.api_key.as_ref(), &vars)?;
    // With --base-url, the user decides whether the server needs a key.
    if key.is_none() && wanted.base_url.is_none() && name != openai::OLLAMA {
        return Err(ResolveError::NoKey { provider: name });
    }
    let base_url = wanted.base_url.as_deref().unwrap_or(base_url(&name));
    let endpoint = Endpoint::new(base_url, key).map_err(ResolveError::BaseUrl)?;
    let id = model(&name, wanted, config, catalogue).ok_or_else(|| ResolveError::NoModel {
        provider: name.clone(),
    })?;
    let model = catalogue.model(&name, &id);
    let catalogue = Arc::clone(catalogue);
    let provider: Box<dyn Provider> = if name == anthropic::NAME {
        Box::new(Anthropic::new(endpoint, catalogue))
    } else {
        Box::new(OpenAi::new(&name, endpoint, catalogue))
    };
    Ok(Resolved { provider, model })
}

/// Returns the base URL of a provider.
pub fn base_url(provider: &str) -> &'static str {
    match provider {
        anthropic::NAME => anthropic::BASE_URL,
        openai::OLLAMA => openai::OLLAMA_BASE_URL,
        _ => openai::BASE_URL,
    }
}

fn flag(flag: &'static str, of: &'static str, provider: String) -> ResolveError {
    ResolveError::Flag { flag, of, provider }
}

/// Returns the provider named or implied by the flags or the configuration.
fn provider(wanted: &Wanted, config: &Config, catalogue: &Catalogue) -> Option<String> {
    if let Some(name) = &wanted.provider {
        return Some(name.clone());
    }
    let of = |model: &Option<String>| catalogue.provider_of(model.as_deref()?).map(str::to_owned);
    let by_flags = || {
        if wanted.script.is_some() {
            return Some(demo::NAME.to_owned());
        }
        of(&wanted.model)
    };
    let by_key = || {
        let is_anthropic = wanted.api_key.as_ref()?.expose().starts_with("sk-ant-");
        let name = if is_anthropic {
            anthropic::NAME
        } else {
            openai::NAME
        };
        Some(name.to_owned())
    };
    by_flags()
        .or_else(|| wanted.base_url.is_some().then(|| openai::NAME.to_owned()))
        .or_else(|| config.provider.clone())
        .or_else(|| of(&config.model))
        .or_else(by_key)
}

/// Returns the first provider with a key.
fn with_key(
    keys: &Credentials,
    vars: &impl Fn(&str) -> Option<OsString>,
) -> Result<Option<String>, CredentialsError> {
    for name in [anthropic::NAME, openai::NAME] {
        if keys.find(name, None, vars)?.is_some() {
            return Ok(Some(name.to_owned()));
        }
    }
    Ok(None)
}

/// Returns the model from the flags, the configuration if it matches this provider, or the
/// provider's default.
fn model(name: &str, wanted: &Wanted, config: &Config, catalogue: &Catalogue) -> Option<String> {
    if let Some(model) = &wanted.model {
        return Some(model.clone());
    }
    let configured = config.model.as_ref().filter(|model| {
        let of = config.provider.as_deref();
        of.or_else(|| catalogue.provider_of(model))
            .is_none_or(|of| of == name)
    });
    let default = match name {
        anthropic::NAME => Some("claude-sonnet-5-5"),
        openai::NAME if wanted.base_url.is_none() => Some("gpt-5.2"),
        _ => None,
    };
    configured.cloned().or_else(|| default.map(str::to_owned))
}
