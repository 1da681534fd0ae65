//! Checks an API key before it is stored.

use std::time::Duration;

use super::{Endpoint, ProviderError, anthropic, http::Http, openai};

/// The timeout of the check.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Requests the provider's list of models, which is free and needs a key. `endpoint` contains the
/// key to check.
pub async fn check_key(provider: &str, mut endpoint: Endpoint) -> Result<(), ProviderError> {
    endpoint.idle = TIMEOUT;
    let (url, headers) = if provider == anthropic::NAME {
        let url = anthropic::url(&endpoint, "models");
        (url, anthropic::headers(&endpoint))
    } else {
        (endpoint.url("/models"), openai::headers(&endpoint))
    };
    let http = Http::new(provider, endpoint);
    http.get(url, headers).await.map_err(|fault| fault.error)
}
