//! One request and its answer, for any API: sends it, and decodes bytes into deltas.
//!
//! Failed requests are not retried here, since only the agent knows what the user has seen. The
//! exception is a request that the server rejects because it does not support a parameter: it is
//! sent again in a form that the server accepts.

use std::{collections::VecDeque, sync::Arc};

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};
use reqwest::{Response, Url, header::HeaderMap};

use super::{
    Delta, Deltas, ProviderError, Request,
    http::{Fault, Http, Rejected},
    sse::{self, SseError},
};

/// The maximum number of different forms in which to send a request.
const MAX_FORMS: u32 = 4;

/// An API that answers a request with a stream of events.
pub(super) trait Api: Send + Sync + 'static {
    /// Writes the request, and returns it with the decoder for its answer.
    fn prepare(&self, request: &Request) -> (PreparedRequest, Box<dyn Decode>);

    /// Learns from a rejected request. Returns whether the next one will be different.
    fn adapt(&self, request: &Request, rejected: &Rejected) -> bool;

    /// The connection.
    fn http(&self) -> &Http;
}

/// Turns an API's events into deltas. It ends an answer with [`Delta::Stop`] and receives no events
/// after that.
pub(super) trait Decode: Send {
    /// Decodes the data of an event.
    fn event(&mut self, data: &str, deltas: &mut VecDeque<Delta>) -> Result<(), DecodeError>;

    /// Called when the connection has ended cleanly. Completes an answer that has no explicit end.
    /// By default, such an answer counts as truncated.
    fn end(&mut self, _deltas: &mut VecDeque<Delta>) {}
}

/// Why an event cannot be decoded.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DecodeError {
    /// The event does not follow the API.
    Malformed(String),
    /// The event reports a provider error.
    Failed {
        /// The provider's message.
        message: String,
        /// Whether a retry may help.
        is_transient: bool,
    },
}

impl From<SseError> for DecodeError {
    fn from(error: SseError) -> Self {
        Self::Malformed(error.to_string())
    }
}

impl DecodeError {
    /// Creates the error for an event with invalid JSON. It contains the position but not the data,
    /// which may be long or private.
    pub(super) fn json(error: &serde_json::Error) -> Self {
        Self::Malformed(format!("invalid JSON in an event: {error}"))
    }

    /// Creates a provider error that a retry would not fix.
    pub(super) fn permanent(message: &str) -> Self {
        Self::Failed {
            message: message.to_owned(),
            is_transient: false,
        }
    }
}

/// A request that can be sent.
pub(super) struct PreparedRequest {
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// Sends the request, and decodes the answer.
pub(super) fn deltas(api: Arc<dyn Api>, request: Request) -> Deltas {
    let exchange = Box::new(Exchange {
        api,
        phase: Phase::Ask(Box::new(request)),
        queue: VecDeque::new(),
        error: None,
    });
    let deltas = stream::unfold(exchange, |mut exchange| async move {
        let next = exchange.next().await?;
        Some((next, exchange))
    });
    deltas.fuse().boxed()
}

struct Exchange {
    api: Arc<dyn Api>,
    phase: Phase,
    queue: VecDeque<Delta>,
    /// The error to return after the last delta.
    error: Option<ProviderError>,
}

enum Phase {
    Ask(Box<Request>),
    Read(Box<Reading>),
    Over,
}

/// An answer that is being received.
struct Reading {
    answer: Response,
    sse: sse::Decoder,
    decode: Box<dyn Decode>,
}

impl Exchange {
    async fn next(&mut self) -> Option<Result<Delta, ProviderError>> {
        loop {
            if let Some(delta) = self.queue.pop_front() {
                return Some(Ok(delta));
            }
            let stepped = match &mut self.phase {
                Phase::Over => return self.error.take().map(Err),
                Phase::Ask(_) => self.ask().await,
                Phase::Read(_) => self.read().await,
            };
            if let Err(error) = stepped {
                self.phase = Phase::Over;
                self.error = Some(error);
            }
        }
    }

    async fn ask(&mut self) -> Result<(), ProviderError> {
        let Phase::Ask(request) = &self.phase else {
            return Ok(());
        };
        let http = self.api.http();
        let mut forms = 1;
        let (answer, decode) = loop {
            let (PreparedRequest { url, headers, body }, decode) = self.api.prepare(request);
            match http.post(url, headers, body).await {
                Ok(answer) => break (answer, decode),
                Err(Fault { rejected, .. })
                    if forms < MAX_FORMS
                        && rejected
                            .as_ref()
                            .is_some_and(|rejected| self.api.adapt(request, rejected)) =>
                {
                    forms += 1;
                }
                Err(fault) => return Err(fault.error),
            }
        };
        self.phase = Phase::Read(Box::new(Reading {
            answer,
            sse: sse::Decoder::default(),
            decode,
        }));
        Ok(())
    }

    async fn read(&mut self) -> Result<(), ProviderError> {
        let Phase::Read(reading) = &mut self.phase else {
            return Ok(());
        };
        let Reading {
            answer,
            sse,
            decode,
        } = &mut **reading;
        let (queue, http) = (&mut self.queue, self.api.http());
        let Some(bytes) = http.chunk(answer).await? else {
            decode.end(queue);
            if !is_complete(queue) {
                return Err(http.cut_off());
            }
            self.phase = Phase::Over;
            return Ok(());
        };
        let fed = sse.feed(bytes.as_ref(), |data| {
            if is_complete(queue) {
                return Ok(());
            }
            decode.event(data, queue)
        });
        if is_complete(queue) {
            if let Phase::Read(reading) = std::mem::replace(&mut self.phase, Phase::Over) {
                read_to_end(reading.answer);
            }
            return Ok(());
        }
        fed.map_err(|wrong| match wrong {
            DecodeError::Malformed(message) => http.malformed(http.sanitise(&message)),
            DecodeError::Failed {
                message,
                is_transient,
            } => http.failed(&message, is_transient),
        })
    }
}

/// Reads the rest of a complete answer, so that the next request can use the same connection. Data
/// that has not arrived yet is read in the background.
fn read_to_end(mut answer: Response) {
    let mut left = async move {
        const MAX_CHUNKS: usize = 16;
        let reading = async {
            for _ in 0..MAX_CHUNKS {
                if !matches!(answer.chunk().await, Ok(Some(_))) {
                    break;
                }
            }
        };
        let _ = tokio::time::timeout(std::time::Duration::from_secs(2), reading).await;
    }
    .boxed();
    if (&mut left).now_or_never().is_none() {
        tokio::spawn(left);
    }
}

fn is_complete(queue: &VecDeque<Delta>) -> bool {
    matches!(queue.back(), Some(Delta::Stop(_)))
}
