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
    exchange::{Ask, deltas},
    http::Http,
};

use answer::Answer;

/// The provider's name.
pub const NAME: &str = "anthropic";
/// Where it is.
pub const BASE_URL: &str = "https://api.anthropic.com";

/// Claude, over the Messages API.
///
/// What a model thought is sealed with the model's name and goes back only to that model: newer ones refuse what another
/// one has thought. System prompt, tools and the last two messages of the user are marked for the provider's cache.
pub struct Anthropic {
    http: Arc<Http>,
    catalogue: Arc<Catalogue>,
}

impl Anthropic {
    /// A provider at an endpoint; the catalogue says how long a model's answer may be, and how it thinks.
    pub fn new(endpoint: Endpoint, catalogue: Arc<Catalogue>) -> Self {
        Self {
            http: Arc::new(Http::new(NAME, endpoint)),
            catalogue,
        }
    }
}

/// What every request says.
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

/// A base with the version in it, as other programs want it, is the same.
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
        let ask = Ask {
            url: url(endpoint, "messages"),
            headers: headers(endpoint),
            body: request::body(&request, &model).to_string().into_bytes(),
        };
        let model = request.model;
        deltas(Arc::clone(&self.http), ask, move || Answer::new(&model))
    }
}
