//! One request and its answer, for any API: sends, retries, and decodes bytes into deltas.

use std::{collections::VecDeque, sync::Arc};

use futures_util::{StreamExt, stream};
use reqwest::{Response, Url, header::HeaderMap};

use super::{
    Delta, Deltas, ProviderError,
    http::{Fault, Http},
    sse::{self, SseError},
};

/// Turns an API's events into deltas. It ends an answer with [`Delta::Stop`] and receives no events
/// after that.
pub(super) trait Decode: Send {
    /// Decodes the data of an event.
    fn event(&mut self, data: &str, deltas: &mut VecDeque<Delta>) -> Result<(), DecodeError>;

    /// Called when the connection has ended cleanly. Completes an answer that has no explicit end.
    /// Default: such an answer counts as truncated.
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
        can_retry: bool,
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
            can_retry: false,
        }
    }
}

/// A request that can be sent repeatedly.
pub(super) struct PreparedRequest {
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

/// Sends the request, and decodes each attempt with a `fresh` decoder.
pub(super) fn deltas<D: Decode + 'static>(
    http: Arc<Http>,
    ask: PreparedRequest,
    fresh: impl Fn() -> D + Send + 'static,
) -> Deltas {
    let exchange = Box::new(Exchange {
        http,
        ask,
        fresh,
        phase: Phase::Ask,
        repeated: 0,
        queue: VecDeque::new(),
        has_given: false,
        error: None,
    });
    let deltas = stream::unfold(exchange, |mut exchange| async move {
        let next = exchange.next().await?;
        Some((next, exchange))
    });
    deltas.fuse().boxed()
}

struct Exchange<D, F> {
    http: Arc<Http>,
    ask: PreparedRequest,
    fresh: F,
    phase: Phase<D>,
    /// How many times the request was retried.
    repeated: u32,
    queue: VecDeque<Delta>,
    /// Whether the caller has received anything. After that there are no retries.
    has_given: bool,
    /// The error to return after the last delta.
    error: Option<ProviderError>,
}

enum Phase<D> {
    Ask,
    Read {
        answer: Response,
        sse: sse::Decoder,
        decode: D,
    },
    Over,
}

impl<D: Decode, F: Fn() -> D> Exchange<D, F> {
    async fn next(&mut self) -> Option<Result<Delta, ProviderError>> {
        loop {
            if let Some(delta) = self.ready() {
                return Some(Ok(delta));
            }
            let stepped = match &mut self.phase {
                Phase::Over => return self.error.take().map(Err),
                Phase::Ask => self.ask().await,
                Phase::Read { .. } => self.read().await,
            };
            if let Err(fault) = stepped {
                self.fail(fault).await;
            }
        }
    }

    /// Returns the next delta for the caller. Usage alone does not count as an answer and is held
    /// back, so that an attempt that fails after it can be retried.
    fn ready(&mut self) -> Option<Delta> {
        if !self.has_given && !matches!(self.phase, Phase::Over) {
            self.has_given = has_content(&self.queue);
            if !self.has_given {
                return None;
            }
        }
        self.queue.pop_front()
    }

    async fn ask(&mut self) -> Result<(), Fault> {
        let (url, headers) = (self.ask.url.clone(), self.ask.headers.clone());
        let body = if self.repeated < self.http.endpoint.retry.times {
            self.ask.body.clone()
        } else {
            std::mem::take(&mut self.ask.body)
        };
        self.phase = Phase::Read {
            answer: self.http.post(url, headers, body).await?,
            sse: sse::Decoder::default(),
            decode: (self.fresh)(),
        };
        Ok(())
    }

    async fn read(&mut self) -> Result<(), Fault> {
        let Phase::Read {
            answer,
            sse,
            decode,
        } = &mut self.phase
        else {
            return Ok(());
        };
        let queue = &mut self.queue;
        let Some(bytes) = self.http.chunk(answer).await? else {
            decode.end(queue);
            if !is_complete(queue) {
                return Err(Fault::transient(self.http.cut_off()));
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
            self.phase = Phase::Over;
            return Ok(());
        }
        fed.map_err(|wrong| match wrong {
            DecodeError::Malformed(message) => {
                Fault::permanent(self.http.malformed(self.http.sanitise(&message)))
            }
            DecodeError::Failed { message, can_retry } => Fault {
                error: self.http.failed(&message),
                can_retry,
            },
        })
    }

    async fn fail(&mut self, fault: Fault) {
        let wait = if fault.can_retry && !self.has_given && !has_content(&self.queue) {
            self.http.endpoint.retry.wait(self.repeated, fault.asked())
        } else {
            None
        };
        let Some(wait) = wait else {
            self.phase = Phase::Over;
            self.error = Some(fault.error);
            return;
        };
        self.phase = Phase::Ask;
        self.queue.clear();
        self.repeated += 1;
        tokio::time::sleep(wait).await;
    }
}

fn has_content(queue: &VecDeque<Delta>) -> bool {
    queue.iter().any(|delta| !matches!(delta, Delta::Usage(_)))
}

fn is_complete(queue: &VecDeque<Delta>) -> bool {
    matches!(queue.back(), Some(Delta::Stop(_)))
}
