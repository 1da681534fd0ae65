//! The HTTP client for providers, and its errors.

mod client;
mod rejection;

use std::time::Duration;

use bytes::Bytes;
use reqwest::{
    Method, Response, Url,
    header::{CONTENT_TYPE, HeaderMap, HeaderValue},
};

use self::client::{Client, SendError};
use super::{
    ProviderError,
    key::ApiKey,
    retry::{can_retry_status, retry_after},
};

/// A provider's base URL, API key and timeouts.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Endpoint {
    /// The start of all request URLs.
    pub base_url: Url,
    /// The key, if the provider needs one.
    pub key: Option<ApiKey>,
    /// The connection timeout.
    pub connect: Duration,
    /// The timeout for the start of the response, and between two pieces of it. A model that
    /// reasons may send nothing for minutes. The total duration has no limit.
    pub idle: Duration,
}

/// Error returned for an invalid base URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UrlError {
    /// The text is not a URL.
    #[error("not a URL (example: https://example.com/v1)")]
    Invalid,
    /// The scheme is not HTTP.
    #[error("must begin with https:// or http://")]
    Scheme,
    /// The URL contains a user name or password, which would end up in logs.
    #[error(
        "must not contain a user name or password\nhint: pass the key with --api-key or `zot auth set`"
    )]
    Credentials,
}

impl Endpoint {
    /// Creates an endpoint with the default timeouts.
    pub fn new(base_url: &str, key: Option<ApiKey>) -> Result<Self, UrlError> {
        let base_url = Url::parse(base_url.trim()).map_err(|_| UrlError::Invalid)?;
        if !matches!(base_url.scheme(), "http" | "https") {
            return Err(UrlError::Scheme);
        }
        if !base_url.username().is_empty() || base_url.password().is_some() {
            return Err(UrlError::Credentials);
        }
        Ok(Self {
            base_url,
            key,
            connect: Duration::from_secs(15),
            idle: Duration::from_secs(300),
        })
    }

    /// Reports whether both have the same scheme, host and port.
    pub(super) fn has_origin_of(&self, other: &Self) -> bool {
        self.base_url.origin() == other.base_url.origin()
    }

    /// Returns the scheme, host and port.
    pub(super) fn origin(&self) -> String {
        self.base_url.origin().ascii_serialization()
    }

    /// Returns the host and the port.
    pub(super) fn host(&self) -> String {
        let host = self.base_url.host_str().unwrap_or_default();
        let port = self.base_url.port();
        port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// Returns the URL for `path` below the base URL.
    pub(super) fn url(&self, path: &str) -> Url {
        let mut url = self.base_url.clone();
        let below = format!("{}{path}", url.path().trim_end_matches('/'));
        url.set_path(&below);
        url
    }

    /// Reports whether the server is on this machine.
    fn is_local(&self) -> bool {
        match self.base_url.host_str() {
            Some("localhost" | "[::1]") => true,
            Some(host) => host.starts_with("127."),
            None => false,
        }
    }
}

/// Why a request failed.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) error: ProviderError,
    /// The details, if the server rejected the request's content.
    pub(super) rejected: Option<Rejected>,
}

/// A response that rejects the request's content.
#[derive(Debug)]
pub(super) struct Rejected {
    pub(super) status: u16,
    /// The name of the parameter, if the server states it.
    pub(super) param: Option<String>,
    /// The server's message.
    pub(super) message: String,
}

impl Rejected {
    /// Reports whether the server rejected the JSON Schema of an answer.
    pub(super) fn is_about_schema(&self) -> bool {
        let names = [
            "output_config",
            "output_format",
            "response_format",
            "text.format",
            "json_schema",
        ];
        let param = self.param.as_deref().unwrap_or_default();
        names
            .iter()
            .any(|name| param.contains(name) || self.message.contains(name))
    }
}

impl From<ProviderError> for Fault {
    fn from(error: ProviderError) -> Self {
        Self {
            error,
            rejected: None,
        }
    }
}

/// The connection to a provider.
pub(super) struct Http {
    /// The provider's name, for errors.
    pub(super) provider: String,
    pub(super) endpoint: Endpoint,
    client: Client,
}

/// The size limit of an error response's body.
const ERROR_BODY: usize = 64 * 1024;
/// The size limit of a list of models.
const LISTED_BODY: usize = 8 * 1024 * 1024;
/// The time limit for reading the body of an error response.
const ERROR_PATIENCE: Duration = Duration::from_secs(5);
/// The maximum length of a message to show, in characters.
const MESSAGE: usize = 500;

impl Http {
    pub(super) fn new(provider: impl Into<String>, endpoint: Endpoint) -> Self {
        Self {
            provider: provider.into(),
            client: Client::new(&endpoint),
            endpoint,
        }
    }

    /// Identifies the server.
    pub(super) fn server(&self) -> String {
        format!("{} {}", self.provider, self.endpoint.origin())
    }

    /// Prepares for the first request. Returns immediately.
    pub(super) fn warm_up(&self) {
        self.client.warm_up();
    }

    /// Sends a request and waits for the start of an event stream.
    pub(super) async fn post(
        &self,
        url: Url,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response, Fault> {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let answer = self.send(Method::POST, url, headers, body).await?;
        let kind = answer.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        // Some servers omit or misstate the content type of their stream, but a response of one of
        // these two types is never a stream.
        if kind.starts_with("application/json") || kind.starts_with("text/html") {
            let message = format!("expected an event stream, got {}", self.sanitise(kind));
            let text = error_text(&self.start_of(answer, ERROR_BODY).await);
            return Err(Fault::from(match text {
                Some(text) => self.failed(&text, false),
                None => self.malformed(message),
            }));
        }
        Ok(answer)
    }

    /// Sends a GET request and returns the body, which must not be large.
    pub(super) async fn get(&self, url: Url, headers: HeaderMap) -> Result<Vec<u8>, ProviderError> {
        let sent = self.send(Method::GET, url, headers, Bytes::new()).await;
        let mut answer = sent.map_err(|fault| fault.error)?;
        let mut body = Vec::new();
        while let Some(bytes) = self.chunk(&mut answer).await? {
            body.extend_from_slice(bytes.as_ref());
            if body.len() > LISTED_BODY {
                return Err(self.malformed("the response is too large"));
            }
        }
        Ok(body)
    }

    /// Sends a request and waits for a response with a success status.
    async fn send(
        &self,
        method: Method,
        url: Url,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response, Fault> {
        let sending = self.client.send(method, url, headers, body);
        match tokio::time::timeout(self.endpoint.idle, sending).await {
            Ok(Ok(answer)) if answer.status().is_success() => Ok(answer),
            Ok(Ok(answer)) => Err(self.refused(answer).await),
            Ok(Err(error)) => Err(self.broken(&error).into()),
            Err(_) => Err(self.silent().into()),
        }
    }

    /// Returns the next bytes of an answer, or `None` if it has ended cleanly.
    pub(super) async fn chunk(
        &self,
        answer: &mut Response,
    ) -> Result<Option<impl AsRef<[u8]> + use<>>, ProviderError> {
        match tokio::time::timeout(self.endpoint.idle, answer.chunk()).await {
            Ok(Ok(bytes)) => Ok(bytes),
            // The cause does not matter: the answer is incomplete.
            Ok(Err(_)) => Err(self.cut_off()),
            Err(_) => Err(self.silent()),
        }
    }

    /// Converts an HTTP error response to a [`Fault`].
    async fn refused(&self, answer: Response) -> Fault {
        let status = answer.status().as_u16();
        let retry_after = retry_after(answer.headers());
        if answer.status().is_redirection() {
            let hint = "redirects are not followed\nhint: check --base-url";
            return self.status(status, hint, false, None).into();
        }
        let body = self.start_of(answer, ERROR_BODY).await;
        let message = error_text(&body).unwrap_or_else(|| plain_text(&body));
        let message = self.sanitise(&message);
        let provider = self.provider.clone();
        if status == 401 {
            return ProviderError::Unauthorized { provider, message }.into();
        }
        let details = rejection::read(&body);
        if let Some(error) = details.cause(status, &message) {
            return match error {
                rejection::Cause::TooLong => ProviderError::TooLong { provider, message },
                rejection::Cause::Image => ProviderError::Image { provider, message },
            }
            .into();
        }
        let is_transient = can_retry_status(status) && !details.is_spent();
        Fault {
            error: self.status(status, &message, is_transient, retry_after),
            rejected: matches!(status, 400 | 404 | 405 | 422).then(|| Rejected {
                status,
                param: details.param,
                message,
            }),
        }
    }

    /// Reads the start of a body, up to a size and a time limit.
    async fn start_of(&self, mut answer: Response, most_bytes: usize) -> Vec<u8> {
        let mut body = Vec::new();
        let reading = async {
            while let Ok(Some(bytes)) = answer.chunk().await {
                body.extend_from_slice(&bytes);
                if body.len() >= most_bytes {
                    break;
                }
            }
        };
        let _ = tokio::time::timeout(ERROR_PATIENCE, reading).await;
        body
    }

    /// Converts an error from the HTTP client. Prefers the innermost cause, which is the most
    /// specific.
    fn broken(&self, error: &SendError) -> ProviderError {
        let mut message = error.source.to_string();
        let mut cause = error.source.source();
        while let Some(inner) = cause {
            message = inner.to_string();
            cause = inner.source();
        }
        if error.is_timeout {
            message = format!(
                "connection timed out after {} s",
                self.endpoint.connect.as_secs()
            );
        }
        let is_local = self.endpoint.is_local();
        if error.is_connect && is_local {
            message.push_str("\nhint: is the server running?");
        }
        ProviderError::Network {
            provider: self.provider.clone(),
            message: self.sanitise(&message),
            // A retry does not help if a local server is not running or a certificate is invalid.
            is_transient: !(error.is_connect && (is_local || message.contains("certificate"))),
        }
    }

    /// Prepares a server's text for display: removes the key and control characters, and truncates
    /// it.
    pub(super) fn sanitise(&self, text: &str) -> String {
        let text = match &self.endpoint.key {
            Some(key) => key.scrub(text),
            None => text.into(),
        };
        let harmless = |c: char| if c.is_control() && c != '\n' { ' ' } else { c };
        let text: String = text.chars().take(4 * MESSAGE).map(harmless).collect();
        let mut message: String = text.trim().chars().take(MESSAGE + 1).collect();
        if message.chars().count() > MESSAGE {
            message.pop();
            message.push('…');
        }
        message
    }

    fn status(
        &self,
        status: u16,
        message: &str,
        is_transient: bool,
        retry_after: Option<Duration>,
    ) -> ProviderError {
        ProviderError::Status {
            provider: self.provider.clone(),
            status,
            message: message.to_owned(),
            is_transient,
            retry_after,
        }
    }

    fn silent(&self) -> ProviderError {
        ProviderError::Network {
            provider: self.provider.clone(),
            message: format!("no data received for {} s", self.endpoint.idle.as_secs()),
            is_transient: true,
        }
    }

    pub(super) fn cut_off(&self) -> ProviderError {
        ProviderError::CutOff {
            provider: self.provider.clone(),
        }
    }

    pub(super) fn malformed(&self, message: impl Into<String>) -> ProviderError {
        ProviderError::Malformed {
            provider: self.provider.clone(),
            message: message.into(),
        }
    }

    pub(super) fn failed(&self, message: &str, is_transient: bool) -> ProviderError {
        let (provider, message) = (self.provider.clone(), self.sanitise(message));
        match rejection::cause_in(&message) {
            Some(rejection::Cause::TooLong) => ProviderError::TooLong { provider, message },
            Some(rejection::Cause::Image) => ProviderError::Image { provider, message },
            None => ProviderError::Failed {
                provider,
                message,
                is_transient,
            },
        }
    }
}

/// Extracts the message from an error's body, in the formats that servers use.
pub(super) fn error_text(body: &[u8]) -> Option<String> {
    let body: serde_json::Value = serde_json::from_slice(body).ok()?;
    let places = ["/error/message", "/error", "/message", "/detail"];
    let text = places
        .iter()
        .find_map(|place| body.pointer(place)?.as_str())?;
    Some(text.to_owned())
}

/// Returns the first line of a body that is not JSON, unless it is HTML.
fn plain_text(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    match text.lines().find(|line| !line.trim().is_empty()) {
        Some(line) if !line.trim_start().starts_with('<') => line.to_owned(),
        Some(_) => "(HTML page)".to_owned(),
        None => "(no message)".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_must_be_http_without_credentials() {
        let error = |url| Endpoint::new(url, None).unwrap_err();
        assert_eq!(error("nonsense"), UrlError::Invalid);
        assert_eq!(error("file:///etc/passwd"), UrlError::Scheme);
        assert_eq!(
            error("https://me:canary@example.com"),
            UrlError::Credentials
        );
    }

    #[test]
    fn a_trailing_slash_in_the_base_url_does_not_matter() {
        for base in ["http://h/v1", "http://h/v1/"] {
            let endpoint = Endpoint::new(base, None).unwrap();
            assert_eq!(endpoint.url("/x").as_str(), "http://h/v1/x");
        }
        let endpoint = Endpoint::new("http://h", None).unwrap();
        assert_eq!(endpoint.url("/x").as_str(), "http://h/x");
    }

    #[test]
    fn recognises_local_addresses() {
        for (url, is_local) in [
            ("http://localhost:1", true),
            ("http://127.0.0.1", true),
            ("http://[::1]:1", true),
            ("https://example.com", false),
        ] {
            assert_eq!(
                Endpoint::new(url, None).unwrap().is_local(),
                is_local,
                "{url}"
            );
        }
    }

    #[test]
    fn finds_the_message_in_an_error_body() {
        for (body, text) in [
            (
                r#"{"type":"error","error":{"type":"x","message":"m"}}"#,
                Some("m"),
            ),
            (r#"{"error":"m"}"#, Some("m")),
            (r#"{"detail":"m"}"#, Some("m")),
            (r#"{"object":"error","message":"m"}"#, Some("m")),
            ("<html>", None),
            ("[]", None),
        ] {
            assert_eq!(error_text(body.as_bytes()).as_deref(), text, "{body}");
        }
        assert_eq!(plain_text(b"\n<html>"), "(HTML page)");
        assert_eq!(plain_text(b"upstream gone\n"), "upstream gone");
    }

    #[test]
    fn server_texts_are_sanitised_and_truncated() {
        let key = ApiKey::new("sk-canary").ok();
        let http = Http::new("p", Endpoint::new("http://h", key).unwrap());
        assert_eq!(http.sanitise("\u{1b}]0;x\u{7} sk-canary"), "]0;x  [key]");
        assert_eq!(http.sanitise(&"é".repeat(600)).chars().count(), MESSAGE + 1);
    }
}
