//! The model providers by name: the built-in ones, and those of the user's `config.json`.

use zot_protocol::{Config, ProviderApi, ProviderConfig};

use super::{anthropic, openai};

/// A provider that can be chosen by name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProviderSpec {
    /// The name, such as `groq`.
    pub name: String,
    /// The API.
    pub api: ProviderApi,
    /// The base URL; `None` if it depends on the user's account.
    pub base_url: Option<String>,
    /// The built-in base URL, even if the configuration sets another one; `None` if there is none.
    pub built_in_url: Option<&'static str>,
    /// The environment variable that can hold the base URL.
    pub base_url_env: Option<&'static str>,
    /// The environment variable that can hold the key.
    pub key_env: Option<String>,
    /// Whether the server accepts only requests with a key.
    pub needs_key: bool,
}

/// Name, API, base URL and the variable for the key. Servers without a variable need no key.
type BuiltIn = (
    &'static str,
    ProviderApi,
    Option<&'static str>,
    Option<&'static str>,
);

const BUILT_IN: [BuiltIn; 12] = {
    use ProviderApi::{Anthropic, Openai, OpenaiResponses};
    [
        (
            anthropic::NAME,
            Anthropic,
            Some(anthropic::BASE_URL),
            Some("ANTHROPIC_API_KEY"),
        ),
        (
            openai::NAME,
            OpenaiResponses,
            Some(openai::BASE_URL),
            Some("OPENAI_API_KEY"),
        ),
        (openai::OLLAMA, Openai, Some(openai::OLLAMA_BASE_URL), None),
        (
            "openrouter",
            Openai,
            Some("https://openrouter.ai/api/v1"),
            Some("OPENROUTER_API_KEY"),
        ),
        (
            "groq",
            Openai,
            Some("https://api.groq.com/openai/v1"),
            Some("GROQ_API_KEY"),
        ),
        (
            "mistral",
            Openai,
            Some("https://api.mistral.ai/v1"),
            Some("MISTRAL_API_KEY"),
        ),
        (
            "deepseek",
            Openai,
            Some("https://api.deepseek.com/v1"),
            Some("DEEPSEEK_API_KEY"),
        ),
        (
            "gemini",
            Openai,
            Some("https://generativelanguage.googleapis.com/v1beta/openai"),
            Some("GEMINI_API_KEY"),
        ),
        (
            "xai",
            Openai,
            Some("https://api.x.ai/v1"),
            Some("XAI_API_KEY"),
        ),
        ("lmstudio", Openai, Some("http://localhost:1234/v1"), None),
        ("llamacpp", Openai, Some("http://localhost:8080/v1"), None),
        ("azure", OpenaiResponses, None, Some("AZURE_OPENAI_API_KEY")),
    ]
};

/// For each provider whose base URL can come from the environment: its name, the variable, and the
/// path to append.
const BASE_URL_VARIABLES: [(&str, &str, &str); 3] = [
    (anthropic::NAME, "ANTHROPIC_BASE_URL", ""),
    (openai::NAME, "OPENAI_BASE_URL", ""),
    ("azure", "AZURE_OPENAI_ENDPOINT", "/openai/v1"),
];

/// The providers that can be chosen by name.
#[derive(Debug, Clone)]
pub struct Providers(Vec<ProviderSpec>);

impl Providers {
    /// Returns the built-in providers, changed and extended by the configuration.
    pub fn of(config: &Config) -> Self {
        let built_in = BUILT_IN.map(|(name, api, base_url, key_env)| ProviderSpec {
            name: name.to_owned(),
            api,
            base_url: base_url.map(str::to_owned),
            built_in_url: base_url,
            base_url_env: variable(name).map(|(_, variable, _)| *variable),
            key_env: key_env.map(str::to_owned),
            needs_key: key_env.is_some(),
        });
        let mut providers = Self(built_in.to_vec());
        for (name, entry) in &config.providers {
            providers.add(name, entry);
        }
        providers
    }

    fn add(&mut self, name: &str, entry: &ProviderConfig) {
        let at = self.0.iter().position(|spec| spec.name == name);
        let at = at.unwrap_or_else(|| {
            self.0.push(ProviderSpec {
                name: name.to_owned(),
                api: ProviderApi::Openai,
                base_url: None,
                built_in_url: None,
                base_url_env: None,
                key_env: None,
                needs_key: false,
            });
            self.0.len() - 1
        });
        let spec = &mut self.0[at];
        spec.api = entry.api.unwrap_or(spec.api);
        if entry.base_url.is_some() {
            spec.base_url.clone_from(&entry.base_url);
            // The file is more specific than the environment.
            spec.base_url_env = None;
            // The built-in provider's variable holds a key for the built-in URL, so do not use it.
            spec.key_env.clone_from(&entry.key_env);
            spec.needs_key = entry.key_env.is_some();
        } else if entry.key_env.is_some() {
            spec.key_env.clone_from(&entry.key_env);
            spec.needs_key = true;
        }
    }

    /// Returns the provider with this name.
    pub fn get(&self, name: &str) -> Option<&ProviderSpec> {
        self.0.iter().find(|spec| spec.name == name)
    }

    /// Returns the names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|spec| &*spec.name)
    }

    /// Returns the error message for an unknown name.
    pub fn unknown(&self, name: &str) -> String {
        let known: Vec<&str> = self.names().collect();
        format!(
            "unknown provider `{}`\nhint: use one of {}, or add it to `providers` in config.json",
            name.escape_debug(),
            known.join(", ")
        )
    }

    /// Returns the environment variables that can hold keys. Child processes do not inherit them.
    pub fn key_variables(&self) -> impl Iterator<Item = &str> {
        // Include a built-in provider's original variable even if the configuration names another
        // one: it still holds a secret.
        let built_in = BUILT_IN.iter().filter_map(|(.., key_env)| *key_env);
        let own = self.0.iter().filter_map(|spec| spec.key_env.as_deref());
        built_in.chain(own)
    }

    /// Returns the environment variable for a provider's key.
    pub fn key_variable(&self, name: &str) -> Option<&str> {
        self.get(name)?.key_env.as_deref()
    }
}

impl ProviderSpec {
    /// Appends the path that a base URL from the environment may lack.
    pub(super) fn complete_base_url(&self, base_url: &str) -> String {
        let path = variable(&self.name).map_or("", |(.., path)| path);
        let base_url = base_url.trim_end_matches('/');
        if base_url.ends_with(path) {
            base_url.to_owned()
        } else {
            format!("{base_url}{path}")
        }
    }
}

fn variable(name: &str) -> Option<&'static (&'static str, &'static str, &'static str)> {
    BASE_URL_VARIABLES.iter().find(|(of, ..)| *of == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn with(providers: &serde_json::Value) -> Providers {
        let config = serde_json::json!({"providers": providers});
        Providers::of(&serde_json::from_value(config).unwrap())
    }

    #[test]
    fn an_entry_adds_a_provider_or_changes_a_built_in_one() {
        let providers = with(&serde_json::json!({
            "lab": {"base_url": "https://lab.example/v1", "key_env": "LAB_KEY"},
            "local": {"api": "anthropic", "base_url": "http://localhost:1"},
            "groq": {"key_env": "TEAM_GROQ_KEY"},
            "openai": {"base_url": "https://proxy.example/v1"},
        }));
        let lab = providers.get("lab").unwrap();
        assert_eq!((lab.api, lab.needs_key), (ProviderApi::Openai, true));
        let local = providers.get("local").unwrap();
        assert_eq!(
            (local.api, local.needs_key),
            (ProviderApi::Anthropic, false)
        );
        assert_eq!(providers.key_variable("groq"), Some("TEAM_GROQ_KEY"));
        assert_eq!(
            providers.key_variable("openai"),
            None,
            "OPENAI_API_KEY is not for another host"
        );
        for variable in ["LAB_KEY", "TEAM_GROQ_KEY", "GROQ_API_KEY", "OPENAI_API_KEY"] {
            assert!(providers.key_variables().any(|it| it == variable));
        }
    }

    #[test]
    fn the_protocol_lists_the_key_variables_of_the_built_in_providers() {
        let providers = Providers::of(&Config::default());
        let variables: BTreeSet<&str> = providers.key_variables().collect();
        assert_eq!(variables, BTreeSet::from(zot_protocol::KEY_VARIABLES));
    }
}
