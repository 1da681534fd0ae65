//! Anthropic's Messages API.

mod answer;
mod request;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use reqwest::{
    Url,
    header::{HeaderMap, HeaderName, HeaderValue},
};

use zot_protocol::ProviderApi;

use super::{
    Catalogue, Deltas, Endpoint, Listed, Provider, ProviderError, Request,
    encoded::Encoded,
    exchange::{Api, Decode, PreparedRequest, deltas},
    http::{Http, Rejected},
    learned::OutputLimit,
    listing::list,
};

use answer::Answer;

/// The provider's name.
pub const NAME: &str = "anthropic";
/// The default base URL.
pub const BASE_URL: &str = "https://api.anthropic.com";

/// Claude, or a compatible server, over the Messages API.
///
/// The signature of reasoning is stored with the model's name, and the reasoning is sent back only
/// to that model, since newer models reject reasoning from other models. The system prompt, the
/// tools and the last two user messages are marked for the provider's cache.
pub struct Anthropic(Arc<Messages>);

/// The API.
struct Messages {
    http: Http,
    catalogue: Arc<Catalogue>,
    encoded: Mutex<Encoded<Vec<u8>>>,
    accepted: Mutex<Accepted>,
}

/// What the server accepts, as far as its errors have shown.
#[derive(Debug, Default)]
struct Accepted {
    limit: OutputLimit,
    /// Whether it rejected the JSON Schema of an answer.
    no_output_schema: bool,
}

impl Anthropic {
    /// Creates a provider with this name. The catalogue defines the output limit and reasoning
    /// options of each model.
    pub fn new(name: &str, endpoint: Endpoint, catalogue: Arc<Catalogue>) -> Self {
        Self(Arc::new(Messages {
            http: Http::new(name, endpoint),
            catalogue,
            encoded: Mutex::default(),
            accepted: Mutex::default(),
        }))
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

impl Messages {
    /// Returns the output limit to use until the server states its own.
    fn wanted_output(&self, request: &Request) -> u64 {
        let model = self.catalogue.model(&self.http.provider, &request.model);
        let most = model.max_output;
        request
            .max_output
            .map_or(most, |wanted| most.min(wanted.into()))
    }
}

impl Api for Messages {
    fn prepare(&self, request: &Request) -> (PreparedRequest, Box<dyn Decode>) {
        let endpoint = &self.http.endpoint;
        let model = self.catalogue.model(&self.http.provider, &request.model);
        let wanted = self.wanted_output(request);
        let accepted = self.accepted.lock();
        let form = request::Form {
            max_tokens: accepted.limit.at_most(&request.model, wanted),
            output_schema: !accepted.no_output_schema,
        };
        let prepared = PreparedRequest {
            url: url(endpoint, "messages"),
            headers: headers(endpoint),
            body: request::body(request, &model, &form, &mut self.encoded.lock()),
        };
        (prepared, Box::new(Answer::new(&request.model)))
    }

    fn adapt(&self, request: &Request, rejected: &Rejected) -> bool {
        let mut accepted = self.accepted.lock();
        if request.output_schema.is_some() && rejected.is_about_schema() {
            return !std::mem::replace(&mut accepted.no_output_schema, true);
        }
        rejected.message.contains("max_tokens") && {
            let (limit, wanted) = (&mut accepted.limit, self.wanted_output(request));
            limit.learn(&request.model, wanted, &rejected.message)
        }
    }

    fn http(&self) -> &Http {
        &self.http
    }
}

impl Provider for Anthropic {
    fn name(&self) -> &str {
        &self.0.http.provider
    }

    fn server(&self) -> String {
        self.0.http.server()
    }

    fn stream(&self, request: Request) -> Deltas {
        deltas(self.0.clone(), request)
    }

    fn warm_up(&self) {
        self.0.http.warm_up();
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<Listed>, ProviderError>> {
        Box::pin(list(&self.0.http, ProviderApi::Anthropic))
    }
}
