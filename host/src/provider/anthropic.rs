//! Anthropic's Messages API.

mod answer;
mod request;

use std::sync::Arc;

use reqwest::{
    Url,
    header::{HeaderMap, HeaderName, HeaderValue},
};

use super::{
    Catalogue, Deltas, Endpoint, Provider, Request,
    exchange::{PreparedRequest, deltas},
    http::Http,
};

use answer::Answer;

/// The provider's name.
pub const NAME: &str = "anthropic";
/// The default base URL.
pub const BASE_URL: &str = "https://api.anthropic.com";

/// Claude, over the Messages API.
///
/// Reasoning is signed together with the model's name and sent back only to that model, since newer
/// models reject reasoning from other models. The system prompt, the tools and the last two user
/// messages are marked for the provider's cache.
pub struct Anthropic {
    http: Arc<Http>,
    catalogue: Arc<Catalogue>,
}

impl Anthropic {
    /// Creates a provider. The catalogue defines the output limit and reasoning options of each
    /// model.
    pub fn new(endpoint: Endpoint, catalogue: Arc<Catalogue>) -> Self {
        Self {
            http: Arc::new(Http::new(NAME, endpoint)),
            catalogue,
        }
    }
}

/// Returns the headers of every request.
pub(super) fn headers(endpoint: &Endpoint) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(
        HeaderName::from_static("anthropic-version"),
        HeaderValue::from_static("2023-06-01"),
    );
    if let Some(key) = &endpoint.key {
        headers.insert(HeaderName::from_static("x-api-key"), key.header(""));
    }
    headers
}

/// Returns the URL of an API method. Accepts base URLs with and without `/v1`.
pub(super) fn url(endpoint: &Endpoint, name: &str) -> Url {
    let base = endpoint.base_url.path().trim_end_matches('/');
    if base.ends_with("/v1") {
        endpoint.url(&format!("/{name}"))
    } else {
        endpoint.url(&format!("/v1/{name}"))
    }
}

impl Provider for Anthropic {
    fn name(&self) -> &str {
        NAME
    }

    fn stream(&self, request: Request) -> Deltas {
        let endpoint = &self.http.endpoint;
        let model = self.catalogue.model(NAME, &request.model);
        let ask = PreparedRequest {
            url: url(endpoint, "messages"),
            headers: headers(endpoint),
            body: request::body(&request, &model).to_string().into_bytes(),
        };
        let model = request.model;
        deltas(Arc::clone(&self.http), ask, move || Answer::new(&model))
    }
}
