//! One HTTP client, and what may go wrong with it.

use std::{error::Error as _, io, sync::OnceLock, time::Duration};

use reqwest::{
    Client, Response, Url,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER},
    redirect,
};

use super::{
    ProviderError,
    key::ApiKey,
    retry::{Retry, passes, retry_after},
};

/// Where a provider is, and how patient we are with it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Endpoint {
    /// The beginning of its addresses.
    pub base_url: Url,
    /// The key, where it wants one.
    pub key: Option<ApiKey>,
    /// How long a connection may take to be made.
    pub connect: Duration,
    /// How long it may be silent: before it answers, and between two pieces of the answer. A model that thinks sends
    /// nothing for minutes; the whole of an answer has no limit.
    pub idle: Duration,
    /// When it is asked again.
    pub retry: Retry,
}

/// Why an address is not one of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UrlError {
    /// No address at all.
    #[error("it is not an address, such as https://example.com/v1")]
    Invalid,
    /// An address of something else.
    #[error("it begins with neither https:// nor http://")]
    Scheme,
    /// A name and a password in it would be written to logs.
    #[error(
        "it has a user name or a password in it; a key is given with --api-key or `zot auth set`"
    )]
    Credentials,
}

impl Endpoint {
    /// An endpoint with the usual patience.
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

    /// An address below the base.
    pub(super) fn url(&self, path: &str) -> Url {
        let mut url = self.base_url.clone();
        let below = format!("{}{path}", url.path().trim_end_matches('/'));
        url.set_path(&below);
        url
    }

    /// Whether it is on this machine.
    fn is_local(&self) -> bool {
        match self.base_url.host_str() {
            Some("localhost" | "[::1]") => true,
            Some(host) => host.starts_with("127."),
            None => false,
        }
    }
}

/// What went wrong, and whether asking again may help.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) error: ProviderError,
    pub(super) passes: bool,
}

impl Fault {
    pub(super) fn lasting(error: ProviderError) -> Self {
        Self {
            error,
            passes: false,
        }
    }

    pub(super) fn passing(error: ProviderError) -> Self {
        Self {
            error,
            passes: true,
        }
    }

    /// How long the provider asks to be left alone.
    pub(super) fn asked(&self) -> Option<Duration> {
        match self.error {
            ProviderError::Status { retry_after, .. } => retry_after,
            _ => None,
        }
    }
}

/// A provider's connection. Its client is made when it is first used, since reading the system's certificates takes a
/// while. Proxies of the environment (`HTTPS_PROXY`, `NO_PROXY` …) are used, except to this machine. Redirects are not
/// followed: they would take the key along. Nothing here logs.
pub(super) struct Http {
    /// Whose it is, for errors.
    pub(super) provider: String,
    pub(super) endpoint: Endpoint,
    client: OnceLock<Client>,
}

/// The most of an error's body that is read, and the longest it may take.
const ERROR_BODY: usize = 64 * 1024;
const ERROR_PATIENCE: Duration = Duration::from_secs(5);
/// The most of it that is shown, in characters.
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

    /// Sends a body and waits for the beginning of an event stream.
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
        let answer = match tokio::time::timeout(self.endpoint.idle, request.send()).await {
            Ok(answer) => answer.map_err(|error| self.broken(error))?,
            Err(_) => return Err(Fault::lasting(self.silent())),
        };
        let status = answer.status();
        if !status.is_success() {
            return Err(self.refused(answer).await);
        }
        let kind = answer.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        // Servers that have forgotten the type of their stream are known, and believed; these two are never one.
        if kind.starts_with("application/json") || kind.starts_with("text/html") {
            let message = format!("{}, not an event stream", self.said(kind));
            let text = error_text(&self.start_of(answer).await);
            return Err(Fault::lasting(match text {
                Some(text) => self.failed(&text),
                None => self.malformed(message),
            }));
        }
        Ok(answer)
    }

    /// Asks for something that is not an answer of a model, and only whether it is given.
    pub(super) async fn get(&self, url: Url, headers: HeaderMap) -> Result<(), Fault> {
        let request = self.client()?.get(url).headers(headers);
        match tokio::time::timeout(self.endpoint.idle, request.send()).await {
            Ok(Ok(answer)) if answer.status().is_success() => Ok(()),
            Ok(Ok(answer)) => Err(self.refused(answer).await),
            Ok(Err(error)) => Err(self.broken(error)),
            Err(_) => Err(Fault::lasting(self.silent())),
        }
    }

    /// The next bytes of an answer; `None` at its proper end.
    pub(super) async fn chunk(
        &self,
        answer: &mut Response,
    ) -> Result<Option<impl AsRef<[u8]> + use<>>, Fault> {
        match tokio::time::timeout(self.endpoint.idle, answer.chunk()).await {
            Ok(Ok(bytes)) => Ok(bytes),
            // Whatever the connection's trouble, the answer has no end.
            Ok(Err(_)) => Err(Fault::passing(self.cut_off())),
            Err(_) => Err(Fault::lasting(self.silent())),
        }
    }

    /// What an answer that is none says.
    async fn refused(&self, answer: Response) -> Fault {
        let status = answer.status().as_u16();
        let header = |name: HeaderName| answer.headers().get(name)?.to_str().ok();
        let retry_after = header(RETRY_AFTER).and_then(retry_after);
        if answer.status().is_redirection() {
            return Fault::lasting(self.status(
                status,
                "it redirects elsewhere, which is not followed\nhint: --base-url",
                None,
            ));
        }
        let body = self.start_of(answer).await;
        let message = error_text(&body).unwrap_or_else(|| plain_text(&body));
        let message = self.said(&message);
        if status == 401 {
            return Fault::lasting(ProviderError::Unauthorized {
                provider: self.provider.clone(),
                message,
            });
        }
        // An empty purse does not fill while we wait.
        let is_spent = body
            .windows(b"insufficient_quota".len())
            .any(|word| word == b"insufficient_quota");
        Fault {
            error: self.status(status, &message, retry_after),
            passes: passes(status) && !is_spent,
        }
    }

    /// The beginning of a body, as much as comes soon.
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

    /// A request that got no answer. The error's own text has the address; its causes say more.
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
            message = format!("no connection within {} s", self.endpoint.connect.as_secs());
        }
        if is_connect && self.endpoint.is_local() {
            message.push_str("\nhint: is the server running?");
        }
        Fault {
            // A connection that was there and broke without an answer counts as reset, however it is called.
            passes: is_reset || (error.is_request() && !is_connect && !is_timeout),
            error: ProviderError::Network {
                provider: self.provider.clone(),
                message: self.said(&message),
            },
        }
    }

    /// What somebody else said, fit for one line of ours: no key, nothing that steers a terminal, not too long.
    pub(super) fn said(&self, text: &str) -> String {
        let text = match &self.endpoint.key {
            Some(key) => key.scrub(text),
            None => text.into(),
        };
        let harmless = |c: char| if c.is_control() && c != '\n' { ' ' } else { c };
        let text: String = text.chars().take(4 * MESSAGE).map(harmless).collect();
        let mut said: String = text.trim().chars().take(MESSAGE + 1).collect();
        if said.chars().count() > MESSAGE {
            said.pop();
            said.push('…');
        }
        said
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
            message: format!("nothing came for {} s", self.endpoint.idle.as_secs()),
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
            message: self.said(message),
        }
    }
}

/// The message in an error's body, in the ways that servers write one.
pub(super) fn error_text(body: &[u8]) -> Option<String> {
    let body: serde_json::Value = serde_json::from_slice(body).ok()?;
    let places = ["/error/message", "/error", "/message", "/detail"];
    let text = places
        .iter()
        .find_map(|place| body.pointer(place)?.as_str())?;
    Some(text.to_owned())
}

/// The first line of a body that is no JSON, where it is for people.
fn plain_text(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    match text.lines().find(|line| !line.trim().is_empty()) {
        Some(line) if !line.trim_start().starts_with('<') => line.to_owned(),
        Some(_) => "(a page)".to_owned(),
        None => "(nothing more)".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_one_of_http_and_holds_no_secret() {
        let error = |url| Endpoint::new(url, None).unwrap_err();
        assert_eq!(error("nonsense"), UrlError::Invalid);
        assert_eq!(error("file:///etc/passwd"), UrlError::Scheme);
        assert_eq!(
            error("https://me:canary@example.com"),
            UrlError::Credentials
        );
    }

    #[test]
    fn paths_are_appended_whatever_the_base_ends_with() {
        for base in ["http://h/v1", "http://h/v1/"] {
            let endpoint = Endpoint::new(base, None).unwrap();
            assert_eq!(endpoint.url("/x").as_str(), "http://h/v1/x");
        }
        let endpoint = Endpoint::new("http://h", None).unwrap();
        assert_eq!(endpoint.url("/x").as_str(), "http://h/x");
    }

    #[test]
    fn this_machine_is_known_by_its_names() {
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
    fn an_errors_message_is_found() {
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
        assert_eq!(plain_text(b"\n<html>"), "(a page)");
        assert_eq!(plain_text(b"upstream gone\n"), "upstream gone");
    }

    #[test]
    fn what_others_say_is_made_fit() {
        let key = ApiKey::new("sk-canary").ok();
        let http = Http::new("p", Endpoint::new("http://h", key).unwrap());
        assert_eq!(http.said("\u{1b}]0;x\u{7} sk-canary"), "]0;x  [key]");
        assert_eq!(http.said(&"é".repeat(600)).chars().count(), MESSAGE + 1);
    }
}
