//! Known models: their context windows, reasoning options and prices.

use std::fmt;

use serde::Deserialize;
use serde_json::Value;
use zot_protocol::{Config, ModelConfig, Object, ProviderApi, Reasoning, rpc::ModelInfo};

use super::{Listed, Providers, Tokens};
use crate::{home::Home, untrusted::read_own};

/// The built-in models.
const EMBEDDED: &str = include_str!("models.json");
/// Limits on the size of `models.json` and on its number of models.
const MAX_BYTES: usize = 1024 * 1024;
const MAX_MODELS: usize = 10_000;
/// Providers whose servers run on the user's machine.
const LOCAL: [&str; 3] = [super::openai::OLLAMA, "lmstudio", "llamacpp"];

/// The known models: the built-in ones, changed and extended by the user's `models.json` and
/// `config.json`.
///
/// `models.json` is `{"models": [{"provider": "ollama", "id": "qwen3:8b", …}]}`. All fields except
/// `provider` and `id` are optional and default to those of the known or assumed model:
/// `context_window`, `max_input` and `max_output` in tokens; `retired`, a date; `reasoning`, a
/// [`Thinks`]; `reasoning_off`, the effort that turns reasoning off; `prices` in US dollars per
/// million tokens: `input`, `output`, `cache_read` and `cache_write`; `long`, the price factors
/// `input` and `output` for requests with more than `above` input tokens.
#[derive(Debug, Clone)]
pub struct Catalogue {
    models: Vec<Model>,
    /// Providers that offer another provider's models, as proxies do, each with that provider.
    proxies: Vec<(String, &'static str)>,
}

/// One model.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Model {
    /// The provider.
    pub provider: String,
    /// The provider's id for the model.
    pub id: String,
    /// Size of the context window in tokens.
    pub context_window: u64,
    /// The maximum number of input tokens; `None` if the input can fill the context window.
    pub max_input: Option<u64>,
    /// The maximum number of output tokens.
    pub max_output: u64,
    /// The maximum that the user has set, which is sent with every request; `None` for the server's
    /// own. Providers count the requested maximum towards the rate limit.
    pub output_limit: Option<u64>,
    /// How reasoning is controlled.
    pub thinks: Thinks,
    /// The effort level that turns reasoning off, or the lowest level if none does.
    pub reasoning_off: Option<String>,
    /// Prices; `None` if unknown.
    pub prices: Option<Prices>,
    /// Prices of long requests; `None` if they cost the same.
    pub long: Option<Long>,
    /// The date on which the provider switches it off, such as `2026-11-30`; `None` if unknown.
    pub retired: Option<String>,
    /// Where the model is defined.
    pub source: ModelSource,
}

/// How a model's reasoning is controlled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Thinks {
    /// The model cannot reason.
    #[default]
    None,
    /// With a token budget.
    Budget,
    /// The model decides how much to reason, if reasoning is enabled.
    Adaptive,
    /// The model decides how much to reason, unless reasoning is disabled.
    AdaptiveByDefault,
    /// The model decides how much to reason. Reasoning cannot be disabled.
    AdaptiveAlways,
    /// With an effort level.
    #[serde(alias = "effort_without_tools")]
    Effort,
}

/// US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// Input tokens.
    pub input: f64,
    /// Output tokens.
    pub output: f64,
    /// Cached input; defaults to `input`.
    pub cache_read: Option<f64>,
    /// Writes to the cache; defaults to `input`.
    pub cache_write: Option<f64>,
}

/// Price factors for requests longer than `above`.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Long {
    /// The length threshold in input tokens.
    pub above: u64,
    /// The factor for input.
    pub input: f64,
    /// The factor for output.
    pub output: f64,
}

/// Where a model is defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelSource {
    /// In the built-in list.
    BuiltIn,
    /// In the user's `models.json`.
    File,
    /// In the user's `config.json`.
    Config,
    /// In the list of the provider's server.
    Listed,
    /// Not defined anywhere: its properties are assumed.
    Assumed,
}

impl fmt::Display for ModelSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::BuiltIn => "built in",
            Self::File => "models.json",
            Self::Config => "config.json",
            Self::Listed => "listed by the server",
            Self::Assumed => "assumed",
        })
    }
}

/// A model in a file. Unknown fields are errors, so that a misspelled price is not ignored.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelEntry {
    provider: String,
    id: String,
    context_window: Option<u64>,
    max_output: Option<u64>,
    max_input: Option<u64>,
    reasoning: Option<Thinks>,
    reasoning_off: Option<String>,
    retired: Option<String>,
    prices: Option<Prices>,
    long: Option<Long>,
}

impl Model {
    /// Creates a model of which only the id is known, with the properties of the provider's newest
    /// model if there is one. Its price is unknown.
    fn assumed(newest: Option<&Self>, provider: &str, id: &str) -> Self {
        let base = newest.cloned().unwrap_or_else(|| Self {
            provider: provider.to_owned(),
            id: String::new(),
            // Servers on the user's machine often lack the memory for the model's full context
            // window.
            context_window: if LOCAL.contains(&provider) {
                32_768
            } else {
                128_000
            },
            max_input: None,
            max_output: 8192,
            output_limit: None,
            thinks: Thinks::Effort,
            reasoning_off: None,
            prices: None,
            long: None,
            retired: None,
            source: ModelSource::Assumed,
        });
        Self {
            id: id.to_owned(),
            output_limit: None,
            prices: None,
            long: None,
            retired: None,
            source: ModelSource::Assumed,
            // A different model on a compatible server may not support Claude's form of reasoning.
            thinks: if base.provider == super::anthropic::NAME && !id.starts_with("claude") {
                Thinks::Effort
            } else {
                base.thinks
            },
            ..base
        }
    }

    /// Replaces assumed sizes with those that the server has listed.
    #[must_use]
    pub fn listed(mut self, listed: &Listed) -> Self {
        if self.source != ModelSource::Assumed {
            return self;
        }
        if let Some(tokens) = listed.context_window {
            self.context_window = tokens;
            self.max_input = None;
            self.source = ModelSource::Listed;
        }
        self.max_output = listed.max_output.unwrap_or(self.max_output);
        self
    }

    /// Reports whether the provider has switched it off. `today` is a date such as `2026-11-18`.
    pub fn is_retired(&self, today: &str) -> bool {
        self.retired.as_deref().is_some_and(|date| date <= today)
    }

    /// Returns the warnings to show when the user chooses this model: that its properties are
    /// assumed, or that the provider has switched it off. `today` is a date such as `2026-11-18`.
    pub fn remarks(&self, today: &str) -> Vec<String> {
        let mut remarks = Vec::new();
        let id = self.id.escape_debug();
        if self.source == ModelSource::Assumed {
            let (context, output) = (self.context_window, self.max_output);
            remarks.push(format!(
                "unknown model `{id}`: assuming {context} tokens of context and {output} of output; \
                 if that is wrong, add it to `providers.{}.models` in config.json",
                self.provider
            ));
        }
        if let Some(date) = self.retired.as_deref().filter(|_| self.is_retired(today)) {
            remarks.push(format!("{} retired `{id}` on {date}", self.provider));
        }
        remarks
    }

    /// Returns a warning if the model does not support the requested reasoning level.
    pub fn reasoning_remark(&self, reasoning: Option<Reasoning>) -> Option<String> {
        let id = self.id.escape_debug();
        let off = self.reasoning_off.as_deref();
        match (self.thinks, reasoning?) {
            (Thinks::None, Reasoning::Off) => None,
            (Thinks::None, _) => Some(format!(
                "`{id}` does not reason: the reasoning level has no effect"
            )),
            (Thinks::AdaptiveAlways, Reasoning::Off) => Some(format!(
                "`{id}` always reasons: using its lowest level instead of `off`"
            )),
            (Thinks::Effort, Reasoning::Off) if off != Some("none") => {
                let lowest = off.unwrap_or("low");
                let why = if self.source == ModelSource::Assumed {
                    "cannot turn reasoning off for the unknown model"
                } else {
                    "cannot turn reasoning off for"
                };
                Some(format!("{why} `{id}`: using its lowest level, `{lowest}`"))
            }
            _ => None,
        }
    }

    /// Returns the cost of a call in US dollars, or `None` if unknown.
    pub fn cost(&self, tokens: &Tokens) -> Option<f64> {
        let prices = self.prices?;
        #[expect(clippy::cast_precision_loss, reason = "no call has 2^53 tokens")]
        let of = |count: u64, price: f64| count as f64 * price / 1e6;
        let sent = of(tokens.input, prices.input)
            + of(tokens.cache_read, prices.cache_read.unwrap_or(prices.input))
            + of(
                tokens.cache_write,
                prices.cache_write.unwrap_or(prices.input),
            );
        let received = of(tokens.output, prices.output);
        let length = tokens.input + tokens.cache_read + tokens.cache_write;
        let long = self.long.filter(|long| length > long.above);
        let (input, output) = long.map_or((1.0, 1.0), |long| (long.input, long.output));
        Some(sent * input + received * output)
    }
}

/// Converts a model to the form that drivers receive.
impl From<&Model> for ModelInfo {
    fn from(model: &Model) -> Self {
        let thinks = model.thinks != Thinks::None;
        Self::new(
            &model.id,
            &model.provider,
            model.context_window,
            model.max_output,
            thinks,
        )
    }
}

impl Catalogue {
    /// Returns the built-in models.
    pub fn built_in() -> Self {
        let mut catalogue = Self {
            models: Vec::new(),
            proxies: proxies(&Config::default()),
        };
        let faults = catalogue.extend(EMBEDDED.as_bytes(), ModelSource::BuiltIn);
        debug_assert!(faults.is_empty(), "{faults:?}");
        catalogue
    }

    /// Loads the models: the built-in ones, those of `models.json`, and those of the configuration.
    /// Also returns the problems in the user's entries, one line each; valid entries are used
    /// anyway.
    pub fn load(home: &Home, config: &Config) -> (Self, Vec<String>) {
        let mut catalogue = Self::built_in();
        catalogue.proxies = proxies(config);
        let path = home.models();
        let faults = match read_own(&path, MAX_BYTES) {
            Ok(None) => Vec::new(),
            Ok(Some(bytes)) => catalogue.extend(&bytes, ModelSource::File),
            Err(error) => vec![error.to_string()],
        };
        let with_path = |fault| format!("{}: {fault}", path.display());
        let mut faults: Vec<String> = faults.into_iter().map(with_path).collect();
        for (provider, entry) in &config.providers {
            for model in &entry.models {
                let mut properties = match model {
                    ModelConfig::Id(id) => {
                        Object::from_iter([("id".to_owned(), id.clone().into())])
                    }
                    ModelConfig::Properties(properties) => properties.clone(),
                };
                let id = properties.get("id").and_then(Value::as_str);
                let id = id.unwrap_or("?").escape_debug().to_string();
                properties.insert("provider".to_owned(), provider.clone().into());
                if let Err(fault) = catalogue.add(properties.into(), ModelSource::Config) {
                    let provider = provider.escape_debug();
                    faults.push(format!("config.json: model `{id}` of {provider}: {fault}"));
                }
            }
        }
        (catalogue, faults)
    }

    /// Returns the date of the built-in list.
    pub fn date() -> String {
        let list: Value = serde_json::from_str(EMBEDDED).unwrap_or_default();
        list["date"].as_str().unwrap_or_default().to_owned()
    }

    /// Returns all models, in the order of the files.
    pub fn models(&self) -> &[Model] {
        &self.models
    }

    /// Returns what is known or assumed about a model. Ignores a date after the name (`-20250929`,
    /// `-2025-09-29`) and `-latest`.
    pub fn model(&self, provider: &str, id: &str) -> Model {
        if let Some(known) = self.known(provider, id) {
            return Model {
                id: id.to_owned(),
                ..known.clone()
            };
        }
        let Some(known) = self.origin(provider).and_then(|it| self.known(it, id)) else {
            return self.assumed(provider, id);
        };
        // A proxy sets its own prices, and decides itself when to retire a model.
        Model {
            provider: provider.to_owned(),
            id: id.to_owned(),
            prices: None,
            long: None,
            retired: None,
            ..known.clone()
        }
    }

    fn known(&self, provider: &str, id: &str) -> Option<&Model> {
        let find = |id: &str| {
            let mut models = self.models.iter();
            models.find(|model| model.provider == provider && model.id == id)
        };
        find(id).or_else(|| find(undated(id)?))
    }

    /// Returns the provider whose models a proxy offers, or `None` if this provider is not a proxy.
    fn origin(&self, provider: &str) -> Option<&'static str> {
        let mut proxies = self.proxies.iter();
        proxies
            .find(|(name, _)| name == provider)
            .map(|(_, origin)| *origin)
    }

    fn assumed(&self, provider: &str, id: &str) -> Model {
        let newest = self.newest(provider);
        let newest = newest.or_else(|| self.newest(self.origin(provider)?));
        Model {
            provider: provider.to_owned(),
            ..Model::assumed(newest, provider, id)
        }
    }

    /// Returns a provider's newest model, which is listed first.
    pub fn newest(&self, provider: &str) -> Option<&Model> {
        let mut models = self.models.iter();
        models.find(|model| model.provider == provider)
    }

    /// Returns the provider of a known model, or guesses it from the name.
    pub fn provider_of(&self, id: &str) -> Option<&str> {
        let known = self
            .models
            .iter()
            .find(|model| model.id == id || Some(&*model.id) == undated(id));
        known.map(|model| &*model.provider).or_else(|| {
            let begins = |word| id.starts_with(word);
            if begins("claude-") {
                Some(super::anthropic::NAME)
            } else if begins("gpt-") || begins("chatgpt-") {
                Some(super::openai::NAME)
            } else {
                None
            }
        })
    }

    fn extend(&mut self, bytes: &[u8], source: ModelSource) -> Vec<String> {
        let entries = match serde_json::from_slice(bytes) {
            Ok(Value::Object(mut file)) => match file.remove("models") {
                Some(Value::Array(entries)) => entries,
                _ => return vec!["`models` must be a list".to_owned()],
            },
            Ok(_) => return vec!["must be a JSON object".to_owned()],
            Err(error) => return vec![format!("invalid JSON: {error}")],
        };
        if entries.len() > MAX_MODELS {
            return vec![format!("more than {MAX_MODELS} models")];
        }
        let mut faults = Vec::new();
        for (number, entry) in entries.into_iter().enumerate() {
            let name = entry["id"].as_str().unwrap_or("?").to_owned();
            if let Err(fault) = self.add(entry, source) {
                let name = name.escape_debug();
                faults.push(format!("model {} (`{name}`): {fault}", number + 1));
            }
        }
        faults
    }

    fn add(&mut self, entry: Value, source: ModelSource) -> Result<(), String> {
        let entry: ModelEntry = serde_json::from_value(entry).map_err(|error| error.to_string())?;
        if entry.provider.is_empty() || entry.id.is_empty() {
            return Err("`provider` and `id` must not be empty".to_owned());
        }
        let sizes = [entry.context_window, entry.max_input, entry.max_output];
        if sizes.contains(&Some(0)) {
            let message = "`context_window`, `max_input` and `max_output` must be greater than 0";
            return Err(message.to_owned());
        }
        let prices = entry.prices.iter().flat_map(|prices| {
            let cache = prices.cache_read.into_iter().chain(prices.cache_write);
            [prices.input, prices.output].into_iter().chain(cache)
        });
        let factors = entry.long.iter().flat_map(|long| [long.input, long.output]);
        if prices
            .chain(factors)
            .any(|number| !number.is_finite() || number < 0.0)
        {
            return Err("a price must not be negative".to_owned());
        }
        let known = self
            .models
            .iter()
            .position(|model| model.provider == entry.provider && model.id == entry.id);
        let mut model = match known {
            Some(at) => self.models[at].clone(),
            None => self.model(&entry.provider, &entry.id),
        };
        model.context_window = entry.context_window.unwrap_or(model.context_window);
        model.max_input = entry.max_input.or(model.max_input);
        model.max_output = entry.max_output.unwrap_or(model.max_output);
        if source == ModelSource::BuiltIn {
            // The built-in list states how each model reasons, so assume nothing.
            model.thinks = Thinks::None;
        } else {
            model.output_limit = entry.max_output.or(model.output_limit);
        }
        // An id alone says nothing about the model, so its properties are still assumed.
        let says_nothing =
            source == ModelSource::Config && sizes == [None; 3] && entry.reasoning.is_none();
        let is_assumed = says_nothing && model.source == ModelSource::Assumed;
        model.retired = entry.retired.or(model.retired);
        model.thinks = entry.reasoning.unwrap_or(model.thinks);
        model.reasoning_off = entry.reasoning_off.or(model.reasoning_off);
        model.prices = entry.prices.or(model.prices);
        model.long = entry.long.or(model.long);
        if !is_assumed {
            model.source = source;
        }
        match known {
            Some(at) => self.models[at] = model,
            None => self.models.push(model),
        }
        Ok(())
    }
}

/// Returns the providers that use Anthropic's API or `OpenAI`'s Responses API, each with the
/// provider whose models they are assumed to offer.
fn proxies(config: &Config) -> Vec<(String, &'static str)> {
    let providers = Providers::of(config);
    let specs = providers.names().filter_map(|name| providers.get(name));
    let proxies = specs.filter_map(|spec| {
        let origin = match spec.api {
            ProviderApi::Anthropic => super::anthropic::NAME,
            ProviderApi::OpenaiResponses => super::openai::NAME,
            _ => return None,
        };
        (spec.name != origin).then(|| (spec.name.clone(), origin))
    });
    proxies.collect()
}

/// Returns the name without its date or `-latest`.
fn undated(id: &str) -> Option<&str> {
    if let Some(name) = id.strip_suffix("-latest") {
        return Some(name);
    }
    let is_date = |text: &str| {
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        digits == 8 && (text.len() == 8 || (text.len() == 10 && text.matches('-').count() == 2))
    };
    [8, 10].into_iter().find_map(|length| {
        let (name, date) = id.split_at_checked(id.len().checked_sub(length)?)?;
        is_date(date).then(|| name.strip_suffix('-'))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extended(json: &str) -> (Catalogue, Vec<String>) {
        let mut catalogue = Catalogue::built_in();
        let faults = catalogue.extend(json.as_bytes(), ModelSource::File);
        (catalogue, faults)
    }

    #[test]
    fn the_built_in_list_is_valid() {
        let mut catalogue = Catalogue {
            models: Vec::new(),
            proxies: Vec::new(),
        };
        let faults = catalogue.extend(EMBEDDED.as_bytes(), ModelSource::BuiltIn);
        assert_eq!(faults, Vec::<String>::new());
        for model in catalogue.models() {
            assert!(model.max_output <= model.context_window, "{model:?}");
            assert!(model.prices.is_some(), "{model:?}");
        }
    }

    #[test]
    fn a_date_in_the_id_is_ignored() {
        let catalogue = Catalogue::built_in();
        for id in ["claude-haiku-4-5-20251001", "claude-haiku-4-5-latest"] {
            let model = catalogue.model("anthropic", id);
            assert_eq!((&*model.id, model.source), (id, ModelSource::BuiltIn));
        }
        assert_eq!(catalogue.provider_of("gpt-5-2025-08-07"), Some("openai"));
        assert_eq!(undated("claude-opus-4-5"), None);
        assert_eq!(undated("é20251001"), None);
    }

    #[test]
    fn an_unknown_model_has_no_price() {
        let model = Catalogue::built_in().model("openai", "new-and-shiny");
        assert_eq!(model.source, ModelSource::Assumed);
        assert_eq!(model.cost(&Tokens::default()), None);
    }

    #[test]
    fn a_file_overrides_single_fields() {
        let (catalogue, faults) = extended(
            r#"{"models": [{"provider": "openai", "id": "gpt-5", "max_output": 7},
                {"provider": "ollama", "id": "qwen3:8b", "context_window": 40960, "reasoning": "effort"}]}"#,
        );
        assert_eq!(faults, Vec::<String>::new());
        let model = catalogue.model("openai", "gpt-5");
        assert_eq!((model.max_output, model.context_window), (7, 400_000));
        assert_eq!(model.source, ModelSource::File);
        assert_eq!(catalogue.model("ollama", "qwen3:8b").thinks, Thinks::Effort);
        assert_eq!(catalogue.provider_of("qwen3:8b"), Some("ollama"));
    }

    #[test]
    fn invalid_entries_are_reported_and_the_rest_is_used() {
        let (catalogue, faults) = extended(
            r#"{"models": [{"provider": "x", "id": "a", "prices": {"input": -1, "output": 0}}, 7,
                {"provider": "x", "id": "b", "contxt_window": 5}, {"provider": "x", "id": "c"},
                {"provider": "x", "id": "d", "max_output": 0}]}"#,
        );
        assert_eq!(faults.len(), 4, "{faults:#?}");
        assert!(
            faults[0].starts_with("model 1 (`a`): a price"),
            "{}",
            faults[0]
        );
        assert!(
            faults[2].contains("unknown field `contxt_window`"),
            "{}",
            faults[2]
        );
        assert_eq!(catalogue.model("x", "c").source, ModelSource::File);
        for broken in ["", "[]", "{}", "{\"models\": 1}", "\0\0\0"] {
            assert_eq!(extended(broken).1.len(), 1, "{broken:?}");
        }
    }

    #[test]
    fn the_cost_follows_the_prices() {
        let near = |model: &Model, tokens, dollars: f64| {
            let cost = model.cost(&tokens).unwrap();
            assert!((cost - dollars).abs() < 1e-9, "{cost} is not {dollars}");
        };
        let million = Tokens {
            input: 1_000_000,
            output: 1_000_000,
            cache_read: 1_000_000,
            cache_write: 1_000_000,
        };
        let catalogue = Catalogue::built_in();
        near(
            &catalogue.model("anthropic", "claude-haiku-4-5"),
            million,
            7.35,
        );
        // Long requests cost more, and cached tokens without their own price cost the same as
        // input.
        near(
            &catalogue.model("openai", "gpt-6-sol"),
            million,
            2.0 * (2.0 + 0.2 + 2.5) + 15.0,
        );
        near(
            &catalogue.model("openai", "gpt-4o"),
            million,
            2.5 + 10.0 + 1.25 + 2.5,
        );
    }
}
