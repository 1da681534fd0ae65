//! Choosing the provider and model from flags, configuration and keys.

use std::{ffi::OsString, fs};

use serde_json::{Value, json};
use zot_host::{
    home::Home,
    provider::{ApiKey, Catalogue, ResolveError, Resolved, Wanted, resolve},
};

use zot_protocol::{Config, Reasoning};

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

fn loaded(config: &Value) -> Catalogue {
    let folder = tempfile::tempdir().unwrap();
    let config = serde_json::from_value(config.clone()).unwrap();
    let (catalogue, faults) = Catalogue::load(&Home::at(folder.path()), &config);
    assert_eq!(faults, [""; 0]);
    catalogue
}

#[test]
fn a_proxy_offers_the_known_models_without_their_prices() {
    let catalogue = loaded(&json!({"providers": {
        "claude-proxy": {"api": "anthropic", "base_url": "https://proxy.example.com", "models": ["claude-opus-5"]},
        "chat": {"base_url": "https://chat.example.com"},
    }}));
    let real = catalogue.model("anthropic", "claude-opus-5");
    let model = catalogue.model("claude-proxy", "claude-opus-5");
    assert_eq!(
        (
            model.context_window,
            model.max_output,
            model.thinks,
            model.prices
        ),
        (real.context_window, real.max_output, real.thinks, None)
    );
    assert_eq!(model.remarks("2026-11-19"), [""; 0]);
    let budget = catalogue.model("claude-proxy", "claude-haiku-4-5");
    assert_eq!(
        budget.thinks,
        catalogue.model("anthropic", "claude-haiku-4-5").thinks
    );
    let azure = catalogue.model("azure", "gpt-5.4");
    assert_eq!((azure.context_window, azure.prices), (1_050_000, None));
    // Any model can be behind Chat Completions.
    let chat = catalogue.model("chat", "claude-opus-5");
    assert_eq!(chat.remarks("2026-11-19").len(), 1, "{chat:?}");
}

#[test]
fn a_model_of_config_json_without_sizes_is_still_unknown() {
    let catalogue = loaded(&json!({"providers": {"lab": {
        "base_url": "https://llm.example.com/v1",
        "models": ["qwen", {"id": "llama", "context_window": 9000}],
    }}}));
    let remarks = |id: &str| catalogue.model("lab", id).remarks("2026-11-19");
    assert!(remarks("qwen")[0].starts_with("unknown model `qwen`: assuming"));
    assert_eq!(remarks("llama"), [""; 0]);
    assert_eq!(catalogue.model("lab", "llama").context_window, 9000);
    assert_eq!(catalogue.newest("lab").unwrap().id, "qwen", "the default");
}

#[test]
fn a_retired_model_is_marked_from_its_date_on() {
    let model = Catalogue::built_in().model("anthropic", "claude-sonnet-4-5");
    assert_eq!(model.remarks("2026-11-29"), [""; 0]);
    assert_eq!(
        model.remarks("2026-11-30"),
        ["anthropic retired `claude-sonnet-4-5` on 2026-11-30"]
    );
}

#[test]
fn a_reasoning_level_that_a_model_does_not_have_is_reported() {
    let catalogue = loaded(&json!({}));
    for (provider, id, reasoning, remark) in [
        ("openai", "gpt-4o", Reasoning::High, "does not reason"),
        (
            "openai",
            "gpt-6.1-sol",
            Reasoning::Off,
            "cannot turn reasoning off for `gpt-6.1-sol`",
        ),
        (
            "groq",
            "model-of-tomorrow",
            Reasoning::Off,
            "for the unknown model",
        ),
        (
            "anthropic",
            "claude-sonnet-5-5",
            Reasoning::Off,
            "always reasons",
        ),
    ] {
        let model = catalogue.model(provider, id);
        let said = model.reasoning_remark(Some(reasoning)).unwrap_or_default();
        assert!(said.contains(remark), "{id}: {said}");
    }
    let model = catalogue.model("openai", "gpt-6-sol");
    assert_eq!(model.reasoning_remark(Some(Reasoning::Off)), None);
}
