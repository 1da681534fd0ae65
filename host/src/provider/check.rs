//! Whether a key is one, before it is kept.

use std::time::Duration;

use super::{Endpoint, ProviderError, anthropic, http::Http, openai};

/// Nobody waits longer for a yes or no.
const PATIENCE: Duration = Duration::from_secs(20);

/// Asks a provider for its models, which costs nothing and needs a key. `endpoint` has the key to be tried.
pub async fn check_key(provider: &str, mut endpoint: Endpoint) -> Result<(), ProviderError> {
    endpoint.idle = PATIENCE;
    let (url, headers) = if provider == anthropic::NAME {
        let url = anthropic::url(&endpoint, "models");
        (url, anthropic::headers(&endpoint))
    } else {
        (endpoint.url("/models"), openai::headers(&endpoint))
    };
    let http = Http::new(provider, endpoint);
    http.get(url, headers).await.map_err(|fault| fault.error)
}
