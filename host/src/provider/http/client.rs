//! The HTTP client: `reqwest`, or plain `hyper` for `http://` URLs, since every `reqwest` client
//! loads the system's certificates, which takes 40 ms.

use std::{error::Error, sync::Arc, time::Duration};

use bytes::Bytes;
use http_body_util::Full;
use hyper_util::{
    client::legacy::{self, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use reqwest::{Body, Method, Response, Url, header::HeaderMap, redirect};
use tokio::sync::OnceCell;

use super::Endpoint;

/// The user agent of all requests.
const USER_AGENT: &str = concat!("zot/", env!("CARGO_PKG_VERSION"));
/// How long a connection is kept for the next request.
const IDLE: Duration = Duration::from_secs(90);
/// The environment variables that name proxies for `http://` URLs.
const PROXIES: [&str; 4] = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];

/// A client that is created in the background, or on first use. Uses the proxies from the
/// environment (`HTTPS_PROXY`, `NO_PROXY` …), except for local servers. Does not follow redirects,
/// which could leak the key. Does not log anything.
#[derive(Clone)]
pub(super) struct Client {
    created: Arc<OnceCell<Kind>>,
    is_local: bool,
    is_plain: bool,
    connect: Duration,
}

enum Kind {
    Plain(legacy::Client<HttpConnector, Full<Bytes>>),
    Tls(reqwest::Client),
}

/// A request that failed before its response.
pub(super) struct SendError {
    pub(super) source: Box<dyn Error + Send + Sync>,
    pub(super) is_connect: bool,
    pub(super) is_timeout: bool,
}

impl From<reqwest::Error> for SendError {
    fn from(error: reqwest::Error) -> Self {
        Self {
            is_connect: error.is_connect(),
            is_timeout: error.is_timeout(),
            source: error.without_url().into(),
        }
    }
}

impl From<legacy::Error> for SendError {
    fn from(error: legacy::Error) -> Self {
        let is_timeout = |error: &(dyn Error + 'static)| {
            error
                .downcast_ref::<std::io::Error>()
                .is_some_and(|error| error.kind() == std::io::ErrorKind::TimedOut)
        };
        let mut causes = std::iter::successors(error.source(), |cause| (*cause).source());
        Self {
            is_connect: error.is_connect(),
            is_timeout: causes.any(is_timeout),
            source: error.into(),
        }
    }
}

impl Client {
    pub(super) fn new(endpoint: &Endpoint) -> Self {
        let is_local = endpoint.is_local();
        let has_proxy = || {
            PROXIES
                .iter()
                .any(|name| std::env::var_os(name).is_some_and(|proxy| !proxy.is_empty()))
        };
        Self {
            created: Arc::default(),
            is_local,
            is_plain: endpoint.base_url.scheme() == "http" && (is_local || !has_proxy()),
            connect: endpoint.connect,
        }
    }

    /// Starts loading the system's certificates in the background if they are needed.
    pub(super) fn warm_up(&self) {
        if !self.is_plain {
            let client = self.clone();
            tokio::spawn(async move { client.get().await.map(drop) });
        }
    }

    async fn get(&self) -> Result<&Kind, SendError> {
        self.created
            .get_or_try_init(|| async {
                if self.is_plain {
                    return Ok(Kind::Plain(self.plain()));
                }
                let client = self.clone();
                // Loading the certificates would hold up everything else on this thread.
                let built = tokio::task::spawn_blocking(move || client.with_tls()).await;
                let built = built.expect("creating a client does not panic");
                Ok(Kind::Tls(built?))
            })
            .await
    }

    fn plain(&self) -> legacy::Client<HttpConnector, Full<Bytes>> {
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(self.connect));
        connector.set_nodelay(true);
        connector.set_happy_eyeballs_timeout(Some(Duration::from_millis(300)));
        legacy::Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE)
            .pool_timer(TokioTimer::new())
            .build(connector)
    }

    fn with_tls(&self) -> reqwest::Result<reqwest::Client> {
        let mut builder = reqwest::Client::builder()
            .user_agent(USER_AGENT)
            .connect_timeout(self.connect)
            .pool_idle_timeout(IDLE)
            .redirect(redirect::Policy::none())
            .referer(false);
        if self.is_local {
            builder = builder.no_proxy();
        }
        builder.build()
    }

    /// Sends a request and waits for the head of its response.
    pub(super) async fn send(
        &self,
        method: Method,
        url: Url,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response, SendError> {
        match self.get().await? {
            Kind::Tls(client) => {
                let request = client.request(method, url).headers(headers).body(body);
                Ok(request.send().await?)
            }
            Kind::Plain(client) => {
                let mut request = http::Request::builder()
                    .method(method)
                    .uri(url.as_str())
                    .header(http::header::USER_AGENT, USER_AGENT)
                    .header(http::header::ACCEPT, "*/*")
                    .body(Full::new(body))
                    .map_err(|error| SendError {
                        source: error.into(),
                        is_connect: false,
                        is_timeout: false,
                    })?;
                request.headers_mut().extend(headers);
                let response = client.request(request).await?;
                Ok(response.map(Body::wrap).into())
            }
        }
    }
}
