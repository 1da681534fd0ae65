//! `OpenAI`'s Chat Completions, and everybody who speaks it.

mod answer;
mod request;

use std::sync::Arc;

use reqwest::header::{AUTHORIZATION, HeaderMap};

use super::{
    Catalogue, Deltas, Endpoint, Provider, Request,
    exchange::{Ask, deltas},
    http::Http,
};

use answer::Answer;

/// The provider's name.
pub const NAME: &str = "openai";
/// Where it is.
pub const BASE_URL: &str = "https://api.openai.com/v1";
/// The name of Ollama, a server of models on one's own machine.
pub const OLLAMA: &str = "ollama";
/// Where Ollama is.
pub const OLLAMA_BASE_URL: &str = "http://localhost:11434/v1";

/// A server that speaks Chat Completions. Servers differ in what they leave out: no usage, no ids, no end are all known, and understood.
pub struct OpenAi {
    http: Arc<Http>,
    catalogue: Arc<Catalogue>,
}

impl OpenAi {
    /// A provider of that name at an endpoint; the catalogue says how a model thinks.
    pub fn new(name: &str, endpoint: Endpoint, catalogue: Arc<Catalogue>) -> Self {
        Self {
            http: Arc::new(Http::new(name, endpoint)),
            catalogue,
        }
    }
}

/// What every request says.
pub(super) fn headers(endpoint: &Endpoint) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Some(key) = &endpoint.key {
        headers.insert(AUTHORIZATION, key.header("Bearer "));
    }
    headers
}

impl Provider for OpenAi {
    fn name(&self) -> &str {
        &self.http.provider
    }

    fn stream(&self, request: Request) -> Deltas {
        let endpoint = &self.http.endpoint;
        let model = self.catalogue.model(self.name(), &request.model);
        // Others have not followed when `max_tokens` was given a new name.
        let is_original = endpoint.base_url.host_str() == Some("api.openai.com");
        let ask = Ask {
            url: endpoint.url("/chat/completions"),
            headers: headers(endpoint),
            body: request::body(&request, &model, is_original)
                .to_string()
                .into_bytes(),
        };
        deltas(Arc::clone(&self.http), ask, Answer::default)
    }
}
