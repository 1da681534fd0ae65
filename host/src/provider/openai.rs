//! The Chat Completions API of `OpenAI` and compatible servers.

mod answer;
mod request;

use std::sync::Arc;

use reqwest::header::{AUTHORIZATION, HeaderMap};

use super::{
    Catalogue, Deltas, Endpoint, Provider, Request,
    exchange::{PreparedRequest, deltas},
    http::Http,
};

use answer::Answer;

/// The provider's name.
pub const NAME: &str = "openai";
/// The default base URL.
pub const BASE_URL: &str = "https://api.openai.com/v1";
/// The name of Ollama, a local model server.
pub const OLLAMA: &str = "ollama";
/// Ollama's default base URL.
pub const OLLAMA_BASE_URL: &str = "http://localhost:11434/v1";

/// A server with the Chat Completions API. Tolerates servers that omit usage, ids or the end of the
/// stream.
pub struct OpenAi {
    http: Arc<Http>,
    catalogue: Arc<Catalogue>,
}

impl OpenAi {
    /// Creates a provider with this name. The catalogue defines the reasoning options of each
    /// model.
    pub fn new(name: &str, endpoint: Endpoint, catalogue: Arc<Catalogue>) -> Self {
        Self {
            http: Arc::new(Http::new(name, endpoint)),
            catalogue,
        }
    }
}

/// Returns the headers of every request.
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
        // Compatible servers still use the old name `max_tokens`.
        let is_original = endpoint.base_url.host_str() == Some("api.openai.com");
        let ask = PreparedRequest {
            url: endpoint.url("/chat/completions"),
            headers: headers(endpoint),
            body: request::body(&request, &model, is_original)
                .to_string()
                .into_bytes(),
        };
        deltas(Arc::clone(&self.http), ask, Answer::default)
    }
}
