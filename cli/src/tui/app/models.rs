//! Model and provider commands: list, switch, log in and log out.

use std::{env, sync::Arc};

use tokio::sync::mpsc;
use zot_host::{
    Runtime, clock,
    provider::{
        ApiKey, Credentials, Endpoint, Providers, Resolved, Wanted, demo, list_models, resolve,
    },
    settings::Settings,
};

use super::{AppOptions, effects::busy};
use crate::{
    clean,
    tui::{
        message::{EffectResult, Message},
        state::{Choice, Level, Picked, Picker},
    },
};

/// Lists the models that can be used now, including the current one.
pub(super) async fn list(
    runtime: Runtime,
    options: Arc<AppOptions>,
) -> Result<EffectResult, String> {
    let current = runtime.model().await;
    let today = &clock::now()[..10];
    let mut models = runtime.models().await;
    let known = options.catalogue.models().iter();
    let mut providers: Vec<(&str, bool)> = Vec::new();
    let others = known.filter(|model| {
        let name = model.provider.as_str();
        if name == current.provider || model.is_retired(today) {
            return false;
        }
        if let Some((_, is_usable)) = providers.iter().find(|(known, _)| *known == name) {
            return *is_usable;
        }
        let is_usable = options.resolve(name, &model.id).is_ok();
        providers.push((name, is_usable));
        is_usable
    });
    models.extend(others.cloned());
    let selected = models
        .iter()
        .position(|it| it.provider == current.provider && it.id == current.id);
    let choices = models.into_iter().map(|model| Choice {
        label: clean::line(&model.id),
        detail: format!(
            "{} · {}k",
            clean::line(&model.provider),
            model.context_window / 1_000
        ),
        picked: Picked::Model {
            provider: model.provider,
            id: model.id,
        },
    });
    let picker = Picker::new("Model", choices.collect(), selected.unwrap_or(0));
    Ok(EffectResult::Choices(picker, "no models found"))
}

/// Switches to another model. If `provider` is `None`, `id` is `NAME`, `PROVIDER NAME` or
/// `PROVIDER/NAME`.
pub(super) async fn set(
    runtime: Runtime,
    options: Arc<AppOptions>,
    provider: Option<String>,
    id: String,
) -> Result<EffectResult, String> {
    let current = runtime.model().await;
    let (provider, id) = match provider {
        Some(provider) => (Some(provider), id),
        // Some providers have ids that begin with another provider's name, such as
        // `openai/gpt-oss-120b`.
        None if id.contains('/') && runtime.models().await.iter().any(|it| it.id == id) => {
            (Some(current.provider.clone()), id)
        }
        None => split(&id, &options.providers()),
    };
    let provider = provider
        .or_else(|| options.catalogue.provider_of(&id).map(str::to_owned))
        .unwrap_or_else(|| current.provider.clone());
    if provider == current.provider {
        let model = runtime.set_model(&id).await;
        let model = model.map_err(|error| error.to_string())?;
        return Ok(EffectResult::Model(Box::new(model)));
    }
    let resolved = options.resolve(&provider, &id)?;
    let model = resolved.model.clone();
    runtime.set_provider(resolved).await.map_err(busy)?;
    Ok(EffectResult::Model(Box::new(model)))
}

/// Splits off the provider if the text begins with a provider's name.
fn split(text: &str, providers: &Providers) -> (Option<String>, String) {
    let words = text
        .split_once(char::is_whitespace)
        .or_else(|| text.split_once('/'));
    match words {
        Some((name, id)) if name == demo::NAME || providers.get(name).is_some() => {
            (Some(name.to_owned()), id.trim().to_owned())
        }
        _ => (None, text.to_owned()),
    }
}

impl AppOptions {
    fn providers(&self) -> Providers {
        Providers::of(&Settings::load_quietly(&self.home))
    }

    fn resolve(&self, provider: &str, id: &str) -> Result<Resolved, String> {
        let wanted = Wanted {
            model: Some(id.to_owned()),
            ..self.wanted_of(provider)
        };
        self.resolve_wanted(&wanted)
    }

    /// Returns the provider settings for `provider`. Command-line flags apply only to the provider
    /// that they were given for.
    fn wanted_of(&self, provider: &str) -> Wanted {
        let named = self.wanted.provider.as_deref();
        let given = if named.unwrap_or(&self.provider) == provider {
            self.wanted.clone()
        } else {
            Wanted::default()
        };
        Wanted {
            provider: Some(provider.to_owned()),
            ..given
        }
    }

    fn resolve_wanted(&self, wanted: &Wanted) -> Result<Resolved, String> {
        let config = Settings::load(&self.home).config;
        let found = resolve(wanted, &config, &self.home, &self.catalogue, |name| {
            env::var_os(name)
        });
        found.map_err(|error| error.to_string())
    }
}

/// Checks and saves an API key. If the demo model is only a fallback, switches to the key's
/// provider.
pub(super) async fn login(
    runtime: Runtime,
    options: Arc<AppOptions>,
    provider: String,
    key: ApiKey,
    messages: mpsc::Sender<Message>,
) {
    let saved = check_and_save(&options, &provider, key).await;
    let is_saved = saved.is_ok();
    let _ = messages.send(Message::Login(saved)).await;
    if !is_saved || !options.fell_back || runtime.model().await.provider != demo::NAME {
        return;
    }
    let wanted = options.wanted_of(&provider);
    let result = match options.resolve_wanted(&wanted) {
        Ok(resolved) => {
            let model = resolved.model.clone();
            // A running turn must keep its provider, so wait until the turn ends.
            runtime.idle().await;
            match runtime.set_provider(resolved).await {
                Ok(()) => EffectResult::Model(Box::new(model)),
                Err(error) => EffectResult::Notice(Level::Warning, busy(error)),
            }
        }
        Err(why) => EffectResult::Notice(Level::Error, why),
    };
    let _ = messages.send(Message::EffectDone(result)).await;
}

async fn check_and_save(
    options: &AppOptions,
    provider: &str,
    key: ApiKey,
) -> Result<String, String> {
    let wanted = options.wanted_of(provider);
    let providers = options.providers();
    let spec = providers
        .get(provider)
        .ok_or_else(|| providers.unknown(provider))?;
    // If the provider's URL depends on the account, save the key without checking it.
    let base_url = wanted.base_url.as_ref().or(spec.base_url.as_ref());
    let endpoint = base_url.map(|base_url| Endpoint::new(base_url, Some(key.clone())));
    let endpoint = endpoint.transpose().map_err(|error| error.to_string())?;
    if let Some(endpoint) = endpoint.clone()
        && let Err(error) = list_models(provider, spec.api, endpoint).await
    {
        let error = error.to_string();
        let (why, _) = error.split_once("\nhint:").unwrap_or((&error, ""));
        return Err(format!("API key not saved: {why}"));
    }
    let saved = Credentials::of(&options.home).set(provider, &key, endpoint.as_ref());
    saved.map_err(|error| error.to_string())?;
    Ok(format!("saved API key for {provider}"))
}

pub(super) fn logout(options: &AppOptions, provider: &str) -> Result<EffectResult, String> {
    let removed = Credentials::of(&options.home).remove(provider);
    let mut text = if removed.map_err(|error| error.to_string())? {
        format!("removed API key for {provider}")
    } else {
        format!("no saved API key for {provider}")
    };
    if let Some(variable) = options.providers().key_variable(provider)
        && env::var_os(variable).is_some()
    {
        text.push_str(&format!("\n{variable} is still set and will be used"));
    }
    Ok(EffectResult::Notice(Level::Done, text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_name_of_a_model_can_begin_with_its_provider() {
        let config = json!({"providers": {"lab": {"base_url": "http://localhost:1/v1"}}});
        let config = serde_json::from_value(config).expect("a configuration");
        let providers = Providers::of(&config);
        for (text, provider, id) in [
            ("opus", None, "opus"),
            ("openai gpt", Some("openai"), "gpt"),
            ("ollama/llama", Some("ollama"), "llama"),
            ("groq/meta/llama", Some("groq"), "meta/llama"),
            ("lab  qwen", Some("lab"), "qwen"),
            ("demo/demo", Some("demo"), "demo"),
            ("meta/llama", None, "meta/llama"),
        ] {
            let expected = (provider.map(str::to_owned), id.to_owned());
            assert_eq!(split(text, &providers), expected, "{text}");
        }
    }
}
