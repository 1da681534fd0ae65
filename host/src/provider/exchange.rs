//! One request and its answer, whatever the API: asks, asks again where that may help, and turns bytes into deltas.

use std::{collections::VecDeque, sync::Arc};

use futures_util::{StreamExt, stream};
use reqwest::{Response, Url, header::HeaderMap};

use super::{
    Delta, Deltas, ProviderError,
    http::{Fault, Http},
    sse::{self, Event, SseError},
};

/// What makes deltas of an API's events. It ends an answer with [`Delta::Stop`] and is not asked further then.
pub(super) trait Decode: Send {
    /// Takes an event.
    fn event(&mut self, event: Event<'_>, deltas: &mut VecDeque<Delta>) -> Result<(), Wrong>;

    /// The connection has ended as it should. An answer that is complete without saying so is ended here.
    fn end(&mut self, deltas: &mut VecDeque<Delta>);
}

/// Why an event makes no delta.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    /// It is not what the API promises.
    Malformed(String),
    /// It says that the provider has failed.
    Failed {
        /// In its own words.
        message: String,
        /// Whether asking again may help.
        passes: bool,
    },
}

impl From<SseError> for Wrong {
    fn from(error: SseError) -> Self {
        Self::Malformed(error.to_string())
    }
}

impl Wrong {
    /// Data that is not the JSON it should be. The position is told, the data is not: it may be long, or private.
    pub(super) fn json(error: &serde_json::Error) -> Self {
        Self::Malformed(format!("an event is not the JSON it should be: {error}"))
    }
}

/// A request, ready to be sent as often as it takes.
pub(super) struct Ask {
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

/// Asks, and decodes each attempt with a `fresh` decoder.
pub(super) fn deltas<D: Decode + 'static>(
    http: Arc<Http>,
    ask: Ask,
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
    ask: Ask,
    fresh: F,
    phase: Phase<D>,
    /// How often the request was sent beyond the first time.
    repeated: u32,
    queue: VecDeque<Delta>,
    /// Whether anything has reached the caller; from then on nothing is asked again.
    has_given: bool,
    /// What is told after the last delta.
    error: Option<ProviderError>,
}

#[expect(
    clippy::large_enum_variant,
    reason = "one per answer, and boxed with all else"
)]
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

    /// The next delta for the caller. Tokens alone are no answer yet: they wait for more, so that an attempt that fails
    /// after them can still be repeated.
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
                return Err(Fault::passing(self.http.cut_off()));
            }
            self.phase = Phase::Over;
            return Ok(());
        };
        let fed = sse.feed(bytes.as_ref(), |event| {
            if is_complete(queue) {
                return Ok(());
            }
            decode.event(event, queue)
        });
        if is_complete(queue) {
            self.phase = Phase::Over;
            return Ok(());
        }
        fed.map_err(|wrong| match wrong {
            Wrong::Malformed(message) => {
                Fault::lasting(self.http.malformed(self.http.said(&message)))
            }
            Wrong::Failed { message, passes } => Fault {
                error: self.http.failed(&message),
                passes,
            },
        })
    }

    async fn fail(&mut self, fault: Fault) {
        let wait = if fault.passes && !self.has_given && !has_content(&self.queue) {
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
