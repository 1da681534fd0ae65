//! What is known of models: how much they take, how they think, what they cost.

use std::{fmt, io::Read, path::Path};

use serde::Deserialize;
use serde_json::Value;
use zot_protocol::rpc::ModelInfo;

use super::Tokens;
use crate::{
    home::Home,
    untrusted::{Follow, open_regular},
};

/// The models that came with the program.
const EMBEDDED: &str = include_str!("models.json");
/// More than any list of models.
const MOST_BYTES: u64 = 1024 * 1024;
const MOST_MODELS: usize = 10_000;

/// The known models: those that came with the program, changed and extended by the user's `models.json`.
///
/// The file is `{"models": [{"provider": "ollama", "id": "qwen3:8b", …}]}`. Of each model all but `provider` and `id` may be
/// left out, and is then as it came with the program: `context_window` and `max_output` in tokens; `reasoning`, a [`Thinks`];
/// `reasoning_off`, the effort that stands for none; `prices` in US dollars per million tokens, `input`, `output`,
/// `cache_read`, `cache_write`; `long` with `above` (tokens sent) and the factors `input` and `output` for requests above it.
#[derive(Debug, Clone)]
pub struct Catalogue {
    models: Vec<Model>,
}

/// One model.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Model {
    /// The provider.
    pub provider: String,
    /// The provider's name for it.
    pub id: String,
    /// How many tokens it can take in.
    pub context_window: u64,
    /// How many tokens it can give out at most.
    pub max_output: u64,
    /// How it is told to think.
    pub thinks: Thinks,
    /// The effort that stands for no thinking, or the least that it can.
    pub reasoning_off: Option<String>,
    /// What it costs; `None`: not known.
    pub prices: Option<Prices>,
    /// What long requests cost; `None`: as others.
    pub long: Option<Long>,
    /// Who says so.
    pub source: Source,
}

/// How a model is told to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Thinks {
    /// Not at all.
    #[default]
    None,
    /// By a budget of tokens.
    Budget,
    /// As much as it finds right, when asked to.
    Adaptive,
    /// Likewise, unless asked not to.
    AdaptiveByDefault,
    /// Likewise, and it cannot be asked not to.
    AdaptiveAlways,
    /// By an effort.
    Effort,
    /// By an effort, but not in a request with tools.
    EffortWithoutTools,
}

/// US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// Sent.
    pub input: f64,
    /// Received.
    pub output: f64,
    /// Read from the cache; absent: as `input`.
    pub cache_read: Option<f64>,
    /// Written to the cache; absent: as `input`.
    pub cache_write: Option<f64>,
}

/// What requests above a length cost, in multiples.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Long {
    /// The length, in tokens sent.
    pub above: u64,
    /// The factor for everything sent.
    pub input: f64,
    /// The factor for everything received.
    pub output: f64,
}

/// Who says what is known of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// It came with the program.
    BuiltIn,
    /// The user's `models.json`.
    File,
    /// Nobody: it is assumed.
    Assumed,
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::BuiltIn => "built in",
            Self::File => "models.json",
            Self::Assumed => "assumed",
        })
    }
}

/// A model as a file has it. Unknown fields are refused: a misspelled price would be none.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    provider: String,
    id: String,
    context_window: Option<u64>,
    max_output: Option<u64>,
    reasoning: Option<Thinks>,
    reasoning_off: Option<String>,
    prices: Option<Prices>,
    long: Option<Long>,
}

impl Model {
    /// What nobody knows anything about: little enough for any model of today, and no price.
    fn assumed(provider: &str, id: &str) -> Self {
        Self {
            provider: provider.to_owned(),
            id: id.to_owned(),
            context_window: if provider == super::openai::OLLAMA {
                32_768
            } else {
                128_000
            },
            max_output: 8192,
            thinks: Thinks::None,
            reasoning_off: None,
            prices: None,
            long: None,
            source: Source::Assumed,
        }
    }

    /// What a call has cost, in US dollars; `None`: not known.
    pub fn cost(&self, tokens: &Tokens) -> Option<f64> {
        let prices = self.prices?;
        #[expect(clippy::cast_precision_loss, reason = "nobody pays for 2^53 tokens")]
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

/// As a driver sees it.
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
    /// The models that came with the program.
    pub fn built_in() -> Self {
        let mut catalogue = Self { models: Vec::new() };
        let faults = catalogue.extend(EMBEDDED.as_bytes(), Source::BuiltIn);
        debug_assert!(faults.is_empty(), "{faults:?}");
        catalogue
    }

    /// The models, and what is wrong with the user's file, one line each. What is right in it counts all the same.
    pub fn load(home: &Home) -> (Self, Vec<String>) {
        let mut catalogue = Self::built_in();
        let path = home.models();
        let faults = match read(&path) {
            Ok(None) => Vec::new(),
            Ok(Some(bytes)) => catalogue.extend(&bytes, Source::File),
            Err(fault) => vec![fault],
        };
        let told = |fault| format!("{}: {fault}", path.display());
        (catalogue, faults.into_iter().map(told).collect())
    }

    /// All of them, in the order of the files.
    pub fn models(&self) -> &[Model] {
        &self.models
    }

    /// What is known of a model, or assumed. A date after the name (`-20250929`, `-2025-09-29`) and `-latest` are the
    /// model without them.
    pub fn model(&self, provider: &str, id: &str) -> Model {
        let find = |id: &str| {
            let mut models = self.models.iter();
            models.find(|model| model.provider == provider && model.id == id)
        };
        let Some(known) = find(id).or_else(|| find(undated(id)?)) else {
            return Model::assumed(provider, id);
        };
        Model {
            id: id.to_owned(),
            ..known.clone()
        }
    }

    /// The provider of a model, where the model is known, or its name says it.
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

    fn extend(&mut self, bytes: &[u8], source: Source) -> Vec<String> {
        let entries = match serde_json::from_slice(bytes) {
            Ok(Value::Object(mut file)) => match file.remove("models") {
                Some(Value::Array(entries)) => entries,
                _ => return vec!["it has no list `models`".to_owned()],
            },
            Ok(_) => return vec!["it is not an object".to_owned()],
            Err(error) => return vec![format!("it is not JSON: {error}")],
        };
        if entries.len() > MOST_MODELS {
            return vec![format!("it has more than {MOST_MODELS} models")];
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

    fn add(&mut self, entry: Value, source: Source) -> Result<(), String> {
        let entry: Entry = serde_json::from_value(entry).map_err(|error| error.to_string())?;
        if entry.provider.is_empty() || entry.id.is_empty() {
            return Err("`provider` and `id` must not be empty".to_owned());
        }
        if entry.context_window == Some(0) || entry.max_output == Some(0) {
            return Err("`context_window` and `max_output` must be more than 0".to_owned());
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
            return Err("a price must not be less than 0".to_owned());
        }
        let known = self
            .models
            .iter()
            .position(|model| model.provider == entry.provider && model.id == entry.id);
        let mut model = match known {
            Some(at) => self.models[at].clone(),
            None => Model::assumed(&entry.provider, &entry.id),
        };
        model.context_window = entry.context_window.unwrap_or(model.context_window);
        model.max_output = entry.max_output.unwrap_or(model.max_output);
        model.thinks = entry.reasoning.unwrap_or(model.thinks);
        model.reasoning_off = entry.reasoning_off.or(model.reasoning_off);
        model.prices = entry.prices.or(model.prices);
        model.long = entry.long.or(model.long);
        model.source = source;
        match known {
            Some(at) => self.models[at] = model,
            None => self.models.push(model),
        }
        Ok(())
    }
}

/// A model's name without the date, or the word, that says which of its versions is meant.
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

fn read(path: &Path) -> Result<Option<Vec<u8>>, String> {
    let file = match open_regular(path, Follow::Yes) {
        Ok(Some(file)) => file,
        Ok(None) => return Err("it is not a file".to_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let mut bytes = Vec::new();
    let mut file = file.take(MOST_BYTES + 1);
    file.read_to_end(&mut bytes)
        .map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(format!("it is larger than {MOST_BYTES} bytes"));
    }
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extended(json: &str) -> (Catalogue, Vec<String>) {
        let mut catalogue = Catalogue::built_in();
        let faults = catalogue.extend(json.as_bytes(), Source::File);
        (catalogue, faults)
    }

    #[test]
    fn the_embedded_list_is_right() {
        let mut catalogue = Catalogue { models: Vec::new() };
        let faults = catalogue.extend(EMBEDDED.as_bytes(), Source::BuiltIn);
        assert_eq!(faults, Vec::<String>::new());
        for model in catalogue.models() {
            assert!(model.max_output <= model.context_window, "{model:?}");
            assert!(model.prices.is_some(), "{model:?}");
        }
    }

    #[test]
    fn a_date_is_no_part_of_the_name() {
        let catalogue = Catalogue::built_in();
        for id in ["claude-haiku-4-5-20251001", "claude-haiku-4-5-latest"] {
            let model = catalogue.model("anthropic", id);
            assert_eq!((&*model.id, model.source), (id, Source::BuiltIn));
        }
        assert_eq!(catalogue.provider_of("gpt-5-2025-08-07"), Some("openai"));
        assert_eq!(undated("claude-opus-4-5"), None);
        assert_eq!(undated("é20251001"), None);
    }

    #[test]
    fn what_nobody_knows_is_assumed_small_and_without_a_price() {
        let model = Catalogue::built_in().model("openai", "new-and-shiny");
        assert_eq!(model.source, Source::Assumed);
        assert_eq!(model.cost(&Tokens::default()), None);
    }

    #[test]
    fn a_file_changes_what_it_names() {
        let (catalogue, faults) = extended(
            r#"{"models": [{"provider": "openai", "id": "gpt-5", "max_output": 7},
                {"provider": "ollama", "id": "qwen3:8b", "context_window": 40960, "reasoning": "effort"}]}"#,
        );
        assert_eq!(faults, Vec::<String>::new());
        let model = catalogue.model("openai", "gpt-5");
        assert_eq!((model.max_output, model.context_window), (7, 400_000));
        assert_eq!(model.source, Source::File);
        assert_eq!(catalogue.model("ollama", "qwen3:8b").thinks, Thinks::Effort);
        assert_eq!(catalogue.provider_of("qwen3:8b"), Some("ollama"));
    }

    #[test]
    fn wrong_entries_are_named_and_the_rest_counts() {
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
        assert_eq!(catalogue.model("x", "c").source, Source::File);
        for broken in ["", "[]", "{}", "{\"models\": 1}", "\0\0\0"] {
            assert_eq!(extended(broken).1.len(), 1, "{broken:?}");
        }
    }

    #[test]
    fn tokens_have_their_price() {
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
        // Long requests cost more, and a cache without a price costs what is sent.
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
