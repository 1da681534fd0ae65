//! The HTTP client for providers, and its errors.

use std::{error::Error as _, io, sync::OnceLock, time::Duration};

use reqwest::{
    Client, RequestBuilder, Response, Url,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER},
    redirect,
};

use super::{
    ProviderError,
    key::ApiKey,
    retry::{Retry, can_retry_status, retry_after},
};

/// A provider's base URL, API key, timeouts and retry policy.
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
    /// The retry policy.
    pub retry: Retry,
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
            retry: Retry::default(),
        })
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

/// An error, and whether a retry may help.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) error: ProviderError,
    pub(super) can_retry: bool,
}

impl Fault {
    pub(super) fn permanent(error: ProviderError) -> Self {
        Self {
            error,
            can_retry: false,
        }
    }

    pub(super) fn transient(error: ProviderError) -> Self {
        Self {
            error,
            can_retry: true,
        }
    }

    /// Returns the provider's `Retry-After`.
    pub(super) fn asked(&self) -> Option<Duration> {
        match self.error {
            ProviderError::Status { retry_after, .. } => retry_after,
            _ => None,
        }
    }
}

/// The connection to a provider. The client is created on first use, because loading the system's
/// certificates takes a while. Uses the proxies from the environment (`HTTPS_PROXY`, `NO_PROXY` …),
/// except for local servers. Does not follow redirects, since they would pass on the key. Does not
/// log anything.
pub(super) struct Http {
    /// The provider's name, for errors.
    pub(super) provider: String,
    pub(super) endpoint: Endpoint,
    client: OnceLock<Client>,
}

/// Limits on the size of an error response's body, and on the time to read it.
const ERROR_BODY: usize = 64 * 1024;
const ERROR_PATIENCE: Duration = Duration::from_secs(5);
/// The maximum length of a message to show, in characters.
const MESSAGE: usize = 500;

impl Http {
    pub(super) fn new(provider: impl Into<String>, endpoint: Endpoint) -> Self {
        Self {
            provider: provider.into(),
            endpoint,
            client: OnceLock::new(),
        }
    }

    fn client(&self) -> Result<&Client, Fault> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let mut builder = Client::builder()
            .user_agent(concat!("zot/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(self.endpoint.connect)
            .redirect(redirect::Policy::none())
            .referer(false);
        if self.endpoint.is_local() {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|error| self.broken(error))?;
        Ok(self.client.get_or_init(|| client))
    }

    /// Sends a request and waits for the start of an event stream.
    pub(super) async fn post(
        &self,
        url: Url,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<Response, Fault> {
        let request = self
            .client()?
            .post(url)
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .headers(headers)
            .body(body);
        let answer = self.send(request).await?;
        let kind = answer.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        // Some servers omit or misstate the content type of their stream, but these two types are
        // never a stream.
        if kind.starts_with("application/json") || kind.starts_with("text/html") {
            let message = format!("{}, not an event stream", self.sanitise(kind));
            let text = error_text(&self.start_of(answer).await);
            return Err(Fault::permanent(match text {
                Some(text) => self.failed(&text),
                None => self.malformed(message),
            }));
        }
        Ok(answer)
    }

    /// Sends a GET request and checks only its status.
    pub(super) async fn get(&self, url: Url, headers: HeaderMap) -> Result<(), Fault> {
        let request = self.client()?.get(url).headers(headers);
        self.send(request).await.map(drop)
    }

    /// Sends a request and waits for a response with a success status.
    async fn send(&self, request: RequestBuilder) -> Result<Response, Fault> {
        match tokio::time::timeout(self.endpoint.idle, request.send()).await {
            Ok(Ok(answer)) if answer.status().is_success() => Ok(answer),
            Ok(Ok(answer)) => Err(self.refused(answer).await),
            Ok(Err(error)) => Err(self.broken(error)),
            Err(_) => Err(Fault::permanent(self.silent())),
        }
    }

    /// Returns the next bytes of an answer, or `None` if it has ended cleanly.
    pub(super) async fn chunk(
        &self,
        answer: &mut Response,
    ) -> Result<Option<impl AsRef<[u8]> + use<>>, Fault> {
        match tokio::time::timeout(self.endpoint.idle, answer.chunk()).await {
            Ok(Ok(bytes)) => Ok(bytes),
            // Whatever the cause, the answer is incomplete.
            Ok(Err(_)) => Err(Fault::transient(self.cut_off())),
            Err(_) => Err(Fault::permanent(self.silent())),
        }
    }

    /// Converts an HTTP error response to a [`Fault`].
    async fn refused(&self, answer: Response) -> Fault {
        let status = answer.status().as_u16();
        let header = |name: HeaderName| answer.headers().get(name)?.to_str().ok();
        let retry_after = header(RETRY_AFTER).and_then(retry_after);
        if answer.status().is_redirection() {
            return Fault::permanent(self.status(
                status,
                "redirects are not followed\nhint: check --base-url",
                None,
            ));
        }
        let body = self.start_of(answer).await;
        let message = error_text(&body).unwrap_or_else(|| plain_text(&body));
        let message = self.sanitise(&message);
        if status == 401 {
            return Fault::permanent(ProviderError::Unauthorized {
                provider: self.provider.clone(),
                message,
            });
        }
        // Waiting does not help when the account has no credit left.
        let is_spent = body
            .windows(b"insufficient_quota".len())
            .any(|word| word == b"insufficient_quota");
        Fault {
            error: self.status(status, &message, retry_after),
            can_retry: can_retry_status(status) && !is_spent,
        }
    }

    /// Reads the start of a body, up to a size and a time limit.
    async fn start_of(&self, mut answer: Response) -> Vec<u8> {
        let mut body = Vec::new();
        let reading = async {
            while let Ok(Some(bytes)) = answer.chunk().await {
                body.extend_from_slice(&bytes);
                if body.len() >= ERROR_BODY {
                    break;
                }
            }
        };
        let _ = tokio::time::timeout(ERROR_PATIENCE, reading).await;
        body
    }

    /// Converts an error from the HTTP client to a [`Fault`]. Removes the URL from the message, and
    /// prefers the innermost cause, which is the most specific.
    fn broken(&self, error: reqwest::Error) -> Fault {
        let is_connect = error.is_connect();
        let is_timeout = error.is_timeout();
        let error = error.without_url();
        let mut cause = error.source();
        let mut message = error.to_string();
        let mut is_reset = false;
        while let Some(inner) = cause {
            message = inner.to_string();
            if let Some(error) = inner.downcast_ref::<io::Error>() {
                is_reset |= matches!(
                    error.kind(),
                    io::ErrorKind::ConnectionReset
                        | io::ErrorKind::ConnectionAborted
                        | io::ErrorKind::BrokenPipe
                        | io::ErrorKind::UnexpectedEof
                );
            }
            cause = inner.source();
        }
        if is_timeout {
            message = format!(
                "connection timed out after {} s",
                self.endpoint.connect.as_secs()
            );
        }
        if is_connect && self.endpoint.is_local() {
            message.push_str("\nhint: is the server running?");
        }
        Fault {
            // A connection that broke before the response counts as reset, whatever the client
            // calls it.
            can_retry: is_reset || (error.is_request() && !is_connect && !is_timeout),
            error: ProviderError::Network {
                provider: self.provider.clone(),
                message: self.sanitise(&message),
            },
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

    fn status(&self, status: u16, message: &str, retry_after: Option<Duration>) -> ProviderError {
        ProviderError::Status {
            provider: self.provider.clone(),
            status,
            message: message.to_owned(),
            retry_after,
        }
    }

    fn silent(&self) -> ProviderError {
        ProviderError::Network {
            provider: self.provider.clone(),
            message: format!("no data received for {} s", self.endpoint.idle.as_secs()),
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

    pub(super) fn failed(&self, message: &str) -> ProviderError {
        ProviderError::Failed {
            provider: self.provider.clone(),
            message: self.sanitise(message),
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
