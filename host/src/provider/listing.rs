//! The models that a server lists. Requesting them is also a free way to check an API key.

use std::time::Duration;

use serde_json::Value;
use zot_protocol::ProviderApi;

use super::{Endpoint, ProviderError, anthropic, http::Http, openai};

/// The timeout for requesting a list.
const TIMEOUT: Duration = Duration::from_secs(20);
/// The maximum number of models, and the maximum length of an id in bytes.
const MAX_MODELS: usize = 2_000;
const MAX_ID: usize = 200;

/// Substrings of the ids of models that cannot chat. Some servers list these as well.
const NOT_CHAT: [&str; 16] = [
    "embed",
    "whisper",
    "tts",
    "dall-e",
    "image",
    "audio",
    "realtime",
    "moderation",
    "transcribe",
    "babbage",
    "davinci",
    "sora",
    "rerank",
    "ocr",
    "imagen",
    "veo-",
];

/// A model that a server lists.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listed {
    /// The server's id for the model.
    pub id: String,
    /// Size of the context window in tokens, if the server states it.
    pub context_window: Option<u64>,
    /// The maximum number of output tokens, if the server states it.
    pub max_output: Option<u64>,
}

/// Requests the server's list of models, which is free. `endpoint` contains the key.
pub async fn list_models(
    provider: &str,
    api: ProviderApi,
    mut endpoint: Endpoint,
) -> Result<Vec<Listed>, ProviderError> {
    endpoint.idle = TIMEOUT;
    let http = Http::new(provider, endpoint);
    list(&http, api).await
}

pub(super) async fn list(http: &Http, api: ProviderApi) -> Result<Vec<Listed>, ProviderError> {
    let endpoint = &http.endpoint;
    let (url, headers) = if api == ProviderApi::Anthropic {
        let mut url = anthropic::url(endpoint, "models");
        url.set_query(Some("limit=1000"));
        (url, anthropic::headers(endpoint))
    } else {
        (endpoint.url("/models"), openai::headers(endpoint))
    };
    let body = http.get(url, headers).await?;
    Ok(read(&body))
}

/// Reads a list in the formats that servers use.
fn read(body: &[u8]) -> Vec<Listed> {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let entries = ["data", "models"]
        .iter()
        .find_map(|key| body[key].as_array());
    let models = entries.into_iter().flatten().filter_map(|entry| {
        let id = entry["id"].as_str().or_else(|| entry["name"].as_str())?;
        // Gemini's ids begin with the name of the collection.
        let id = id.strip_prefix("models/").unwrap_or(id);
        let is_usable = !id.is_empty()
            && id.len() <= MAX_ID
            && !id.chars().any(char::is_control)
            && !NOT_CHAT.iter().any(|word| id.contains(word));
        let number = |names: &[&str]| {
            let mut numbers = names.iter().filter_map(|name| entry[name].as_u64());
            numbers.find(|number| *number > 0)
        };
        is_usable.then(|| Listed {
            id: id.to_owned(),
            context_window: number(&[
                "context_length",
                "context_window",
                "max_model_len",
                "max_context_length",
                "max_input_tokens",
            ]),
            max_output: number(&["max_completion_tokens", "max_output_tokens"]),
        })
    });
    models.take(MAX_MODELS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_lists_of_different_servers() {
        let ids = |body: &str| -> Vec<(String, Option<u64>)> {
            let models = read(body.as_bytes()).into_iter();
            models
                .map(|model| (model.id, model.context_window))
                .collect()
        };
        assert_eq!(
            ids(
                r#"{"data": [{"id": "a", "context_length": 5}, {"id": "text-embedding-3"}, {"id": "b"}]}"#
            ),
            [("a".into(), Some(5)), ("b".into(), None)]
        );
        assert_eq!(
            ids(r#"{"data": [{"id": "models/gemini-x"}]}"#),
            [("gemini-x".into(), None)]
        );
        for nonsense in ["", "[]", "{}", r#"{"data": [1, {"id": "a\u001b"}]}"#] {
            assert_eq!(ids(nonsense), [], "{nonsense}");
        }
    }
}
