//! Model and provider commands: list, switch, log in and log out.

use std::{env, sync::Arc};

use tokio::sync::mpsc;
use zot_host::{
    Runtime,
    provider::{
        ApiKey, Credentials, Endpoint, Resolved, Wanted, base_url, check_key, credentials, demo,
        resolve,
    },
    settings::Settings,
};

use super::{AppOptions, effects::busy};
use crate::{
    clean,
    tui::{
        message::{EffectResult, Message},
        state::{Choice, Level, Picked},
    },
};

/// Lists the models that can be used now, including the current one.
pub(super) async fn list(
    runtime: Runtime,
    options: Arc<AppOptions>,
) -> Result<EffectResult, String> {
    let current = runtime.model().await;
    let known = options.catalogue.models().iter();
    let mut providers: Vec<(&str, bool)> = Vec::new();
    let mut models: Vec<_> = known
        .filter(|model| {
            let name = model.provider.as_str();
            if let Some((_, is_usable)) = providers.iter().find(|(known, _)| *known == name) {
                return *is_usable;
            }
            let is_usable = name == current.provider || options.resolve(name, &model.id).is_ok();
            providers.push((name, is_usable));
            is_usable
        })
        .cloned()
        .collect();
    if !models
        .iter()
        .any(|it| it.provider == current.provider && it.id == current.id)
    {
        models.insert(0, current.clone());
    }
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
    Ok(EffectResult::Choices {
        title: "Model",
        choices: choices.collect(),
        selected: selected.unwrap_or(0),
    })
}

/// Switches to another model.
pub(super) async fn set(
    runtime: Runtime,
    options: Arc<AppOptions>,
    provider: Option<String>,
    id: String,
) -> Result<EffectResult, String> {
    let current = runtime.model().await;
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

impl AppOptions {
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

/// Checks and saves a key. If the demo model is only a fallback, switches to the key's provider.
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
    let base = wanted.base_url.as_deref().unwrap_or(base_url(provider));
    let endpoint = Endpoint::new(base, Some(key.clone())).map_err(|error| error.to_string())?;
    if let Err(error) = check_key(provider, endpoint).await {
        let error = error.to_string();
        let (why, _) = error.split_once("\nhint:").unwrap_or((&error, ""));
        return Err(format!("API key not saved: {why}"));
    }
    let saved = Credentials::of(&options.home).set(provider, &key);
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
    if let Some(variable) = credentials::variable_of(provider)
        && env::var_os(variable).is_some()
    {
        text.push_str(&format!("\n{variable} is still set and will be used"));
    }
    Ok(EffectResult::Notice(Level::Done, text))
}
