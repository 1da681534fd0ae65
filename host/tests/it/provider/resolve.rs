//! Choosing the provider and model from flags, configuration and keys.

use std::{ffi::OsString, fs};

use serde_json::{Value, json};
use zot_host::{
    home::Home,
    provider::{ApiKey, Catalogue, ResolveError, Resolved, Wanted, resolve},
};

use zot_protocol::Config;

use super::{CANARY, catalogue};

fn wanted(flags: &Value) -> Wanted {
    let text = |name: &str| flags[name].as_str().map(str::to_owned);
    Wanted {
        provider: text("provider"),
        model: text("model"),
        api_key: text("api_key").map(|key| ApiKey::new(&key).unwrap()),
        base_url: text("base_url"),
        script: text("script").map(Into::into),
    }
}

/// Resolves with API keys for these providers in the environment.
fn with(flags: &Value, config: &Value, keys: &[&str]) -> Result<Resolved, ResolveError> {
    let folder = tempfile::tempdir().unwrap();
    let config = serde_json::from_value(config.clone()).unwrap();
    let vars = |name: &str| {
        let has = keys
            .iter()
            .any(|key| name == format!("{}_API_KEY", key.to_uppercase()));
        has.then(|| OsString::from(CANARY))
    };
    resolve(
        &wanted(flags),
        &config,
        &Home::at(folder.path()),
        &catalogue(),
        vars,
    )
}

fn error(flags: &Value, keys: &[&str]) -> String {
    let resolved = with(flags, &json!({}), keys);
    resolved.err().unwrap().to_string()
}

#[test]
fn the_only_key_selects_the_provider() {
    let resolved = with(&json!({}), &json!({}), &["groq"]).ok().unwrap();
    assert_eq!(resolved.provider.name(), "groq");
    let resolved = with(&json!({}), &json!({}), &["groq", "openai"])
        .ok()
        .unwrap();
    assert_eq!(resolved.provider.name(), "openai");
}

#[test]
fn flags_override_the_configuration_which_overrides_available_keys() {
    let both = ["anthropic", "openai"];
    for (flags, config, keys, provider, model) in [
        (
            json!({}),
            json!({}),
            &both[..],
            "anthropic",
            "claude-sonnet-5-5",
        ),
        (json!({}), json!({}), &["openai"], "openai", "gpt-6.1-sol"),
        (
            json!({}),
            json!({"provider": "openai"}),
            &both,
            "openai",
            "gpt-6.1-sol",
        ),
        (
            json!({}),
            json!({"model": "gpt-4o"}),
            &both,
            "openai",
            "gpt-4o",
        ),
        (
            json!({"model": "gpt-5-2025-08-07"}),
            json!({}),
            &both,
            "openai",
            "gpt-5-2025-08-07",
        ),
        (
            json!({"model": "claude-of-tomorrow"}),
            json!({"provider": "openai"}),
            &both,
            "anthropic",
            "claude-of-tomorrow",
        ),
        // A model configured for another provider is ignored.
        (
            json!({"provider": "anthropic"}),
            json!({"provider": "openai", "model": "gpt-4o"}),
            &both,
            "anthropic",
            "claude-sonnet-5-5",
        ),
        (
            json!({"provider": "anthropic"}),
            json!({"model": "gpt-4o"}),
            &both,
            "anthropic",
            "claude-sonnet-5-5",
        ),
        (
            json!({"provider": "ollama", "model": "qwen3:8b"}),
            json!({}),
            &[],
            "ollama",
            "qwen3:8b",
        ),
        (
            json!({"base_url": "http://localhost:1/v1", "model": "m"}),
            json!({}),
            &[],
            "openai",
            "m",
        ),
        (
            json!({"api_key": "sk-ant-x"}),
            json!({}),
            &[],
            "anthropic",
            "claude-sonnet-5-5",
        ),
        (
            json!({"api_key": "sk-x"}),
            json!({}),
            &[],
            "openai",
            "gpt-6.1-sol",
        ),
        (
            json!({"provider": "demo"}),
            json!({"provider": "openai", "model": "gpt-4o"}),
            &both,
            "demo",
            "demo",
        ),
    ] {
        let resolved =
            with(&flags, &config, keys).unwrap_or_else(|error| panic!("{flags} {config}: {error}"));
        assert_eq!(
            (resolved.provider.name(), &*resolved.model.id),
            (provider, model),
            "{flags} {config} {keys:?}"
        );
    }
}

#[test]
fn missing_settings_are_reported_with_a_hint() {
    let message = error(&json!({}), &[]);
    for word in [
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "zot auth set",
        "--provider demo",
    ] {
        assert!(message.contains(word), "{message}");
    }
    assert_eq!(
        error(&json!({"provider": "openai"}), &["anthropic"]),
        "no API key for openai\nhint: set OPENAI_API_KEY, or run `zot auth set openai`, or try zot without a model: --provider demo"
    );
    assert_eq!(
        error(&json!({"provider": "ollama"}), &[]),
        "no model for ollama\nhint: pass --model NAME; `ollama list` lists the installed models"
    );
    let unknown = error(&json!({"provider": "gemni"}), &[]);
    assert!(
        unknown
            .starts_with("unknown provider `gemni`\nhint: use one of anthropic, openai, ollama,"),
        "{unknown}"
    );
    assert!(
        error(&json!({"base_url": "http://localhost:1"}), &[]).starts_with("no model for openai")
    );
    assert_eq!(
        error(
            &json!({"provider": "openai", "base_url": "ftp://x"}),
            &["openai"]
        ),
        "--base-url: must begin with https:// or http://"
    );
    assert_eq!(
        error(&json!({"provider": "openai", "script": "x"}), &["openai"]),
        "--script cannot be used with openai, only with demo"
    );
    assert!(error(&json!({"script": "/nowhere"}), &[]).starts_with("cannot read script"));
}

#[test]
fn is_no_key_is_true_only_for_a_missing_key() {
    let is_no_key = |flags| with(&flags, &json!({}), &[]).err().unwrap().is_no_key();
    assert!(is_no_key(json!({})));
    assert!(is_no_key(json!({"provider": "anthropic"})));
    assert!(!is_no_key(json!({"provider": "gemni"})));
}

#[test]
fn models_json_is_loaded_and_its_errors_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::at(folder.path());
    assert_eq!(
        Catalogue::load(&home, &Config::default()).1,
        Vec::<String>::new()
    );
    let models =
        json!({"models": [{"provider": "ollama", "id": "q", "context_window": 9}, {"id": "w"}]});
    fs::write(home.models(), models.to_string()).unwrap();
    let (catalogue, faults) = Catalogue::load(&home, &Config::default());
    assert_eq!(catalogue.model("ollama", "q").context_window, 9);
    assert_eq!(faults.len(), 1);
    assert!(
        faults[0].contains("models.json: model 2 (`w`): missing field `provider`"),
        "{}",
        faults[0]
    );
    fs::write(home.models(), vec![b' '; 2 << 20]).unwrap();
    assert!(Catalogue::load(&home, &Config::default()).1[0].contains("larger than"));
}
