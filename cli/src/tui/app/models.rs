//! Who answers: the models there are, another one, and the keys for them.

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

use super::{World, effects::busy};
use crate::{
    clean,
    tui::{
        message::{Did, Message, Model},
        state::{Choice, Level, Picked},
    },
};

/// Those that could answer now, the one in use among them.
pub(super) async fn list(runtime: Runtime, world: Arc<World>) -> Result<Did, String> {
    let current = runtime.model().await;
    let known = world.catalogue.models().iter();
    let mut providers: Vec<(&str, bool)> = Vec::new();
    let mut models: Vec<_> = known
        .filter(|model| {
            let name = model.provider.as_str();
            if let Some((_, there)) = providers.iter().find(|(known, _)| *known == name) {
                return *there;
            }
            let there = name == current.provider || world.resolve(name, &model.id).is_ok();
            providers.push((name, there));
            there
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
    Ok(Did::Choices {
        title: "Model",
        choices: choices.collect(),
        selected: selected.unwrap_or(0),
    })
}

/// Another one answers.
pub(super) async fn set(
    runtime: Runtime,
    world: Arc<World>,
    provider: Option<String>,
    id: String,
) -> Result<Did, String> {
    let current = runtime.model().await;
    let provider = provider
        .or_else(|| world.catalogue.provider_of(&id).map(str::to_owned))
        .unwrap_or_else(|| current.provider.clone());
    if provider == current.provider {
        let model = runtime.set_model(&id).await;
        let model = model.map_err(|error| error.to_string())?;
        return Ok(Did::Model(named(&model)));
    }
    let resolved = world.resolve(&provider, &id)?;
    let model = named(&resolved.model);
    runtime.set_provider(resolved).await.map_err(busy)?;
    Ok(Did::Model(model))
}

fn named(model: &zot_host::provider::Model) -> Model {
    Model {
        provider: model.provider.clone(),
        id: model.id.clone(),
        window: model.context_window,
    }
}

impl World {
    fn resolve(&self, provider: &str, id: &str) -> Result<Resolved, String> {
        let wanted = Wanted {
            model: Some(id.to_owned()),
            ..self.wanted_of(provider)
        };
        self.resolve_wanted(&wanted)
    }

    /// What the flags say holds for the provider that they were given for.
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

/// Tries a key, keeps it, and has its provider answer where the demo stood in.
pub(super) async fn login(
    runtime: Runtime,
    world: Arc<World>,
    provider: String,
    key: ApiKey,
    messages: mpsc::Sender<Message>,
) {
    let kept = keep(&world, &provider, key).await;
    let is_kept = kept.is_ok();
    let _ = messages.send(Message::Login(kept)).await;
    if !is_kept || !world.fell_back || runtime.model().await.provider != demo::NAME {
        return;
    }
    let wanted = world.wanted_of(&provider);
    let did = match world.resolve_wanted(&wanted) {
        Ok(resolved) => {
            let model = named(&resolved.model);
            // Whatever is being done comes to its end with the one that began it.
            runtime.idle().await;
            match runtime.set_provider(resolved).await {
                Ok(()) => Did::Model(model),
                Err(error) => Did::Told(Level::Warning, busy(error)),
            }
        }
        Err(why) => Did::Told(Level::Error, why),
    };
    let _ = messages.send(Message::Did(did)).await;
}

async fn keep(world: &World, provider: &str, key: ApiKey) -> Result<String, String> {
    let wanted = world.wanted_of(provider);
    let base = wanted.base_url.as_deref().unwrap_or(base_url(provider));
    let endpoint = Endpoint::new(base, Some(key.clone())).map_err(|error| error.to_string())?;
    if let Err(error) = check_key(provider, endpoint).await {
        let error = error.to_string();
        let (why, _) = error.split_once("\nhint:").unwrap_or((&error, ""));
        return Err(format!("the key was not kept: {why}"));
    }
    let kept = Credentials::of(&world.home).set(provider, &key);
    kept.map_err(|error| error.to_string())?;
    Ok(format!("kept the key of {provider}"))
}

pub(super) fn logout(world: &World, provider: &str) -> Result<Did, String> {
    let removed = Credentials::of(&world.home).remove(provider);
    let mut text = if removed.map_err(|error| error.to_string())? {
        format!("forgot the key of {provider}")
    } else {
        format!("there is no key of {provider} here")
    };
    if let Some(variable) = credentials::variable_of(provider)
        && env::var_os(variable).is_some()
    {
        text.push_str(&format!("\n{variable} is set, and still counts"));
    }
    Ok(Did::Told(Level::Done, text))
}
