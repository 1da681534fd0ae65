//! Chooses the provider and model from flags, configuration and stored keys.

use std::{ffi::OsString, path::PathBuf, sync::Arc};

use zot_protocol::{Config, ModelConfig, ProviderApi};

use super::{
    Anthropic, Catalogue, Credentials, Demo, Endpoint, Model, OpenAi, Provider, ProviderSpec,
    Providers, Responses, UrlError, anthropic,
    credentials::CredentialsError,
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
    #[error("{0}")]
    Provider(String),
    /// No provider is chosen, and no key was found.
    #[error(
        "no provider: no API key found\nhint: set ANTHROPIC_API_KEY, OPENAI_API_KEY or another provider's variable, or run `zot auth set PROVIDER`, \
         or try zot without a model: --provider demo"
    )]
    NoProvider,
    /// The provider needs a key.
    #[error("no API key for {provider}\nhint: {}run `zot auth set {provider}`, or try zot without a model: --provider demo", set(variable.as_deref()))]
    NoKey {
        /// The provider.
        provider: String,
        /// The environment variable for it.
        variable: Option<String>,
    },
    /// The key belongs to a different host.
    #[error(
        "refusing to send {key} to {host}: that key is for a different server\nhint: pass --api-key (any text if the server needs none), \
         or add the server to `providers` in config.json"
    )]
    OtherHost {
        /// The variable that holds the key, or where it is saved.
        key: String,
        /// The host.
        host: String,
    },
    /// The provider has no default base URL, and none is set.
    #[error("no base URL for {provider}\nhint: pass --base-url{}", variable.map_or_else(String::new, |name| format!(", or set {name}")))]
    NoBaseUrl {
        /// The provider.
        provider: String,
        /// The environment variable for it.
        variable: Option<&'static str>,
    },
    /// The provider has no default model.
    #[error("no model for {provider}\nhint: pass --model NAME{}", installed(.provider))]
    NoModel {
        /// The provider.
        provider: String,
    },
    /// The base URL is invalid.
    #[error("{from}: {error}")]
    BaseUrl {
        /// Where the URL comes from.
        from: String,
        /// What is wrong with it.
        error: UrlError,
    },
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

fn set(variable: Option<&str>) -> String {
    variable.map_or_else(String::new, |variable| format!("set {variable}, or "))
}

fn installed(provider: &str) -> String {
    if provider == openai::OLLAMA {
        "; `ollama list` lists the installed models".to_owned()
    } else {
        format!("; `zot --list-models --provider {provider}` lists its models")
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
    let (keys, providers) = (Credentials::of(home), Providers::of(config));
    let name = match provider(wanted, config, catalogue) {
        Some(name) => name,
        None => with_key(&keys, &providers, &vars)?.ok_or(ResolveError::NoProvider)?,
    };
    if name == demo::NAME {
        return demo(wanted, catalogue);
    }
    let Some(spec) = providers.get(&name) else {
        return Err(ResolveError::Provider(providers.unknown(&name)));
    };
    if wanted.script.is_some() {
        return Err(flag("--script", "demo", name));
    }
    let (endpoint, is_own_url) = endpoint(wanted, spec, &keys, &vars)?;
    let id = model(&name, wanted, config, catalogue).ok_or_else(|| ResolveError::NoModel {
        provider: name.clone(),
    })?;
    let model = catalogue.model(&name, &id);
    let catalogue = Arc::clone(catalogue);
    let provider: Box<dyn Provider> = match spec.api {
        ProviderApi::Anthropic => Box::new(Anthropic::new(&name, endpoint, catalogue)),
        api => {
            let responses = match api {
                ProviderApi::OpenaiResponses if is_own_url => Responses::Always,
                ProviderApi::OpenaiResponses => Responses::KnownModels,
                _ => Responses::Never,
            };
            Box::new(OpenAi::new(&name, endpoint, catalogue, responses))
        }
    };
    Ok(Resolved { provider, model })
}

fn demo(wanted: &Wanted, catalogue: &Catalogue) -> Result<Resolved, ResolveError> {
    if wanted.base_url.is_some() {
        let of = "providers that have a server";
        return Err(flag("--base-url", of, demo::NAME.to_owned()));
    }
    let demo = match &wanted.script {
        Some(path) => Demo::with_script(Script::read(path)?),
        None => Demo::new(),
    };
    Ok(Resolved {
        provider: Box::new(demo),
        model: catalogue.model(demo::NAME, demo::NAME),
    })
}

/// Returns where to send requests, with the key, and whether that is the provider's own URL. A key
/// goes only to the host that it belongs to: a stored key to the server that it was saved for, and
/// a key from the environment to the provider's own URL or to the base URL from the environment.
fn endpoint(
    wanted: &Wanted,
    spec: &ProviderSpec,
    keys: &Credentials,
    vars: &impl Fn(&str) -> Option<OsString>,
) -> Result<(Endpoint, bool), ResolveError> {
    let parse = |url: &str, from: &str| {
        Endpoint::new(url, None).map_err(|error| ResolveError::BaseUrl {
            from: from.to_owned(),
            error,
        })
    };
    let own = spec.base_url.as_deref();
    let own = own
        .map(|url| parse(url, &format!("the base URL of {}", spec.name)))
        .transpose()?;
    let variable = spec.base_url_env.and_then(|name| {
        let value = vars(name).filter(|value| !value.is_empty())?;
        let url = spec.complete_base_url(&value.to_string_lossy());
        Some(parse(&url, name))
    });
    let variable = variable.transpose()?;
    let is_own = |endpoint: &Endpoint| own.as_ref().is_some_and(|own| own.has_origin_of(endpoint));
    let is_variable = |endpoint: &Endpoint| {
        let mut variable = variable.iter();
        variable.any(|variable| variable.has_origin_of(endpoint))
    };
    let mut endpoint = match (&wanted.base_url, &variable, &own) {
        (Some(url), ..) => parse(url, "--base-url")?,
        (None, Some(endpoint), _) | (None, None, Some(endpoint)) => endpoint.clone(),
        (None, None, None) => {
            return Err(ResolveError::NoBaseUrl {
                provider: spec.name.clone(),
                variable: spec.base_url_env,
            });
        }
    };
    let is_own_url = is_own(&endpoint);
    endpoint.key = match &wanted.api_key {
        Some(key) => Some(key.clone()),
        None => match keys.find(spec, vars)? {
            Some(found) => {
                let fits = match (&found.variable, &found.origin, spec.built_in_url) {
                    (None, Some(origin), _) => *origin == endpoint.origin(),
                    (None, None, Some(url)) => parse(url, &spec.name)?.has_origin_of(&endpoint),
                    _ => is_own_url || is_variable(&endpoint),
                };
                if !fits {
                    let name = found.variable.map(str::to_owned);
                    return Err(ResolveError::OtherHost {
                        key: name.unwrap_or_else(|| format!("the saved API key for {}", spec.name)),
                        host: endpoint.host(),
                    });
                }
                Some(found.key)
            }
            // With --base-url, the user decides whether the server needs a key.
            None if spec.needs_key && wanted.base_url.is_none() => {
                return Err(ResolveError::NoKey {
                    provider: spec.name.clone(),
                    variable: spec.key_env.clone(),
                });
            }
            None => None,
        },
    };
    // If a provider has no base URL, the one from its variable counts as its own.
    let is_own_url = is_own_url || (own.is_none() && is_variable(&endpoint));
    Ok((endpoint, is_own_url))
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

/// Returns the first provider with a key: Anthropic, then `OpenAI`, then the others in the order of
/// the list.
fn with_key(
    keys: &Credentials,
    providers: &Providers,
    vars: &impl Fn(&str) -> Option<OsString>,
) -> Result<Option<String>, CredentialsError> {
    let first = [anthropic::NAME, openai::NAME];
    for name in first.into_iter().chain(providers.names()) {
        if let Some(spec) = providers.get(name)
            && keys.find(spec, vars)?.is_some()
        {
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
    let of_config = || match config.providers.get(name)?.models.first()? {
        ModelConfig::Id(id) => Some(id.clone()),
        ModelConfig::Properties(model) => model.get("id")?.as_str().map(str::to_owned),
    };
    // A different server may not have the provider's newest model.
    let newest = || {
        let newest = catalogue.newest(name)?;
        wanted.base_url.is_none().then(|| newest.id.clone())
    };
    configured.cloned().or_else(of_config).or_else(newest)
}
